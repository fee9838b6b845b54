//! The links in parts of a document.

use crate::markdown::MarkdownIndex;

/// The links of a document as `text -> url "title" @line`.
fn links(document: &str) -> Vec<String> {
    let index = MarkdownIndex::parse(document);
    let show = |title: Option<String>| title.map(|it| format!(" \"{it}\"")).unwrap_or_default();
    index
        .links(document, 0)
        .into_iter()
        .map(|it| format!("{} -> {}{} @{}", it.text, it.url, show(it.title), it.line))
        .collect()
}

#[track_caller]
fn check_links(document: &str, expected: &[&str]) {
    assert_eq!(links(document), expected, "{document:?}");
}

#[test]
fn links_of_every_kind() {
    check_links("a [b *c* `d`](/u \"t\")", &["b c d -> /u \"t\" @0"]);
    check_links(
        "<https://e.org> <a@e.org>",
        &["https://e.org -> https://e.org @0", "a@e.org -> mailto:a@e.org @0"],
    );
    check_links(
        "x\n[a][b] [b][] [b]\n\n[B]: /u 't'",
        &["a -> /u \"t\" @1", "b -> /u \"t\" @1", "b -> /u \"t\" @1"],
    );
    check_links("[a]: /first\n\n[a]\n\n[a]: /second", &["a -> /first @2"]);
    check_links("[a][nope] `[b](/u)`\n\n    [c](/u)\n", &[]);
    check_links("[![alt](/i)](/u)", &["alt -> /u @0"]);
    check_links("| [a](/u) |\n|-|\n| [b](/v) |", &["a -> /u @0", "b -> /v @2"]);
    check_links("[x](</a b>) [y](<>)", &["x -> /a b @0", "y ->  @0"]);
}

#[test]
fn bare_addresses() {
    check_links("see https://e.org/a_b_c.", &["https://e.org/a_b_c -> https://e.org/a_b_c @0"]);
    check_links("a\nwww.e.org!", &["www.e.org -> http://www.e.org @1"]);
    check_links("mail a.b+c@e.org.", &["a.b+c@e.org -> mailto:a.b+c@e.org @0"]);
    check_links("(https://e.org/a(b))", &["https://e.org/a(b) -> https://e.org/a(b) @0"]);
    check_links("**https://e.org**", &["https://e.org -> https://e.org @0"]);
    check_links("xhttps://e.org www. a@b http:// https://x_y.z_w", &[]);
    check_links("[https://e.org](/u) `https://e.org`", &["https://e.org -> /u @0"]);
    check_links(
        "https://a.org,https://b.org",
        &["https://a.org,https://b.org -> https://a.org,https://b.org @0"],
    );
    check_links(
        "ä https://e.org/ü中?q=1&r=2 x",
        &["https://e.org/ü中?q=1&r=2 -> https://e.org/ü中?q=1&r=2 @0"],
    );
}

#[test]
fn a_part_that_begins_inside_code_has_no_links_there() {
    let document = "```\n[a](/u)\n# b\n```\n[c](/v)\n";
    let index = MarkdownIndex::parse(document);
    let links = index.links("# b\n```\n[c](/v)\n", 2);
    let urls: Vec<_> = links.into_iter().map(|it| (it.url, it.line)).collect();
    assert_eq!(urls, [("/v".to_owned(), 4)]);
}

#[test]
fn long_parts_are_cut_at_a_line() {
    let document = "[a](/u)\n".repeat(200_000);
    let index = MarkdownIndex::parse(&document);
    assert_eq!(index.links(&document, 0).len(), 1024 * 1024 / 8);
}
