//! Python literals as JSON.

use haft_core::json::{Document, MAX_DEPTH};

use crate::text_calls::cursor::{Cursor, ParseStop};
use crate::text_calls::loose_keyed::push_string;

/// Reads a literal and writes it as JSON: strings, numbers, `True`, `False`, `None`, lists, tuples and
/// dictionaries.
pub(super) fn push_literal(
    at: &mut Cursor<'_>,
    out: &mut String,
    depth: usize,
) -> Result<(), ParseStop> {
    match at.peek_required()? {
        it if closing(it).is_some() => {
            push_string(out, &string(at)?);
            Ok(())
        }
        // One level is taken by the arguments themselves.
        '[' | '(' | '{' if depth + 1 >= MAX_DEPTH => Err(ParseStop::Mismatch),
        '[' => push_items(at, out, ["[", "]"], depth),
        '(' => push_items(at, out, ["(", ")"], depth),
        '{' => push_dictionary(at, out, depth),
        _ => push_scalar(at, out),
    }
}

fn push_items(
    at: &mut Cursor<'_>,
    out: &mut String,
    [open, close]: [&str; 2],
    depth: usize,
) -> Result<(), ParseStop> {
    at.expect(open)?;
    out.push('[');
    let empty = out.len();
    loop {
        at.skip_space();
        if at.eat(close)? {
            break;
        }
        if out.len() > empty {
            out.push(',');
        }
        push_literal(at, out, depth + 1)?;
        at.skip_space();
        if !at.eat(",")? {
            at.expect(close)?;
            break;
        }
    }
    out.push(']');
    Ok(())
}

fn push_dictionary(at: &mut Cursor<'_>, out: &mut String, depth: usize) -> Result<(), ParseStop> {
    at.expect("{")?;
    out.push('{');
    let empty = out.len();
    loop {
        at.skip_space();
        if at.eat("}")? {
            break;
        }
        if out.len() > empty {
            out.push(',');
        }
        if closing(at.peek_required()?).is_none() {
            return Err(ParseStop::Mismatch);
        }
        push_string(out, &string(at)?);
        at.skip_space();
        at.expect(":")?;
        out.push(':');
        at.skip_space();
        push_literal(at, out, depth + 1)?;
        at.skip_space();
        if !at.eat(",")? {
            at.expect("}")?;
            break;
        }
    }
    out.push('}');
    Ok(())
}

fn push_scalar(at: &mut Cursor<'_>, out: &mut String) -> Result<(), ParseStop> {
    let word =
        at.read_while(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '+' | '-' | '.'))?;
    match word {
        "True" | "true" => out.push_str("true"),
        "False" | "false" => out.push_str("false"),
        "None" | "null" => out.push_str("null"),
        _ => out.push_str(&number(word).ok_or(ParseStop::Mismatch)?),
    }
    Ok(())
}

/// A number as JSON writes it.
fn number(word: &str) -> Option<String> {
    let plain = word.strip_prefix('+').unwrap_or(word).replace('_', "");
    if !plain.starts_with(|it: char| it.is_ascii_digit() || matches!(it, '-' | '.')) {
        return None;
    }
    if Document::parse(&plain).is_ok() {
        return Some(plain);
    }
    // `.5`, `5.` and the like; a whole number that JSON does not know, such as `007`, is none in Python.
    let value: f64 = plain.parse().ok().filter(|it: &f64| plain.contains('.') && it.is_finite())?;
    serde_json::to_string(&value).ok()
}

/// What ends a string that begins with this character, or `None` if it begins no string.
fn closing(open: char) -> Option<&'static [char]> {
    match open {
        '"' => Some(&['"']),
        '\'' => Some(&['\'']),
        '“' | '”' => Some(&['“', '”']),
        '‘' | '’' => Some(&['‘', '’']),
        _ => None,
    }
}

fn string(at: &mut Cursor<'_>) -> Result<String, ParseStop> {
    let open = at.peek_required()?;
    let ends = closing(open).ok_or(ParseStop::Mismatch)?;
    at.bump(open);
    let mut out = String::new();
    loop {
        let rest = at.rest();
        let len = rest.find(|it| it == '\\' || ends.contains(&it)).ok_or(ParseStop::Incomplete)?;
        out.push_str(at.take(len));
        let stop = at.peek_required()?;
        at.bump(stop);
        if stop != '\\' {
            return Ok(out);
        }
        push_escape(at, &mut out)?;
    }
}

/// Reads an escape. As in Python, anything that is not an escape stays as it was written.
fn push_escape(at: &mut Cursor<'_>, out: &mut String) -> Result<(), ParseStop> {
    let it = at.peek_required()?;
    at.bump(it);
    let plain = match it {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        '\\' | '\'' | '"' | '“' | '”' | '‘' | '’' => Some(it),
        _ => None,
    };
    if it == '\n' || plain.is_some() {
        // A line break behind a backslash is none.
        out.extend(plain);
        return Ok(());
    }
    let digits = match it {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => 0,
    };
    let rest = at.rest();
    let len = rest.bytes().take(digits).take_while(u8::is_ascii_hexdigit).count();
    if len < digits && len == rest.len() {
        return Err(ParseStop::Incomplete);
    }
    let hex = rest.get(..len).filter(|_| digits > 0 && len == digits);
    let decoded = hex.and_then(|it| char::from_u32(u32::from_str_radix(it, 16).ok()?));
    match decoded {
        Some(character) => {
            at.at += digits;
            out.push(character);
        }
        None => out.extend(['\\', it]),
    }
    Ok(())
}
