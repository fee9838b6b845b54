//! `text_encode`.

use haft_core::tool::ToolFailure;

use super::base64;
use crate::html::entities;
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct Encoding {
    /// The text
    #[arg(max_len = 200000, example = "a & b")]
    text: String,
    /// The encoding
    scheme: Scheme,
    /// Whether to encode or to decode
    #[arg(default = "encode")]
    direction: Direction,
}

#[derive(Clone, Copy, ToolArgs)]
pub(crate) enum Scheme {
    Base64,
    /// Base64 for addresses: `-` and `_`, no padding
    Base64Url,
    Hex,
    /// Percent-encoding, of everything but letters, digits and `-._~`
    Url,
    /// The entities of HTML and XML
    Html,
    /// The inside of a JSON string
    Json,
    /// A regular expression that matches the text itself; encodes only
    Regex,
}

#[derive(ToolArgs)]
pub(crate) enum Direction {
    Encode,
    Decode,
}

/// Encodes or decodes text: base64, hex, percent-encoding, HTML entities, JSON strings; escapes for regular
/// expressions.
///
/// Text is UTF-8. Returns the text. What decodes to bytes that are not text is refused.
#[tool(effect = "read-only")]
pub(super) fn text_encode(args: Encoding) -> Result<String, ToolFailure> {
    match args.direction {
        Direction::Encode => Ok(encode(&args.text, args.scheme)),
        Direction::Decode => decode(&args.text, args.scheme),
    }
}

fn encode(text: &str, scheme: Scheme) -> String {
    match scheme {
        Scheme::Base64 => base64::encode(text.as_bytes(), false),
        Scheme::Base64Url => base64::encode(text.as_bytes(), true),
        Scheme::Hex => text.bytes().map(|it| format!("{it:02x}")).collect(),
        Scheme::Url => text.bytes().map(percent).collect(),
        Scheme::Html => text.chars().map(entity).collect(),
        Scheme::Json => {
            let quoted = serde_json::Value::from(text).to_string();
            let inner = quoted.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
            inner.unwrap_or_default().to_owned()
        }
        Scheme::Regex => regex_syntax::escape(text),
    }
}

fn percent(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        return char::from(byte).to_string();
    }
    format!("%{byte:02X}")
}

fn entity(character: char) -> String {
    match character {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        other => other.to_string(),
    }
}

fn decode(text: &str, scheme: Scheme) -> Result<String, ToolFailure> {
    let (bytes, what) = match scheme {
        Scheme::Base64 | Scheme::Base64Url => (base64::decode(text), "base64"),
        Scheme::Hex => (hex(text), "hex, which is pairs of the digits 0-9 and a-f"),
        Scheme::Url => {
            (percent_decoded(text), "percent-encoding, with two hex digits after each `%`")
        }
        Scheme::Html => return Ok(entities(text)),
        Scheme::Json => {
            let text = serde_json::from_str::<String>(&format!("\"{text}\""));
            (text.ok().map(String::into_bytes), "the inside of a JSON string")
        }
        Scheme::Regex => {
            let text = "a regular expression cannot be decoded; `regex` only encodes";
            return Err(ToolFailure::new(text));
        }
    };
    let bytes = bytes.ok_or_else(|| {
        ToolFailure::new(format!("the text is not {what}; check `scheme` and `direction`"))
    })?;
    String::from_utf8(bytes).map_err(|_| {
        ToolFailure::new("it decodes to bytes that are not UTF-8 text, which cannot be shown")
    })
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|it| !it.is_ascii_whitespace()).collect();
    digits.chunks(2).map(byte).collect()
}

fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut rest = text.as_bytes();
    let mut out = Vec::with_capacity(rest.len());
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            out.push(byte(digits)?);
            rest = after;
        } else {
            out.push(*first);
        }
    }
    Some(out)
}

/// The byte that two hex digits are.
fn byte(digits: &[u8]) -> Option<u8> {
    let [high, low] = digits else { return None };
    let digit = |it: u8| char::from(it).to_digit(16).and_then(|it| u8::try_from(it).ok());
    Some(digit(*high)? << 4 | digit(*low)?)
}
