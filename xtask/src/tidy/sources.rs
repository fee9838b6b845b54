//! Rules about source files.

use super::{files, library_crates, read, report};

const MAX_LINES: usize = 800;

#[test]
fn file_names_say_what_is_inside() {
    let bad = files("", &["rs"]).into_iter().filter_map(|path| {
        let name = path.rsplit('/').next().unwrap();
        match name {
            "mod.rs" => Some(format!("{path}: write `foo.rs` and `foo/` instead of `mod.rs`")),
            "utils.rs" | "helpers.rs" | "common.rs" => {
                Some(format!("{path}: name the file after what it does"))
            }
            _ => None,
        }
    });
    report(&bad.collect::<Vec<_>>());
}

#[test]
fn files_stay_short_enough_to_read() {
    let long = files("crates", &["rs"]).into_iter().filter_map(|path| {
        let lines = read(&path).lines().count();
        (lines > MAX_LINES).then(|| format!("{path}: {lines} lines, at most {MAX_LINES}"))
    });
    report(&long.collect::<Vec<_>>());
}

#[test]
fn library_sources_have_no_unsafe() {
    let mut problems = Vec::new();
    for krate in library_crates() {
        for path in files(&format!("{krate}/src"), &["rs"]) {
            for (at, line) in (1..).zip(read(&path).lines()) {
                if is_unsafe(line) {
                    problems.push(format!("{path}:{at}: unsafe code"));
                }
            }
        }
    }
    report(&problems);
}

#[test]
fn text_has_no_stray_whitespace() {
    let problems: Vec<String> = files("", &["rs", "md", "toml"])
        .iter()
        .flat_map(|path| {
            stray_whitespace(&read(path)).map(|it| format!("{path}:{it}")).collect::<Vec<_>>()
        })
        .collect();
    report(&problems);
}

/// Whether the line has the keyword `unsafe` where code can have it. A second net below the lint,
/// which a crate without `[lints]` would not have.
fn is_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap();
    code.match_indices("unsafe").any(|(at, word)| {
        let (before, rest) = code.split_at(at);
        let whole = !before.ends_with(|it: char| it.is_alphanumeric() || "_\"`".contains(it));
        let next = rest.strip_prefix(word).unwrap().trim_start();
        let starts = ["{", "(", "fn ", "impl", "trait ", "extern "];
        whole && (next.is_empty() || starts.iter().any(|it| next.starts_with(it)))
    })
}

/// `line: problem` for every line that ends in white space or in a carriage return.
fn stray_whitespace(text: &str) -> impl Iterator<Item = String> {
    (1..).zip(text.split('\n')).filter_map(|(at, line)| {
        if line.ends_with('\r') {
            Some(format!("{at}: CRLF line end"))
        } else if line.ends_with(char::is_whitespace) {
            Some(format!("{at}: white space at the end of the line"))
        } else {
            None
        }
    })
}

#[test]
fn unsafe_is_found_in_code_only() {
    #[track_caller]
    fn check(line: &str, expect: bool) {
        assert_eq!(is_unsafe(line), expect, "{line}");
    }
    check("unsafe { read(p) }", true);
    check("    let it = unsafe { *p };", true);
    check("pub unsafe fn f() {}", true);
    check("unsafe impl Send for T {}", true);
    check("#[unsafe(no_mangle)]", true);
    check("    unsafe", true);
    check("#![forbid(unsafe_code)]", false);
    check("// unsafe { }", false);
    check("/// An unsafe word in prose.", false);
    check("let it = \"unsafe { }\";", false);
    check("not_unsafe(1)", false);
}

#[test]
fn stray_whitespace_is_found_with_its_line() {
    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        assert_eq!(stray_whitespace(text).collect::<Vec<_>>(), expect);
    }
    check("a\n\nb\n", &[]);
    check("a\nb \n", &["2: white space at the end of the line"]);
    check("a\t", &["1: white space at the end of the line"]);
    check("a\r\nb\n", &["1: CRLF line end"]);
}
