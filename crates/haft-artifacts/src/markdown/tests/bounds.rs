//! Linear work and bounded memory, whatever comes.

use crate::markdown::MarkdownIndex;

/// Ten times the document is at most twelve times the work.
#[track_caller]
fn check_linear(line: &str) {
    let steps = |bytes: usize| {
        let mut builder = MarkdownIndex::builder();
        builder.push(line.repeat(bytes / line.len()).as_bytes());
        builder.push(b"\n\n");
        builder.steps()
    };
    let bytes = 50_000;
    let few = steps(bytes);
    let many = steps(bytes * 10);
    assert!(many <= few * 12, "{line:?}: {few} steps, {many} for ten times as much");
    assert!(many <= bytes as u64 * 10 * 150, "{line:?}: {many} steps for {bytes} bytes times ten");
}

#[test]
fn work_is_linear() {
    for line in [
        "text\n",
        "# a\n",
        "a\n===\n",
        "```\n",
        "> ",
        "> x\n",
        "- ",
        "- a\n",
        "  - a\n",
        "[a]: /u\n",
        "[a]: /u 't\n",
        "[a\n",
        "[",
        "[a]:\n",
        "|a|\n",
        "|-|\n",
        "a|b\n",
        "<",
        "<div>\n",
        "<!--\n",
        "<a b='\n",
        "\n",
        " \n",
        "\t",
        "*",
        "_",
        "`",
        "`` ` ",
        "1. ",
        "12345678",
        "\\",
        "![",
        "[a](",
        "&",
        "-",
        "=\n",
        "- - - -\n",
        "> - ",
        "x\n> ",
    ] {
        check_linear(line);
    }
}

#[test]
fn deep_containers_then_blank_lines_are_linear() {
    let document = |lines: usize| {
        let mut builder = MarkdownIndex::builder();
        builder.push("- ".repeat(5_000).as_bytes());
        for _ in 0..lines {
            builder.push(b"\n");
        }
        builder.steps()
    };
    assert!(document(100_000) <= document(10_000) * 12);
}

#[test]
fn a_line_without_an_end_is_not_kept() {
    let mut builder = MarkdownIndex::builder();
    builder.push(b"# long ");
    for _ in 0..1_000 {
        builder.push(&[b'x'; 1_000]);
    }
    builder.push(b"\n# next\n");
    let index = builder.finish();
    assert_eq!(index.headings().len(), 2);
    assert!(index.headings()[0].text.len() <= 2_048);
    assert_eq!(index.headings()[1].start_line, 1);
}

#[test]
fn the_end_of_html_is_seen_behind_a_long_line() {
    for (open, close) in
        [("<script>", "</script>"), ("<!--", "-->"), ("<?x", "?>"), ("<![CDATA[", "]]>")]
    {
        for chunk in [1, 7, 4_096, usize::MAX] {
            let document =
                format!("{open}\n{}{close}{}\n# a\n", "x".repeat(70_000), "y".repeat(30));
            let mut builder = MarkdownIndex::builder();
            for part in document.as_bytes().chunks(chunk.min(document.len())) {
                builder.push(part);
            }
            assert_eq!(builder.finish().headings().len(), 1, "{open} in pieces of {chunk}");
        }
    }
}

#[test]
fn many_definitions_in_one_paragraph_are_all_found() {
    let mut text = String::new();
    for number in 0..20_000 {
        text.push_str(&format!(
            "[label {number}]: https://example.org/{number}\n'title {number}'\n"
        ));
    }
    text.push_str("heading\n===\n");
    let index = MarkdownIndex::parse(&text);
    assert_eq!(index.definition_count(), 20_000);
    let last = index.definition("LABEL  19999").unwrap();
    assert_eq!(
        (&*last.url, last.title.as_deref()),
        ("https://example.org/19999", Some("title 19999"))
    );
    assert_eq!((&*index.headings()[0].text, index.headings()[0].start_line), ("heading", 40_000));
}

#[test]
fn the_index_is_capped_and_says_so() {
    let mut builder = MarkdownIndex::builder();
    for _ in 0..200_010 {
        builder.push(b"#\n");
    }
    let index = builder.finish();
    assert_eq!(
        (index.headings().len(), index.omitted_count(), index.line_count()),
        (200_000, 10, 200_010)
    );
}
