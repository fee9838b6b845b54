//! Strings in quotes of any kind and number.

use super::body::ArgumentsReader;
use super::{CLOSE, Input, ParseStop, find};

/// What a string began with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quotes {
    kind: QuoteKind,
    /// How many quotes stood there.
    count: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuoteKind {
    /// `"`, `“`, `”`
    Double,
    /// `'`, `‘`, `’`
    Single,
    /// `<|"|>`, perhaps together with double quotes. Knows no escapes.
    Token,
}

impl Quotes {
    /// Passes the quotes at this place, if there are any.
    pub(super) fn opening(body: &mut ArgumentsReader<'_, '_>) -> Result<Option<Self>, ParseStop> {
        let mut quotes: Option<Self> = None;
        while let Some(kind) = quote(body)? {
            match &mut quotes {
                None => quotes = Some(Self { kind, count: 1 }),
                Some(it) if (it.kind == QuoteKind::Single) != (kind == QuoteKind::Single) => break,
                Some(it) => {
                    it.count += 1;
                    if kind == QuoteKind::Token {
                        it.kind = kind;
                    }
                }
            }
            let rest = body.at.rest();
            let len = if kind == QuoteKind::Token {
                TOKEN.len()
            } else {
                rest.chars().next().map_or(0, char::len_utf8)
            };
            body.at.at += len;
        }
        Ok(quotes)
    }
}

/// The kind of quote at this place.
fn quote(body: &mut ArgumentsReader<'_, '_>) -> Result<Option<QuoteKind>, ParseStop> {
    Ok(match body.peek()? {
        Some('"' | '“' | '”') => Some(QuoteKind::Double),
        Some('\'' | '‘' | '’') => Some(QuoteKind::Single),
        Some('<') if super::eat(&mut body.at.clone(), TOKEN, body.input)? => Some(QuoteKind::Token),
        _ => None,
    })
}

/// What a string is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringRole {
    Key,
    Value,
}

/// The string behind its opening quotes. A value that does not end goes to the end of the call, or of the
/// text.
pub(super) fn string(
    body: &mut ArgumentsReader<'_, '_>,
    quotes: Quotes,
    part: StringRole,
) -> Result<String, ParseStop> {
    // `""` is an empty string and not the beginning of one.
    if quotes.count > 1 && part == StringRole::Value && is_end(body, body.at.at, part)? {
        return Ok(String::new());
    }
    let start = body.at.at;
    if quotes.kind == QuoteKind::Token
        && let Some(end) = end_of_token_string(body, start)?
    {
        let text = body.at.take(end - start);
        Quotes::opening(body)?;
        let inner =
            if quotes.count > 1 { text.trim_end_matches(['"', '“', '”']) } else { text };
        return Ok(inner.to_owned());
    }
    let kind = if quotes.kind == QuoteKind::Token { QuoteKind::Double } else { quotes.kind };
    if !body.is_endless(kind as usize, start)
        && let Some(text) = until_quote(body, kind, part)?
    {
        return Ok(text);
    }
    body.at.at = start;
    if part == StringRole::Key {
        return Err(ParseStop::Mismatch);
    }
    body.note_endless(kind as usize, start);
    Ok(rest_of_call(body, start))
}

/// The position of the next quote token.
fn end_of_token_string(
    body: &mut ArgumentsReader<'_, '_>,
    start: usize,
) -> Result<Option<usize>, ParseStop> {
    let kind = QuoteKind::Token as usize;
    if body.is_endless(kind, start) {
        return Ok(None);
    }
    match (find(body.at.text, start, body.at.text.len(), TOKEN), body.input) {
        (None, Input::Partial) => Err(ParseStop::Incomplete),
        (None, Input::Whole) => {
            body.note_endless(kind, start);
            Ok(None)
        }
        (end, _) => Ok(end),
    }
}

/// A value without closing quotes: the rest of the call, or of the text.
fn rest_of_call(body: &mut ArgumentsReader<'_, '_>, start: usize) -> String {
    let text = body.at.text;
    let end = find(text, start, text.len(), CLOSE);
    body.is_cut_off = end.is_none();
    body.at.at = end.unwrap_or(text.len());
    let value = body.at.text_since(start);
    // The brace before the marker is that of the call.
    let value =
        if end.is_some() { value.trim_end().strip_suffix('}') } else { None }.unwrap_or(value);
    value.to_owned()
}

/// The text up to quotes that end the string, or `None` if the whole text has none. Quotes that something
/// else follows than what can follow a string are a part of it.
fn until_quote(
    body: &mut ArgumentsReader<'_, '_>,
    kind: QuoteKind,
    part: StringRole,
) -> Result<Option<String>, ParseStop> {
    let start = body.at.at;
    let mut out = String::new();
    loop {
        let rest = body.at.rest();
        let stop = rest.find(|it| it == '\\' || kind.has(it));
        out.push_str(body.at.take(stop.unwrap_or(rest.len())));
        if part == StringRole::Key && body.at.at - start > MAX_KEY {
            return Ok(None);
        }
        match body.peek()? {
            None => return Ok(None),
            Some('\\') => push_escape(body, &mut out)?,
            Some(_) => {
                let rest = body.at.rest();
                let len = rest.find(|it| !kind.has(it)).unwrap_or(rest.len());
                let inner_quotes = body.at.take(len);
                if is_end(body, body.at.at, part)? {
                    return Ok(Some(out));
                }
                out.push_str(inner_quotes);
            }
        }
    }
}

/// True when what stands at this place can follow a string.
fn is_end(body: &ArgumentsReader<'_, '_>, at: usize, part: StringRole) -> Result<bool, ParseStop> {
    let mut ahead = *body.at;
    ahead.at = at;
    ahead.skip_space();
    match (ahead.peek(), part) {
        (None, _) if body.input == Input::Partial => Err(ParseStop::Incomplete),
        (None, _) => Ok(true),
        (Some(it), StringRole::Key) => Ok(matches!(it, ':' | '=' | '{' | '[')),
        (Some(','), StringRole::Value) => Ok(true),
        (Some('"' | '“' | '”'), StringRole::Value) => Ok(false),
        (Some(_), StringRole::Value) => body.is_key_at(ahead),
    }
}

/// Reads a JSON escape. Anything else after a backslash stays as it was written.
fn push_escape(body: &mut ArgumentsReader<'_, '_>, out: &mut String) -> Result<(), ParseStop> {
    body.at.bump('\\');
    let Some(it) = body.peek()? else {
        out.push('\\');
        return Ok(());
    };
    body.at.bump(it);
    match it {
        'n' => out.push('\n'),
        't' => out.push('\t'),
        'r' => out.push('\r'),
        '"' | '\'' | '\\' | '/' => out.push(it),
        'u' => return push_unicode(body, out),
        _ => out.extend(['\\', it]),
    }
    Ok(())
}

/// Reads the digits behind `\u`, and the second half of a pair.
fn push_unicode(body: &mut ArgumentsReader<'_, '_>, out: &mut String) -> Result<(), ParseStop> {
    let rest = body.at.rest();
    if rest.len() < 10 && body.input == Input::Partial {
        return Err(ParseStop::Incomplete);
    }
    let unit = |text: Option<&str>| {
        let digits = text.filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()))?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(rest.get(..4));
    let second = if rest.get(4..6) == Some("\\u") { unit(rest.get(6..10)) } else { None };
    let units = [first, second].into_iter().map_while(|it| it);
    match char::decode_utf16(units).next() {
        Some(Ok(it)) => {
            body.at.at += if it.len_utf16() == 2 { 10 } else { 4 };
            out.push(it);
        }
        _ => out.push_str("\\u"),
    }
    Ok(())
}

impl QuoteKind {
    fn has(self, it: char) -> bool {
        match self {
            Self::Double | Self::Token => matches!(it, '"' | '“' | '”'),
            Self::Single => matches!(it, '\'' | '‘' | '’'),
        }
    }
}

const TOKEN: &str = "<|\"|>";

/// The longest key in quotes, in bytes.
const MAX_KEY: usize = 256;
