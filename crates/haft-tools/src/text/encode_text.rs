//! The tool `encode_text`.

use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine as _};
use haft_core::tool::ToolFailure;

use super::html_entities::decode_entities;
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct EncodeTextArgs {
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
#[tool(read_only)]
pub(super) fn encode_text(args: EncodeTextArgs) -> Result<String, ToolFailure> {
    match args.direction {
        Direction::Encode => Ok(encode(&args.text, args.scheme)),
        Direction::Decode => decode(&args.text, args.scheme),
    }
}

fn encode(text: &str, scheme: Scheme) -> String {
    match scheme {
        Scheme::Base64 => BASE64_STANDARD.encode(text),
        Scheme::Base64Url => BASE64_URL_SAFE_NO_PAD.encode(text),
        Scheme::Hex => hex::encode(text),
        Scheme::Url => text.bytes().map(encode_percent).collect(),
        Scheme::Html => text.chars().map(encode_entity).collect(),
        Scheme::Json => {
            let quoted = serde_json::Value::from(text).to_string();
            let inner = quoted.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
            inner.unwrap_or_default().to_owned()
        }
        Scheme::Regex => regex_syntax::escape(text),
    }
}

fn encode_percent(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        return char::from(byte).to_string();
    }
    format!("%{byte:02X}")
}

fn encode_entity(character: char) -> String {
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
        Scheme::Base64 | Scheme::Base64Url => (decode_base64(text), "base64"),
        Scheme::Hex => (
            hex::decode(without_whitespace(text)).ok(),
            "hex, which is pairs of the digits 0-9 and a-f",
        ),
        Scheme::Url => {
            (decode_percent(text), "percent-encoding, with two hex digits after each `%`")
        }
        Scheme::Html => return Ok(decode_entities(text)),
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

/// Decodes both alphabets, with or without padding.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text = without_whitespace(text);
    let digits = text.trim_end_matches('=');
    if text.len() - digits.len() > 2 {
        return None;
    }
    let digits = digits.replace('-', "+").replace('_', "/");
    LENIENT_BASE64.decode(digits).ok()
}

fn without_whitespace(text: &str) -> String {
    text.chars().filter(|it| !it.is_ascii_whitespace()).collect()
}

fn decode_percent(text: &str) -> Option<Vec<u8>> {
    let mut rest = text.as_bytes();
    let mut out = Vec::with_capacity(rest.len());
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            out.extend(hex::decode(digits).ok()?);
            rest = after;
        } else {
            out.push(*first);
        }
    }
    Some(out)
}

/// Without padding, and with bits behind the last byte that are ignored.
const LENIENT_BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));
