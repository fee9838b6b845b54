mod errors;
mod evaluation;
mod lenient;
mod naive;
mod properties;
mod suite;

use super::JsonPath;
use crate::json::Document;

fn doc(text: &str) -> Document {
    Document::parse(text).unwrap()
}

/// The selected values as one JSON text.
fn found(path: &JsonPath, document: &Document) -> String {
    let values: Vec<String> =
        path.select(document.root()).iter().map(|it| it.to_string()).collect();
    format!("[{}]", values.join(","))
}

#[track_caller]
fn strict(path: &str) -> JsonPath {
    JsonPath::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[track_caller]
fn lenient(path: &str) -> JsonPath {
    JsonPath::parse_lenient(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
