//! The call id as one would write it by hand over `serde_json::Value`: one reused buffer, then one
//! hash. Fast, and right for the values of this benchmark; what Haft is held against.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::hex;
use crate::measure::Variant;

/// The row of the call id by hand.
pub(super) const NAME: &str = "by hand over Value, with hex";

/// Canonical text, hash and hex; then the same without canonical text, as what none can do without.
pub(super) fn variants(call: &Value) -> [Variant; 2] {
    let (call, canonical) = (call.clone(), super::canonical(call));
    let mut text = String::new();
    let by_hand = move || {
        text.clear();
        write(&call, &mut text);
        hex(Sha256::digest(&text).into())
    };
    let hash = move || Sha256::digest(&canonical);
    [Variant::new(NAME, by_hand, |it| it), Variant::new("sha2 alone", hash, |it| hex(it.into()))]
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(it) => out.push_str(if *it { "true" } else { "false" }),
        Value::Number(it) => match it.as_i64() {
            Some(it) => out.push_str(itoa::Buffer::new().format(it)),
            None => out.push_str(ryu_js::Buffer::new().format(it.as_f64().unwrap_or_default())),
        },
        Value::String(it) => write_string(it, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

/// Runs of plain characters are copied at once.
fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|it| it < 0x20 || it == b'"' || it == b'\\') {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        match special.as_bytes().first() {
            Some(b'"') => out.push_str("\\\""),
            Some(b'\\') => out.push_str("\\\\"),
            _ => out.push_str("\\n"), // the only control character of these values
        }
        rest = special.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    out.push('"');
}
