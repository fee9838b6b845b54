//! The index of a Markdown text.

use haft::artifacts::markdown::MarkdownIndex;

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
    assert_eq!(pieces.line_count(), whole.line_count(), "lines depend on the cuts");

    let lines = whole.headings().iter().map(|it| (it.start_line, it.end_line));
    for (start, end) in
        lines.chain(whole.code_blocks().iter().map(|it| (it.start_line, it.end_line)))
    {
        assert!(
            start <= end && end < whole.line_count(),
            "lines {start} to {end} of {}",
            whole.line_count()
        );
    }
    assert!(whole.headings().is_sorted_by_key(|it| it.start_line), "headings out of order");
    let _ = whole.front_matter();

    let text = String::from_utf8_lossy(document);
    let first = usize::from(size) % whole.line_count().max(1);
    let part: String = text.split_inclusive('\n').skip(first).collect();
    for link in whole.links(&part, first) {
        let line = link.line;
        assert!(first <= line && line < whole.line_count(), "line {line} of a part from {first}");
    }
}
