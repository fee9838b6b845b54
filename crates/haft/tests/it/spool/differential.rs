//! The same answers as programs that everybody knows.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use haft::artifacts::Budget;
use haft::artifacts::text::{GrepOptions, TextPage, TextView};
use haft_testkit::has_program;
use proptest::prelude::*;

use super::{lines, run, view_of};

/// What a program prints about a file.
fn output<I: AsRef<OsStr>>(
    program: &str,
    args: impl IntoIterator<Item = I>,
    path: &Path,
) -> String {
    let mut command = Command::new(program);
    command.env("LC_ALL", "C.UTF-8").env_remove("RIPGREP_CONFIG_PATH").stdin(Stdio::null());
    let output = command.args(args).arg(path).output().unwrap();
    // A search that finds nothing ends with 1.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{program}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The lines of a page as the programs number and print them. They take an LF at the end for the end of
/// the last line, we for the start of an empty one.
fn numbered(page: &TextPage, content: &[u8]) -> String {
    let end = page.total_lines - u64::from(content.ends_with(b"\n"));
    let shown = page.lines.iter().filter(|line| line.number < end);
    shown.map(|line| format!("{}:{}\n", line.number + 1, line.text)).collect()
}

fn plain(page: &TextPage) -> String {
    page.lines.iter().map(|line| format!("{}\n", line.text)).collect()
}

fn ample() -> Budget {
    Budget::new().lines(lines(1_000_000)).bytes(1 << 30).line_bytes(1 << 30)
}

async fn view(content: &[u8]) -> TextView {
    view_of(content, 64, 256).await.budget(ample())
}

/// Patterns that every program reads alike: extended ones, without classes that depend on the locale.
fn pattern() -> impl Strategy<Value = String> {
    let atoms = ["a", "b", "ab", "é", "1", ".", "[ab]", "[^a]", "[0-9]", "[a-c1]", "\\.", " ", "€"];
    let atom = prop::sample::select(atoms.to_vec()).prop_map(str::to_owned);
    let inner = atom.prop_recursive(3, 12, 3, |inner| {
        let repeat = prop::sample::select(vec!["*", "+", "?", "{2}", "{1,3}", "{0,2}"]);
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            1 => prop::collection::vec(inner.clone(), 1..4)
                .prop_map(|parts| format!("({})", parts.join("|"))),
            1 => (inner, repeat).prop_map(|(inner, times)| format!("({inner}){times}")),
        ]
    });
    let anchored = prop::sample::select(vec![("", ""), ("", ""), ("^", ""), ("", "$"), ("^", "$")]);
    (anchored, inner).prop_map(|((start, end), inner)| format!("{start}({inner}){end}"))
}

/// Texts in which those patterns match now and then.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let pieces =
        ["\n", "\n", "a", "b", "ab", "A", "B", "é", "É", "€", "1", "23", ".", " ", "c", "x"];
    let piece = prop::sample::select(pieces.to_vec());
    prop::collection::vec(piece, 1..400).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(40)))]

    #[test]
    fn matches_are_those_of_grep_and_ripgrep(
        content in text(),
        patterns in prop::collection::vec(pattern(), 4),
        ignore_case in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, &content).unwrap();
        let programs = [("grep", "-E"), ("rg", "--no-heading")];
        let programs: Vec<_> = programs.into_iter().filter(|(it, _)| has_program(it)).collect();
        for pattern in patterns {
            let mut options = GrepOptions::new();
            options.ignore_case = ignore_case;
            let page = run(async { view(&content).await.grep(&pattern, options).await.unwrap() });
            let got = numbered(&page, &content);
            let case = if ignore_case { "-i" } else { "-a" };
            for (program, syntax) in &programs {
                let expect = output(program, [*syntax, "-a", "-n", case, "-e", &pattern], &path);
                prop_assert_eq!(&got, &expect, "{} {} {:?}", program, case, pattern);
            }
        }
    }

    #[test]
    fn lines_around_matches_are_those_of_grep_and_ripgrep(
        content in text(),
        pattern in pattern(),
        (before, after) in (0_u64..4, 0_u64..4),
    ) {
        // Their last line has no LF, so that they number as many lines as we do.
        let content = [&content, &b"end"[..]].concat();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, &content).unwrap();
        let options = GrepOptions::new().context(before, after);
        let page = run(async { view(&content).await.grep(&pattern, options).await.unwrap() });
        let got: Vec<String> = page.lines.iter().map(|line| {
            format!("{}{}{}", line.number + 1, if line.context { '-' } else { ':' }, line.text)
        }).collect();
        let before = format!("-B{before}");
        let after = format!("-A{after}");
        for (program, syntax) in [("grep", "-E"), ("rg", "--no-heading")] {
            if !has_program(program) {
                continue;
            }
            let args = [syntax, "-a", "-n", &before, &after, "-e", &pattern];
            let expect = output(program, args, &path);
            // Between groups of lines they print a line of their own.
            let expect: Vec<&str> = expect.lines().filter(|line| *line != "--").collect();
            prop_assert_eq!(&got, &expect, "{} {:?}", program, pattern);
        }
    }

    #[test]
    fn ranges_are_those_of_sed_head_and_tail(
        content in text(),
        (start, len) in (0_u64..60, 1_u64..60),
    ) {
        // Their last line has no LF, so that they number as many lines as we do.
        let content = [&content, &b"end"[..]].concat();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, &content).unwrap();
        let (cat, head, tail) = run(async {
            let view = view(&content).await;
            let cat = view.cat(start..start + len).await.unwrap();
            (cat, view.head(len).await.unwrap(), view.tail(len).await.unwrap())
        });
        let count = len.to_string();
        let range = format!("{},{}p", start + 1, start + len);
        let asked = [
            ("sed", vec!["-n", &range], plain(&cat)),
            ("head", vec!["-n", &count], plain(&head)),
            ("tail", vec!["-n", &count], plain(&tail)),
        ];
        for (program, args, got) in asked {
            if has_program(program) {
                let expect = output(program, args, &path);
                prop_assert_eq!(got.trim_end_matches('\n'), expect.trim_end_matches('\n'));
            }
        }
    }

    #[test]
    fn counts_are_those_of_wc(content in text()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, &content).unwrap();
        if has_program("wc") {
            let counts = output("wc", ["-l", "-c"], &path);
            let counts: Vec<u64> =
                counts.split_whitespace().take(2).map(|it| it.parse().unwrap()).collect();
            let view = run(view(&content));
            let lines = run(view.count_lines()).unwrap();
            prop_assert_eq!(vec![lines - 1, view.byte_length()], counts);
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_searched_as_ripgrep_does() {
    if !has_program("rg") {
        return;
    }
    let content =
        b"\xff\nvalid\n\xe2\x82 cut\nnul \0 in it\n\xc3\xa9\xff\xc3\nlast \xf0\x9f\x98\x80";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bytes");
    std::fs::write(&path, content).unwrap();
    let mut matched = BTreeSet::new();
    for pattern in [".", "^.$", "^$", r"(?-u)\xff", "é", "[^a]", r"\x00", r"(?-u:^.\x82)", "t$"] {
        let page =
            run(async { view(content).await.grep(pattern, GrepOptions::new()).await.unwrap() });
        let expect = output("rg", ["--no-heading", "-a", "-n", "-e", pattern], &path);
        assert_eq!(numbered(&page, content), expect, "{pattern}");
        matched.extend(page.lines.iter().map(|line| line.number));
    }
    assert_eq!(matched.len(), 6);
}
