//! Finds addresses in text without markup, by the rules of GitHub Flavored Markdown.

use crate::invariant;

/// The addresses in a text: what is shown, the target, and the offset.
pub(super) fn find(text: &str) -> Vec<(String, String, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let Some(step) = rest.find([':', '@', 'w', 'W']) else {
            break;
        };
        let mark = at + step;
        let hit = match text.as_bytes().get(mark) {
            Some(b':') => find_url(text, at, mark),
            Some(b'@') => find_email(text, at, mark),
            _ => find_www(text, mark),
        };
        at = mark + 1;
        if let Some((start, end, scheme)) = hit {
            let shown = invariant::text(text, start..end);
            found.push((shown.to_owned(), format!("{scheme}{shown}"), start));
            at = end;
        }
    }
    found
}

type AddressSpan = (usize, usize, &'static str);

/// `http://` or `https://` and a domain.
fn find_url(text: &str, from: usize, colon: usize) -> Option<AddressSpan> {
    let before = text.get(from..colon)?;
    let after = text.get(colon..)?.strip_prefix("://")?;
    let scheme = ["https", "http"].into_iter().find(|it| {
        let start = before.len().checked_sub(it.len());
        start.and_then(|it| before.get(it..)).is_some_and(|end| end.eq_ignore_ascii_case(it))
    })?;
    let start = colon - scheme.len();
    if !may_begin(text, start) || !begins_with_domain(after, 0) {
        return None;
    }
    Some((start, colon + 3 + address_len(after), ""))
}

fn find_www(text: &str, start: usize) -> Option<AddressSpan> {
    let rest = text.get(start..)?;
    let is_www = rest.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("www."));
    if !is_www || !may_begin(text, start) || !begins_with_domain(rest, 1) {
        return None;
    }
    Some((start, start + address_len(rest), "http://"))
}

fn find_email(text: &str, from: usize, at_sign: usize) -> Option<AddressSpan> {
    let is_local = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '_' | '+');
    let before = text.get(from..at_sign)?;
    let local = before.len() - before.trim_end_matches(is_local).len();
    let after = text.get(at_sign + 1..)?;
    let is_domain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '_');
    let domain = after.get(..after.find(|it| !is_domain(it)).unwrap_or(after.len()))?;
    let domain = domain.trim_end_matches('.');
    if local == 0 || !domain.contains('.') || domain.ends_with(['-', '_']) || domain.contains("..")
    {
        return None;
    }
    Some((at_sign - local, at_sign + 1 + domain.len(), "mailto:"))
}

fn may_begin(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|it| it.chars().next_back());
    before.is_none_or(|it| it.is_whitespace() || matches!(it, '*' | '_' | '~' | '('))
}

/// Whether a text begins with a domain that has at least this many dots, and no underscore in its last two
/// parts.
fn begins_with_domain(text: &str, dots: usize) -> bool {
    let is_domain = |it: char| it.is_alphanumeric() || matches!(it, '.' | '-' | '_');
    let domain = text.split_once(|it| !is_domain(it)).map_or(text, |(domain, _)| domain);
    let domain = domain.trim_end_matches('.');
    let parts: Vec<&str> = domain.split('.').collect();
    !domain.is_empty()
        && parts.len() > dots
        && parts.iter().rev().take(2).all(|it| !it.contains('_'))
}

/// How much of a text belongs to an address: up to white space or `<`, without punctuation at its end.
fn address_len(text: &str) -> usize {
    let ends = |it: char| it.is_whitespace() || it == '<';
    let mut address = text.split_once(ends).map_or(text, |(address, _)| address);
    let count = |it: char| address.matches(it).count();
    let mut surplus = count(')').saturating_sub(count('('));
    loop {
        let shorter = address
            .strip_suffix(['?', '!', '.', ',', ':', '*', '_', '~', '\'', '"', ';'])
            .or_else(|| if surplus > 0 { address.strip_suffix(')') } else { None });
        let Some(shorter) = shorter else {
            return address.len();
        };
        if address.ends_with(')') {
            surplus -= 1;
        }
        address = shorter;
    }
}
