//! What the index finds, against a table of cases, pulldown-cmark and the specification's examples; then
//! what it refuses to keep, and the queries.

mod bounds;
mod cases;
mod differential;
mod front_matter;
mod links;
mod suite;

use super::MarkdownIndex;

#[test]
fn sections_follow_the_headings() {
    let text = "# Title\n\nintro\n\n## Section A\n\n```python\nx = 1\n```\n\n## Section B\n\nend\n";
    let index = MarkdownIndex::parse(text);
    assert_eq!(index.line_count(), 13);
    let sections: Vec<_> = index
        .sections()
        .map(|it| (it.depth, it.heading, it.heading_line, it.body_start_line, it.body_end_line))
        .collect();
    assert_eq!(
        sections,
        [(1, "Title", 0, 1, 12), (2, "Section A", 4, 5, 9), (2, "Section B", 10, 11, 12)]
    );
    let block = &index.code_blocks()[0];
    assert_eq!((block.lang.as_deref(), block.start_line, block.end_line), (Some("python"), 6, 8));
}

#[test]
fn sections_are_found_by_title_and_by_line() {
    let index = MarkdownIndex::parse("x\n# One\n## Two\ny\n# two\n> # Quoted\n\nz\n");
    let titled = |title: &str| index.find_section(title).map(|it| it.heading_line);
    assert_eq!(titled("Two"), Some(2));
    assert_eq!(titled("two"), Some(4));
    assert_eq!(titled(" ONE "), Some(1));
    assert_eq!(titled("## Two"), Some(2));
    assert_eq!(titled("Three"), None);
    let at = |line: usize| index.section_at(line).map(|it| it.heading_line);
    assert_eq!(
        [0, 1, 3, 4, 5, 7, 99].map(at),
        [None, Some(1), Some(2), Some(4), Some(5), Some(4), None]
    );
}

#[test]
fn the_empty_language_asks_for_blocks_without_one() {
    let index = MarkdownIndex::parse("```rust\n```\n```\n```\n    x\n\n```Rust\n```\n");
    let lines = |lang: &str| index.code_blocks_in(lang).map(|it| it.start_line).collect::<Vec<_>>();
    assert_eq!(lines("rust"), [0, 6]);
    assert_eq!(lines(""), [2, 4]);
    assert!(lines("c").is_empty());
}

#[test]
fn lines_may_be_pushed_one_by_one() {
    let mut builder = MarkdownIndex::builder();
    for line in ["# a", "b", "---"] {
        builder.push_line(line);
    }
    let index = builder.finish();
    let texts: Vec<_> = index.headings().iter().map(|it| &*it.text).collect();
    assert_eq!((texts, index.line_count()), (vec!["a", "b"], 3));
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let mut builder = MarkdownIndex::builder();
    builder.push(b"# a\xFFb\n\x00\n[\xC3]: /u\xC3\n```\xF0\x9F\n");
    let index = builder.finish();
    assert_eq!(&*index.headings()[0].text, "a\u{fffd}b");
    assert_eq!(index.code_blocks()[0].lang.as_deref(), Some("\u{fffd}"));
}
