//! Character data as it is meant: references resolved, line ends and white space as XML has them.

use std::borrow::Cow;

use quick_xml::events::BytesRef;

use crate::invariant;

/// What a reference stands for; nothing if it stays as it is written.
pub(super) fn resolve_reference(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "apos" => Some('\''),
        "quot" => Some('"'),
        _ => BytesRef::new(name).resolve_char_ref().ok().flatten(),
    }
}

/// The value of an attribute: references resolved, and every tab and line end a blank.
pub(super) fn attribute_value(raw: &str) -> Cow<'_, str> {
    if !raw.contains(['&', '\t', '\n', '\r']) {
        return raw.into();
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find(['&', '\t', '\n', '\r']) {
        out.push_str(invariant::text(rest, ..at));
        rest = invariant::text(rest, at..);
        if let Some(after) = rest.strip_prefix('&') {
            let name = after.split_once(';');
            match name.and_then(|(name, after)| Some((resolve_reference(name)?, after))) {
                Some((character, after)) => {
                    out.push(character);
                    rest = after;
                }
                None => {
                    out.push('&');
                    rest = after;
                }
            }
        } else {
            out.push(' ');
            rest = rest.strip_prefix("\r\n").unwrap_or_else(|| {
                let mut rest = rest.chars();
                rest.next();
                rest.as_str()
            });
        }
    }
    out.push_str(rest);
    out.into()
}

/// Text with every line end as LF.
pub(super) fn with_line_ends(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\r') {
        return raw.into();
    }
    raw.replace("\r\n", "\n").replace('\r', "\n").into()
}

/// What XML calls white space.
pub(super) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}
