//! What every fuzz target asserts, as plain functions that any harness can call.
//!
//! A function takes the fuzzer's bytes and panics when a promise is broken. Input that a target has
//! no use for is passed over.

use haft::markdown::MarkdownIndex;
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

/// The index of a Markdown text does not depend on how the text is cut, takes linear work, and names lines that
/// exist; queries on any part of the text give lines of that part.
///
/// The first byte is the size of the pieces.
pub fn markdown_index(data: &[u8]) {
    let Some((&size, document)) = data.split_first() else { return };
    let mut whole = MarkdownIndex::builder();
    whole.push(document);
    let steps = whole.steps();
    assert!(
        steps <= 200 * (document.len() as u64 + 1),
        "{steps} steps for {} bytes",
        document.len()
    );
    let whole = whole.finish();

    let mut pieces = MarkdownIndex::builder();
    document.chunks(usize::from(size) + 1).for_each(|piece| pieces.push(piece));
    let pieces = pieces.finish();
    assert_eq!(pieces.headings(), whole.headings(), "headings depend on the cuts");
    assert_eq!(pieces.code_blocks(), whole.code_blocks(), "code blocks depend on the cuts");
    assert_eq!(pieces.n_lines(), whole.n_lines(), "lines depend on the cuts");

    let lines = whole.headings().iter().map(|it| (it.start_line, it.end_line));
    for (start, end) in
        lines.chain(whole.code_blocks().iter().map(|it| (it.start_line, it.end_line)))
    {
        assert!(
            start <= end && end < whole.n_lines(),
            "lines {start} to {end} of {}",
            whole.n_lines()
        );
    }
    assert!(whole.headings().is_sorted_by_key(|it| it.start_line), "headings out of order");
    let _ = whole.front_matter();

    let text = String::from_utf8_lossy(document);
    let first = usize::from(size) % whole.n_lines().max(1);
    let part: String = text.split_inclusive('\n').skip(first).collect();
    let fragment = whole.fragment(&part, first);
    for line in
        fragment.links().iter().map(|it| it.line).chain(fragment.images().iter().map(|it| it.line))
    {
        assert!(first <= line && line < whole.n_lines(), "line {line} of a part from {first}");
    }
    let _ = (fragment.text(), fragment.tree());
}
