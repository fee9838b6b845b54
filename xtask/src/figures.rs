//! `cargo xtask tidy --figures`: how the names and the shape of the crates measure up, for reviewers.
//!
//! The figures show a direction; none of them is a limit. They count the sources in `crates/*/src` that a user
//! compiles: modules and items for tests are left out.
//!
//! - A name has one word if it has no underscore (functions) or no second capital letter (types).
//! - A bare participle is a function name of one word that ends in `ed` or is one of [`IRREGULAR`].
//! - Methods of `impl Trait for Type` are not counted among function names: the trait has chosen them.
//! - A type shares its name if another type of the workspace's crates has the same one.
//! - `ranges` and `convert` count `get(range).unwrap_or_default()` and `try_from(..).unwrap_or(..)`.
//! - `cyclic` counts the top-level modules from which imports lead back to themselves.
//! - Public types are those marked `pub`, also in private modules; `cargo xtask api` shows what can be reached.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use crate::source::{self, Function, Krate, TypeName};

const IRREGULAR: [&str; 31] = [
    "become",
    "begun",
    "bound",
    "broken",
    "built",
    "chosen",
    "come",
    "cut",
    "done",
    "drawn",
    "fallen",
    "forgotten",
    "found",
    "given",
    "gone",
    "heard",
    "held",
    "kept",
    "known",
    "left",
    "lost",
    "made",
    "meant",
    "put",
    "said",
    "seen",
    "sent",
    "shown",
    "taken",
    "told",
    "written",
];

const LONG: usize = 50;

/// Prints the figures of every crate and of all of them.
pub(crate) fn print(root: &Path) -> ExitCode {
    match source::read_crates(root) {
        Ok(crates) => {
            let all: Vec<Figures> = crates.iter().map(measure).collect();
            let shared = shared_names(&crates);
            show(&all, shared);
            list_long_functions(&crates);
            list_shared_names(&crates);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Debug, Default)]
struct Figures {
    name: String,
    lines: usize,
    types: usize,
    one_word_types: usize,
    public_types: usize,
    functions: usize,
    one_word_functions: usize,
    participles: usize,
    long_functions: usize,
    doctests: usize,
    silent_ranges: usize,
    silent_conversions: usize,
    modules: usize,
    cyclic: usize,
}

fn measure(krate: &Krate) -> Figures {
    let found = source::definitions(krate);
    let own = || found.functions.iter().filter(|it| !it.is_given);
    let count_types =
        |test: fn(&TypeName) -> bool| found.types.iter().filter(|it| test(it)).count();
    let count_own = |test: fn(&Function) -> bool| own().filter(|it| test(it)).count();
    let text: String = krate.texts.iter().map(|(_, text)| text.as_str()).collect();
    let code: String = text.split_whitespace().collect();
    let graph = source::module_graph(krate);
    Figures {
        modules: graph.len(),
        cyclic: source::cyclic_modules(&graph).len(),
        name: krate.name.clone(),
        lines: krate.lines,
        types: found.types.len(),
        one_word_types: count_types(|it| is_one_word_type(&it.name)),
        public_types: count_types(|it| it.is_public),
        functions: own().count(),
        one_word_functions: count_own(|it| is_one_word(&it.name)),
        participles: count_own(|it| is_bare_participle(&it.name)),
        long_functions: found.functions.iter().filter(|it| it.lines > LONG).count(),
        doctests: krate.texts.iter().map(|(_, text)| count_doctests(text)).sum(),
        silent_ranges: count_silent_ranges(&code),
        silent_conversions: count_silent_conversions(&code),
    }
}

fn is_one_word(name: &str) -> bool {
    !name.trim_matches('_').contains('_')
}

fn is_one_word_type(name: &str) -> bool {
    name.chars().skip(1).all(|it| !it.is_uppercase())
}

fn is_bare_participle(name: &str) -> bool {
    let ends = name.ends_with("ed") && !["need", "feed", "seed", "speed", "exceed"].contains(&name);
    is_one_word(name) && (ends || IRREGULAR.contains(&name))
}

/// Code blocks in documentation that `cargo test --doc` runs or compiles.
fn count_doctests(text: &str) -> usize {
    let mut inside = false;
    let mut count = 0;
    for line in text.lines().map(str::trim_start) {
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let Some(doc) = doc else {
            inside = false;
            continue;
        };
        let Some(language) = doc.trim_start().strip_prefix("```") else { continue };
        if !inside {
            let parts = ["rust", "no_run", "should_panic", "compile_fail", "edition2024"];
            count +=
                usize::from(language.split(',').all(|it| it.is_empty() || parts.contains(&it)));
        }
        inside = !inside;
    }
    count
}

/// `.get(a..b)...unwrap_or_default()` in text without white space, also with `.unwrap_or(&[])` or `.unwrap_or("")`.
fn count_silent_ranges(code: &str) -> usize {
    code.match_indices(".get(")
        .filter(|(at, call)| {
            let rest = code.get(at + call.len()..).unwrap_or_default();
            let Some(end) = closing(rest) else { return false };
            let (argument, after) = rest.split_at(end);
            let falls_back = [").unwrap_or_default()", ").unwrap_or(&[])", ").unwrap_or(\"\")"];
            argument.contains("..") && falls_back.iter().any(|it| after.starts_with(it))
        })
        .count()
}

/// `try_from(x).unwrap_or(...)` and `try_from(x).unwrap_or_default()` in text without white space.
fn count_silent_conversions(code: &str) -> usize {
    code.match_indices("::try_from(")
        .filter(|(at, call)| {
            let rest = code.get(at + call.len()..).unwrap_or_default();
            closing(rest).and_then(|end| rest.get(end..)).is_some_and(|it| {
                it.starts_with(").unwrap_or(") || it.starts_with(").unwrap_or_default()")
            })
        })
        .count()
}

/// Where the parenthesis closes that stood before this text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// How many type definitions have a name that another one has, too.
fn shared_names(crates: &[Krate]) -> usize {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for found in crates.iter().flat_map(|krate| source::definitions(krate).types) {
        *counts.entry(found.name).or_default() += 1;
    }
    counts.values().filter(|count| **count > 1).sum()
}

fn show(all: &[Figures], shared: usize) {
    let total = all.iter().fold(Figures { name: "all".to_owned(), ..Figures::default() }, add);
    println!(
        "{:<15}{:>8}{:>7}{:>9}{:>8}{:>7}{:>9}{:>11}{:>9}{:>10}{:>8}{:>9}{:>9}{:>8}",
        "crate",
        "lines",
        "types",
        "one word",
        "public",
        "fns",
        "one word",
        "participle",
        "> 50",
        "doctests",
        "ranges",
        "convert",
        "modules",
        "cyclic",
    );
    for it in all.iter().chain([&total]) {
        println!(
            "{:<15}{:>8}{:>7}{:>9}{:>8}{:>7}{:>9}{:>11}{:>9}{:>10}{:>8}{:>9}{:>9}{:>8}",
            it.name,
            it.lines,
            it.types,
            percent(it.one_word_types, it.types),
            it.public_types,
            it.functions,
            percent(it.one_word_functions, it.functions),
            percent(it.participles, it.functions),
            it.long_functions,
            it.doctests,
            it.silent_ranges,
            it.silent_conversions,
            it.modules,
            it.cyclic,
        );
    }
    let share = percent(shared, total.types);
    println!("\ntype definitions that share their name with another: {shared} ({share})");
    if let Some(lines) = total.lines.checked_div(total.doctests) {
        println!("lines per doctest: {lines}");
    }
    println!("`get(range).unwrap_or_default()`: {}", total.silent_ranges);
    println!("`try_from(..).unwrap_or(..)`: {}", total.silent_conversions);
}

fn list_long_functions(crates: &[Krate]) {
    println!("\nfunctions of more than {LONG} lines:");
    for it in crates.iter().flat_map(|it| source::definitions(it).functions) {
        if it.lines > LONG {
            println!("  {} {} ({} lines)", it.place, it.name, it.lines);
        }
    }
}

fn list_shared_names(crates: &[Krate]) {
    println!("\npublic types of one crate that share a name:");
    for krate in crates {
        for it in source::definitions(krate).shared_public_names() {
            println!("  {} {}", it.name, it.place);
        }
    }
}

fn add(mut total: Figures, it: &Figures) -> Figures {
    total.lines += it.lines;
    total.types += it.types;
    total.one_word_types += it.one_word_types;
    total.public_types += it.public_types;
    total.functions += it.functions;
    total.one_word_functions += it.one_word_functions;
    total.participles += it.participles;
    total.long_functions += it.long_functions;
    total.doctests += it.doctests;
    total.silent_ranges += it.silent_ranges;
    total.silent_conversions += it.silent_conversions;
    total.modules += it.modules;
    total.cyclic += it.cyclic;
    total
}

fn percent(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let tenths = part * 1000 / whole;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted() {
        assert!(is_one_word("open") && is_one_word("_open") && !is_one_word("open_store"));
        assert!(is_one_word_type("Tool") && !is_one_word_type("ToolCall"));
        assert!(is_bare_participle("ended") && is_bare_participle("held"));
        assert!(!is_bare_participle("feed") && !is_bare_participle("is_ended"));
    }

    #[test]
    fn doctests_are_code_blocks_that_run() {
        let text =
            "/// ```\n/// a\n/// ```\nfn f() {}\n//! ```text\n//! ```\n/// ```no_run\n/// ```\n";
        assert_eq!(count_doctests(text), 2);
        assert_eq!(count_doctests("let it = \"```\";"), 0);
    }

    #[test]
    fn silent_fallbacks_are_counted() {
        assert_eq!(
            count_silent_ranges("a.get(f(1)..).unwrap_or_default()+b.get(i).unwrap_or_default()"),
            1
        );
        assert_eq!(count_silent_ranges("a.get(..n).unwrap_or(\"\")"), 1);
        assert_eq!(count_silent_conversions("u64::try_from(a.len()).unwrap_or(0)"), 1);
        assert_eq!(count_silent_conversions("u64::try_from(a)?"), 0);
    }
}
