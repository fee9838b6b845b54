//! The call id: sha256 of the canonical JSON of `{tool, args}`, from a parsed value.
//!
//! The floor is `serde_json::to_vec` and the hash of those bytes: not canonical (keys as they
//! come), and left as bytes, as Haft keeps them. Everything else also sorts keys; rows that write
//! lower-case hex say so, or are peers.
//!
//! Beside it, parsing the same texts: the floor is `serde_json::Value`.

mod by_hand;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    Sink,
    dispatch::node_entry,
    measure::{self, Plan, UNIT, Variant},
    node::{self, Case, Outcome},
    ours,
    report::{Entry, FLOOR, Row},
};

const TOOL: &str = "import_records";

/// Names and record counts, which give about 220 B, 4.6 kB and 1 MB of text.
const SIZES: [(&str, usize); 3] = [("220B", 1), ("4.6KB", 28), ("1MB", 6_000)];

/// Measures the three sizes.
///
/// # Errors
///
/// When a variant gives a wrong answer or a row cannot be printed.
pub(crate) fn run(plan: Plan, print: Sink<'_>) -> Result<(), String> {
    let cases = SIZES.map(|(name, records)| Case { name, text: call(records).to_string() });
    let node = node::measure("callid", &cases, plan);
    for (name, records) in SIZES {
        let row = row(name, records, &node, plan)?;
        // Not slower than what is written by hand, apart from a tenth.
        let by_hand = row.entries.iter().find(|it| it.name == by_hand::NAME);
        let aim = by_hand.and_then(|it| it.ratio).map(|ratio| ("haft, with hex", 1.1 * ratio));
        print(&row.aims(aim))?;
    }
    for (name, records) in SIZES {
        print(&parsing(name, &arguments(records), plan)?)?;
    }
    Ok(())
}

fn row(size: &str, records: usize, node: &[Outcome], plan: Plan) -> Result<Row, String> {
    let call = call(records);
    crate::note(&format!("callid/{size}: {} bytes", call.to_string().len()));
    let expected = hex(Sha256::digest(canonical(&call)).into());
    let mut variants = vec![floor(&call)];
    variants.extend(ours::call_id(TOOL, &arguments(records).to_string())?);
    variants.extend(by_hand::variants(&call));
    #[cfg(feature = "peers")]
    variants.extend(peers(&call));

    let figures = measure::compare(&expected, variants, plan)?;
    let mut entries: Vec<Entry> = figures.iter().map(Entry::from).collect();
    entries.extend(node_entry(node, size, &expected, entries.first())?);
    Ok(Row { name: format!("callid/{size}"), unit: UNIT, entries })
}

fn parsing(size: &str, value: &Value, plan: Plan) -> Result<Row, String> {
    let text = value.to_string();
    let own = text.clone();
    let floor = Variant::new(
        FLOOR,
        move || serde_json::from_str::<Value>(&own),
        |it| it.map_or_else(|error| error.to_string(), |it| it.to_string()),
    );
    let figures = measure::compare(&text.clone(), vec![floor, ours::parse(text)], plan)?;
    let entries = figures.iter().map(Entry::from).collect();
    Ok(Row { name: format!("parse/{size}"), unit: UNIT, entries })
}

fn floor(call: &Value) -> Variant {
    let call = call.clone();
    let work = move || serde_json::to_vec(&call).map(Sha256::digest);
    Variant::new(FLOOR, work, |it| format!("{it:?}")).differing()
}

#[cfg(feature = "peers")]
fn peers(call: &Value) -> [Variant; 2] {
    let id = |text: Vec<u8>| hex(Sha256::digest(text).into());
    let show = |it: Result<String, serde_json::Error>| it.unwrap_or_else(|it| it.to_string());
    let first = call.clone();
    let second = call.clone();
    [
        Variant::new(
            "serde_json_canonicalizer 0.4.1 + sha2",
            move || serde_json_canonicalizer::to_vec(&first).map(id),
            show,
        ),
        Variant::new("serde_jcs 0.2 + sha2", move || serde_jcs::to_vec(&second).map(id), show),
    ]
}

/// `{tool, args}` around [`arguments`].
fn call(records: usize) -> Value {
    json!({ "tool": TOOL, "args": arguments(records) })
}

/// Records as models send them: keys in no order, escapes, non-ASCII text, numbers of all kinds.
fn arguments(records: usize) -> Value {
    let record = |n: usize| {
        json!({
            "title": format!("Zürich \"north\" {n}"),
            "id": n * 7919,
            "active": n.is_multiple_of(3),
            "score": n as f64 * 0.37 + 0.013,
            "position": { "y": 47.3769, "x": -8.5417 },
            "tags": ["a", "line\nbreak", "😀"],
            "parent": null,
        })
    };
    json!({ "records": (1..=records).map(record).collect::<Vec<_>>(), "mode": "merge" })
}

/// The plain definition, as the answer all variants must give. Its numbers are only right for
/// those of [`arguments`], which print alike in JavaScript and in serde_json.
fn canonical(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| key.encode_utf16().collect::<Vec<_>>());
            let member =
                |(key, value): (&String, &Value)| format!("{}:{}", json!(key), canonical(value));
            format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
        }
        scalar => scalar.to_string(),
    }
}

fn hex(bytes: [u8; 32]) -> String {
    let digit = |it: u8| char::from_digit(it.into(), 16).unwrap_or('?');
    let mut text = String::with_capacity(64);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

#[cfg(test)]
mod tests;
