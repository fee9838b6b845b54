//! What every fuzz target asserts, as plain functions that any harness can call.
//!
//! A function takes the fuzzer's bytes and panics when a promise is broken. Input that a target has
//! no use for is passed over.

use std::num::NonZeroU32;

use haft_core::json::{Document, canonical_text};
use haft_core::spool::{LineIndex, LineIndexBuilder};

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

/// Any bytes can be tried as an index. As content they have an index that counts what is there, however
/// they come, and that reads back; the first two bytes are the sizes of blocks and pieces.
pub fn line_index(data: &[u8]) {
    if let Ok(index) = LineIndex::decode(data) {
        assert_eq!(index.encode(), data, "an index has two forms");
    }
    let [block, piece, content @ ..] = data else { return };
    let Some(block) = NonZeroU32::new((*block).into()) else { return };
    let mut builder = LineIndexBuilder::new(block);
    for piece in content.chunks(usize::from(*piece).max(1)) {
        builder.push(piece);
    }
    let index = builder.finish();
    let newlines = content.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_eq!(index.newlines(), newlines, "newlines are miscounted");
    assert_eq!(index.byte_length(), content.len() as u64, "bytes are miscounted");
    for line in 0..index.line_count() {
        let found = index.locate(line).expect("a line is not found");
        let before = usize::try_from(found.offset).expect("content is in memory");
        let before = content[..before].iter().filter(|byte| **byte == b'\n').count() as u64;
        assert_eq!(before + found.newlines, line, "a line is found at another");
        assert!(line == 0 || found.newlines > 0, "a line is found past its start");
    }
    match LineIndex::decode(&index.encode()) {
        Ok(again) => assert_eq!(again, index, "an index reads back as another"),
        Err(error) => panic!("an index does not read back: {error}"),
    }
}
