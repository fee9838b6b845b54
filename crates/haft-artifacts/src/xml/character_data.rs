//! Resolves references, line ends and white space in character data by the rules of XML.

use std::borrow::Cow;

use quick_xml::events::BytesRef;

use crate::invariant;

/// The character that a reference stands for; `None` if the reference stays as it is written.
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

/// The value of an attribute, with references resolved and every tab and line end replaced by a space.
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
            let name = reference_name(after);
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

/// The name of a reference, behind its `&`, and what follows its `;`. A text full of `&` is read once, because no
/// reference that can be resolved has a long name.
fn reference_name(after: &str) -> Option<(&str, &str)> {
    let end = after.bytes().take(MAX_REFERENCE).position(|byte| byte == b';')?;
    Some((after.get(..end)?, after.get(end + 1..)?))
}

/// The longest name of a reference that is looked for. The number of a character may have leading zeros.
const MAX_REFERENCE: usize = 64;

/// Text with every line end as LF.
pub(super) fn with_line_ends(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\r') {
        return raw.into();
    }
    raw.replace("\r\n", "\n").replace('\r', "\n").into()
}

/// Whether a character is white space in XML.
pub(super) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}
