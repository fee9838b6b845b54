mod canonical;
mod numbers;
mod parse;
pub(crate) mod properties;
mod repair;
mod suites;

use super::Document;

/// The document of a text that must parse.
#[track_caller]
fn doc(text: &str) -> Document {
    Document::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}
