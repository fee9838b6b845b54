//! Queries on parts of a document.

use serde_json::json;

use crate::markdown::MarkdownIndex;

/// The links of a document as `text -> url "title" @line`.
fn links(document: &str) -> Vec<String> {
    let index = MarkdownIndex::parse(document);
    let show = |title: Option<String>| title.map(|it| format!(" \"{it}\"")).unwrap_or_default();
    let links = index.fragment(document, 0).links();
    links
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
fn images_have_alt_url_and_title() {
    let document = "![a *b*](/i 't') ![](/j)\n\n![c][r] ![x ![y](/in) z](/out)\n\n[r]: /k\n";
    let index = MarkdownIndex::parse(document);
    let images: Vec<_> = index
        .fragment(document, 0)
        .images()
        .into_iter()
        .map(|it| (it.alt, it.url, it.title, it.line))
        .collect();
    let image = |alt: &str, url: &str, title: Option<&str>, line: usize| {
        (alt.to_owned(), url.to_owned(), title.map(str::to_owned), line)
    };
    assert_eq!(
        images,
        [
            image("a b", "/i", Some("t"), 0),
            image("", "/j", None, 0),
            image("c", "/k", None, 2),
            image("x y z", "/out", None, 2),
            image("y", "/in", None, 2),
        ]
    );
}

#[track_caller]
fn check_text(document: &str, expected: &str) {
    assert_eq!(
        MarkdownIndex::parse(document).fragment(document, 0).text(),
        expected,
        "{document:?}"
    );
}

#[test]
fn text_keeps_blocks_apart() {
    check_text("# T\nx", "T\n\nx");
    check_text("a\nb  \nc\\\nd", "a\nb\nc\nd");
    check_text("*a* [b](/u) `c` ![d](/i)", "a b c d");
    check_text("x\n```rs\nfn a() {}\n\nb\n```\ny", "x\n\nfn a() {}\n\nb\n\ny");
    check_text("- a\n- b\n  - c\n\nd", "a\nb\nc\n\nd");
    check_text("- a\n\n- b", "a\n\nb");
    check_text("> a\n>\n> b\n\nc", "a\n\nb\n\nc");
    check_text("|a|b|\n|-|-|\n|c||\n||d|\n\ne", "a\tb\nc\t\n\td\n\ne");
    check_text("<div>\n<b>x</b>\n\ny <i>z</i>", "<div>\n<b>x</b>\n\ny z");
    check_text("---\na: 1\n---\nb", "b");
    check_text("\u{feff}a\r\nb\r\n\r\nc\r\n", "a\nb\n\nc");
    check_text("", "");
}

#[test]
fn positions_are_those_of_the_document() {
    let document = "x\n\n# a\n\n[l](/u)\n";
    let index = MarkdownIndex::parse(document);
    let tree = index.fragment("# a\n\n[l](/u)\n", 2).tree();
    assert_eq!(
        tree,
        json!({"type": "root", "startLine": 2, "endLine": 4, "children": [
            {"type": "heading", "depth": 1, "startLine": 2, "endLine": 2, "children": [
                {"type": "text", "value": "a", "startLine": 2, "endLine": 2}]},
            {"type": "paragraph", "startLine": 4, "endLine": 4, "children": [
                {"type": "link", "url": "/u", "startLine": 4, "endLine": 4, "children": [
                    {"type": "text", "value": "l", "startLine": 4, "endLine": 4}]}]}]})
    );
}

#[test]
fn trees_hold_code_lists_and_breaks() {
    let document = "```rs x\na\nb\n```\n3. c\n***\n<p>\n";
    let tree = MarkdownIndex::parse(document).fragment(document, 0).tree();
    let nodes: Vec<_> = tree["children"].as_array().unwrap().iter().map(|it| &it["type"]).collect();
    assert_eq!(nodes, ["code", "list", "thematicBreak", "html"]);
    assert_eq!(tree["children"][0]["value"], "a\nb\n");
    assert_eq!(tree["children"][0]["lang"], "rs");
    assert_eq!(tree["children"][0]["endLine"], 3);
    assert_eq!(tree["children"][1]["start"], 3);
    assert_eq!(tree["children"][3]["value"], "<p>\n");
}

#[test]
fn trees_are_bounded() {
    for document in ["> ".repeat(2_000) + "x", "*a* ".repeat(20_000), "![".repeat(5_000)] {
        let tree = MarkdownIndex::parse(&document).fragment(&document, 0).tree();
        assert!(tree["omitted"].as_u64().is_some() || tree.to_string().len() < 1_000_000);
    }
    let deep = "> ".repeat(50) + "x";
    assert_eq!(MarkdownIndex::parse(&deep).fragment(&deep, 0).tree()["omitted"], 20);
}

#[test]
fn a_part_that_begins_inside_code_is_code() {
    let document = "```\n[a](/u)\n# b\n```\n[c](/v)\n";
    let index = MarkdownIndex::parse(document);
    let fragment = index.fragment("# b\n```\n[c](/v)\n", 2);
    let urls: Vec<_> = fragment.links().into_iter().map(|it| (it.url, it.line)).collect();
    assert_eq!(urls, [("/v".to_owned(), 4)]);
    assert_eq!(fragment.text(), "# b\n\nc");
    assert_eq!(fragment.tree()["children"][0]["type"], "code");
}

#[test]
fn long_parts_are_cut_at_a_line() {
    let document = "[a](/u)\n".repeat(200_000);
    let index = MarkdownIndex::parse(&document);
    let fragment = index.fragment(&document, 0);
    assert!(fragment.is_cut());
    assert_eq!(fragment.links().len(), 1024 * 1024 / 8);
    assert!(!index.fragment("[a](/u)\n", 0).is_cut());
}
