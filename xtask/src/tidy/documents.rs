//! Rules that keep the documents true.

use std::collections::HashSet;

use super::{files, folders, library_crates, read, report};

#[test]
fn documents_stay_short() {
    let mut problems = Vec::new();
    for (path, limit) in [("README.md", 150), ("ARCHITECTURE.md", 240)] {
        let lines = read(path).lines().count();
        if lines >= limit {
            problems.push(format!("{path}: {lines} lines, must stay under {limit}"));
        }
    }
    report(&problems);
}

/// A decision takes at most a screen. The page of figures has tables that are as wide as they need to be.
#[test]
fn decisions_fit_on_a_screen() {
    let mut problems = Vec::new();
    for path in files("docs/design", &["md"]) {
        if path.ends_with("/figures.md") {
            continue;
        }
        let page = read(&path);
        let wide = page.lines().filter(|line| line.chars().count() > 110);
        problems.extend(wide.map(|line| format!("{path}: more than 110 characters: {line}")));
        for decision in page.split("\n## ").skip(1) {
            let lines = decision.trim_end().lines().count();
            if lines > 40 {
                let question = decision.lines().next().unwrap_or_default();
                problems.push(format!("{path}: {lines} lines, must be at most 40: {question}"));
            }
        }
    }
    report(&problems);
}

#[test]
fn the_program_of_the_readme_is_an_example() {
    let readme = read("README.md");
    let shown = readme.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("\n```\n"));
    let example = read("crates/haft/examples/10_turn_with_model.rs");
    let program = example.split_once("\n\n").map(|(_, program)| program.trim_end());
    assert_eq!(shown.map(|(program, _)| program), program);
}

#[test]
fn code_map_matches_the_tree() {
    let map = read("ARCHITECTURE.md");
    let named = code_map(&map);
    let mut problems = Vec::new();
    for path in &named {
        if !crate::root().join(path).is_dir() {
            problems.push(format!("ARCHITECTURE.md names a missing folder: `{path}`"));
        }
    }
    let mut expected = library_crates();
    for name in ["acceptance", "xtask", "bench", "fuzz"] {
        if folders("").iter().any(|it| it == name) {
            expected.push(name.to_owned());
        }
    }
    for path in &expected {
        if !named.contains(&path.as_str()) {
            problems.push(format!("ARCHITECTURE.md lacks the heading: ### `{path}`"));
        }
    }
    report(&problems);
}

#[test]
fn invariants_name_tests_that_exist() {
    let map = read("ARCHITECTURE.md");
    let rows = invariants(&map);
    assert!(!rows.is_empty(), "ARCHITECTURE.md has no table under a heading with `Invariants`");
    let tests = list_tests();
    report(&rows.into_iter().flat_map(|row| missing_tests(row, &tests)).collect::<Vec<_>>());
}

/// A promise without a test is a hope. Each row names its tests in full, so that a search finds them.
#[test]
fn every_fault_names_tests_that_exist() {
    let page = read("docs/book/src/faults.md");
    let rows = table_rows(page.lines());
    assert!(rows.len() > 100, "docs/book/src/faults.md has {} rows", rows.len());
    let tests = list_tests();
    report(&rows.into_iter().flat_map(|row| missing_tests(row, &tests)).collect::<Vec<_>>());
}

/// What is wrong with the tests that a row names.
fn missing_tests(row: &str, known: &HashSet<(String, String)>) -> Vec<String> {
    let tests = named_tests(row);
    if tests.is_empty() || row.contains("`…") {
        return vec![format!("no test named as `crate::path::test_name`: {row}")];
    }
    let is_known = |it: &(String, &str)| known.contains(&(it.0.clone(), it.1.to_owned()));
    let missing = tests.into_iter().filter(|it| !is_known(it));
    missing.map(|(krate, test)| format!("`{krate}` has no test `{test}`: {row}")).collect()
}

/// The walk through a tool call is the map of a new reader, so that a function that was renamed must not stay in it.
#[test]
fn the_walk_names_functions_that_exist() {
    let map = read("ARCHITECTURE.md");
    let walk = map.split_once("### One tool call").and_then(|(_, rest)| rest.split_once("\n## "));
    let rows = table_rows(walk.map_or("", |(walk, _)| walk).lines());
    assert!(!rows.is_empty(), "ARCHITECTURE.md has no table under the heading `One tool call`");
    let sources = library_crates().into_iter().flat_map(|dir| files(&dir, &["rs"]));
    let sources: String = sources.map(|path| read(&path)).collect();
    let mut problems = Vec::new();
    for function in rows.into_iter().flat_map(named_functions) {
        let declared = [format!("fn {function}("), format!("fn {function}<")];
        if !declared.iter().any(|it| sources.contains(it)) {
            problems
                .push(format!("ARCHITECTURE.md walks through `{function}`, which does not exist"));
        }
    }
    report(&problems);
}

/// The functions that the second column of a row names in backticks, without the names of types.
fn named_functions(row: &str) -> Vec<&str> {
    let column = row.split('|').nth(2).unwrap_or_default();
    let names = column.split('`').skip(1).step_by(2);
    let names = names.map(|span| span.rsplit("::").next().unwrap_or(span));
    names.filter(|it| it.starts_with(|first: char| first.is_ascii_lowercase())).collect()
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut problems = Vec::new();
    for path in files("", &["md"]) {
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        for target in links(&read(&path)) {
            if !crate::root().join(dir).join(&target).exists() {
                problems.push(format!("{path}: `{target}` does not exist"));
            }
        }
    }
    report(&problems);
}

/// A page of the book that its summary does not name is not built.
#[test]
fn the_summary_of_the_book_names_every_page() {
    let named = links(&read("docs/book/src/SUMMARY.md"));
    let pages = files("docs/book/src", &["md"]).into_iter();
    let pages = pages.filter_map(|it| it.strip_prefix("docs/book/src/").map(str::to_owned));
    let lost = pages.filter(|it| it != "SUMMARY.md" && !named.contains(it));
    report(&lost.map(|it| format!("docs/book/src/SUMMARY.md lacks {it}")).collect::<Vec<_>>());
}

/// The files that a Markdown text links to or includes, without addresses and anchors.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let include = line.strip_prefix("{{#include ").and_then(|it| it.split(['}', ':']).next());
        found.extend(include.map(|it| it.trim().to_owned()));
        if line.trim_start().starts_with("```") {
            inside = !inside;
        }
        if inside {
            continue;
        }
        // Code spans are no links.
        let prose: String = line.split('`').step_by(2).collect();
        for (_, rest) in prose.match_indices("](").map(|(at, sign)| prose.split_at(at + sign.len()))
        {
            let target = rest.split([')', ' ', '#']).next().unwrap();
            // Paths of items belong to rustdoc, which checks them.
            if !target.is_empty() && !target.contains("::") && !target.contains("://") {
                found.push(target.to_owned());
            }
        }
    }
    found
}

#[test]
fn links_are_found_outside_of_code() {
    let text = "[a](b.md) `[c](d.md)` [e](https://f) [g](h.md#i) [j](#k)\n```\n[l](m.md)\n```\n\
                {{#include n.rs}}\n";
    assert_eq!(links(text), ["b.md", "h.md", "n.rs"]);
}

/// Folders that the code map describes, each under a heading "### `path`".
fn code_map(text: &str) -> Vec<&str> {
    text.lines().filter_map(|it| it.strip_prefix("### `")?.strip_suffix('`')).collect()
}

/// Rows of the tables under the heading that says "Invariants", without their column names.
fn invariants(text: &str) -> Vec<&str> {
    let mut inside = false;
    table_rows(text.lines().filter(move |line| {
        if line.starts_with('#') {
            inside = line.to_lowercase().contains("invariants");
        }
        inside
    }))
}

/// Rows of tables, without their column names.
fn table_rows<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut rows = Vec::new();
    let mut lines = lines.peekable();
    while let Some(line) = lines.next() {
        let is_header = lines.peek().is_some_and(|it| is_rule(it));
        if line.starts_with('|') && !is_rule(line) && !is_header {
            rows.push(line);
        }
    }
    rows
}

/// The line between a table's column names and its rows.
fn is_rule(line: &str) -> bool {
    line.starts_with('|') && line.contains('-') && line.chars().all(|it| "|-: ".contains(it))
}

/// Crate folder name and function name of each test that a row names in backticks.
fn named_tests(row: &str) -> Vec<(String, &str)> {
    row.split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|span| {
            let (path, test) = span.rsplit_once("::")?;
            let krate = path.split("::").next()?;
            let is_name = |it: &str| {
                it.starts_with(|first: char| first.is_ascii_lowercase())
                    && it.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
            };
            (is_name(krate) && is_name(test)).then(|| (krate.replace('_', "-"), test))
        })
        .collect()
}

/// The names of all tests, with the folder names of their crates.
fn list_tests() -> HashSet<(String, String)> {
    let mut tests = HashSet::new();
    for dir in library_crates().into_iter().chain(["xtask".to_owned()]) {
        let krate = dir.strip_prefix("crates/").unwrap_or(&dir);
        for path in files(&dir, &["rs"]) {
            let source = read(&path);
            let declared = declared_tests(&source).into_iter();
            tests.extend(declared.map(|test| (krate.to_owned(), test.to_owned())));
        }
    }
    tests
}

/// The names of the functions with an attribute that makes them a test.
fn declared_tests(source: &str) -> Vec<&str> {
    let mut tests = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim_start) {
        if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("test(");
        } else if let Some((before, after)) = line.split_once("fn ") {
            if is_test && (before.is_empty() || before == "async ") {
                tests.extend(after.split(['(', '<']).next());
            }
            is_test = false;
        } else if !line.starts_with("//") && !line.is_empty() {
            is_test = false;
        }
    }
    tests
}

#[test]
fn functions_of_a_row_are_found_in_its_second_column() {
    let row = "| 1 | `A::b` (`c` inside), through `D` | `e/f.rs` |";
    assert_eq!(named_functions(row), ["b", "c"]);
}

#[test]
fn code_map_is_made_of_third_level_headings() {
    let text = "# A\n### `crates/a`\ntext `b`\n### c\n#### `d`\n### `xtask`\n";
    assert_eq!(code_map(text), ["crates/a", "xtask"]);
}

#[test]
fn invariants_are_the_rows_below_their_heading() {
    let text = "| a | b |\n|---|---|\n| no | no |\n## Invariants\n\n| what | test |\n| --- | :-: |\n\
                | one | `x` |\n| two | `y` |\n\n## Other\n| no | no |\n";
    assert_eq!(invariants(text), ["| one | `x` |", "| two | `y` |"]);
}

#[test]
fn tests_are_told_from_other_code_spans() {
    let row =
        "| `Tool::new` of `haft_core::Tool` | `haft_core::json::tests::exact`, `a` `xtask::b` |";
    let expect = [("haft-core".to_owned(), "exact"), ("xtask".to_owned(), "b")];
    assert_eq!(named_tests(row), expect);
}

#[test]
fn only_functions_marked_as_tests_count() {
    #[track_caller]
    fn check(source: &str, expect: bool) {
        assert_eq!(declared_tests(source).contains(&"holds"), expect, "{source}");
    }
    check("#[test]\nfn holds() {}", true);
    check("    #[test]\n    // Why.\n    #[expect(x)]\n    fn holds(a in 0..3) {}", true);
    check("#[tokio::test(start_paused = true)]\nasync fn holds() {}", true);
    check("fn holds() {}", false);
    check("#[test]\nfn holds_not() {}", false);
    check("#[test]\nfn other() {}\nfn holds() {}", false);
    check("// #[test]\n// fn holds() {}", false);
}
