use std::fs;

use super::expand;

const PROGRAM: &str = "// ANCHOR: all\nuse a;\n\n// ANCHOR: body\nfn b() {}\n// ANCHOR_END: body\n\
                       // ANCHOR_END: all\n// ANCHOR: empty\n// ANCHOR_END: empty\nfn c() {}\n";

#[track_caller]
fn check(include: &str, expect: Option<&str>) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.rs"), PROGRAM).unwrap();
    let page = format!("```rust\n{include}\n```\n");
    let expanded = expand(&dir.path().join("page.md"), &page).ok();
    let expanded = expanded.map(|lines| lines.iter().map(|it| format!("{}\n", it.text)).collect());
    assert_eq!(expanded, expect.map(|it| format!("```rust\n{it}\n```\n")), "{include}");
}

#[test]
fn files_lines_and_anchors_are_inserted() {
    check("{{#include a.rs:body}}", Some("fn b() {}"));
    check("{{#rustdoc_include a.rs:all}}", Some("use a;\n\nfn b() {}"));
    check("{{#include a.rs:2}}", Some("use a;"));
    check("{{#include a.rs:2:5}}", Some("use a;\n\n// ANCHOR: body\nfn b() {}"));
    check("fn plain() {}", Some("fn plain() {}"));
}

#[test]
fn an_include_of_nothing_is_an_error() {
    check("{{#include b.rs}}", None);
    check("{{#include a.rs:renamed}}", None);
    check("{{#include a.rs:empty}}", None);
    check("{{#include a.rs:30:40}}", None);
}

#[test]
fn lines_know_where_they_come_from() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.rs"), PROGRAM).unwrap();
    let lines =
        expand(&dir.path().join("page.md"), "one\n{{#include a.rs:all}}\n\nlast\n").unwrap();
    let places: Vec<(usize, bool)> = lines.iter().map(|it| (it.number, it.is_included)).collect();
    assert_eq!(places, [(1, false), (2, true), (2, true), (2, true), (3, false), (4, false)]);
}
