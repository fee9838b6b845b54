//! Parsing and canonical text.

use haft_core::json::{Document, canonical_text};

/// The canonical text of a document parses to the same document, and is its own canonical text.
///
/// Documents with a key that occurs twice are only written: no call is made with them.
pub fn canonical_json(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(document) = Document::parse(text) else { return };
    let canonical = canonical_text(document.root());
    if document.duplicate_key().is_some() {
        return;
    }
    let again = match Document::parse(&canonical) {
        Ok(again) => again,
        Err(error) => panic!("canonical text does not parse: {error}\n{canonical}"),
    };
    assert_eq!(again, document, "canonical text holds another value");
    assert_eq!(canonical_text(again.root()), canonical, "canonical text is no fixed point");
}

/// Lenient parsing accepts what strict parsing accepts, as the same value and without a repair.
pub fn lenient_json(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let lenient = Document::parse_lenient(text);
    let Ok(strict) = Document::parse(text) else { return };
    match lenient {
        Ok((document, repairs)) => {
            assert!(repairs.is_empty(), "strict JSON was repaired: {repairs:?}");
            assert_eq!(document, strict, "lenient parsing gives another value");
        }
        Err(error) => panic!("strict JSON is refused: {error}"),
    }
}
