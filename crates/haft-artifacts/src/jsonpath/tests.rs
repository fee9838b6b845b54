mod errors;
mod evaluation;
mod naive;
mod properties;
mod spellings;
mod suite;

use super::JsonPath;
use haft_core::json::Document;

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
fn parse_path(text: &str) -> JsonPath {
    JsonPath::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}
