//! Tests of the schema and everything that is made from it. The tests of `haft-conformance` prove that its parts agree.

mod check;
mod coerce;
mod faults;
#[cfg(feature = "foreign-schemas")]
mod foreign;
mod wire;

use crate::schema::InputSchema;
use crate::schema::args::{RawArgs, Strictness};

/// What becomes of a text: the accepted arguments and the changes, or the problems.
fn verdict(input: &InputSchema, text: &str, strictness: Strictness) -> String {
    match input.accept("tool", &RawArgs::text(text), strictness) {
        Err(problems) => problems.to_string(),
        Ok(accepted) if accepted.changes.is_empty() => accepted.args.to_string(),
        Ok(accepted) => {
            let change = |it: &crate::schema::Change| {
                let kind = serde_json::to_value(&it.kind).unwrap_or_default();
                let detail = kind["detail"].as_str().map(|it| format!(" {it}"));
                let kind = kind["change"].as_str().unwrap_or_default();
                format!("{} {kind}{}", it.pointer, detail.unwrap_or_default())
            };
            let changes: Vec<_> = accepted.changes.iter().map(change).collect();
            format!("{} [{}]", accepted.args, changes.join(", "))
        }
    }
}
