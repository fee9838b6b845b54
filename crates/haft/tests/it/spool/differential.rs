//! The same answers as `grep`.

use std::fmt::Write as _;
use std::process::Command;

use haft::spool::{Budget, GrepOptions};

use super::{lines, run, view_of};

/// A file in the manner of a log, from a seed.
fn log(mut seed: u64, count: usize, end: &str) -> String {
    let words = ["error", "warn", "info", "a", "B", "timeout=30", "[x]", "foo.bar", "", "17"];
    let mut text = String::new();
    for _ in 0..count {
        for _ in 0..seed % 5 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let word = words[usize::try_from((seed >> 33) % words.len() as u64).unwrap()];
            write!(text, "{word} ").unwrap();
        }
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(7);
        text.push('\n');
    }
    text + end
}

#[test]
fn matches_are_those_of_grep() {
    let Ok(version) = Command::new("grep").arg("--version").output() else { return };
    assert!(version.status.success());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    // What both read alike: extended patterns without classes that depend on the locale.
    let patterns = [
        "error",
        "^error",
        "17 $",
        "^$",
        "(warn|info) a",
        "o+\\.",
        "[0-9]{2}",
        "timeout=[0-9]+",
        "^[^ ]* B",
        "\\[x\\]",
        "a.*B",
        "x] error|foo",
        "^(a )+",
        "zzz",
        " ",
        ".",
    ];
    // `grep` takes an LF at the end for the end of the last line, not for the start of another.
    for (seed, end) in [(1, "last"), (2, "error 17"), (3, " "), (4, "B")] {
        let content = log(seed, 3000, end);
        std::fs::write(&path, &content).unwrap();
        for pattern in patterns {
            for flag in ["-n", "-in"] {
                let output = Command::new("grep")
                    .env("LC_ALL", "C")
                    .args(["-E", flag, "-e", pattern])
                    .arg(&path)
                    .output()
                    .unwrap();
                let expect = String::from_utf8(output.stdout).unwrap();
                let got = run(async {
                    let budget = Budget::new().lines(lines(10_000)).bytes(1 << 24);
                    let view = view_of(content.as_bytes(), 512, 2048).await.budget(budget);
                    let mut options = GrepOptions::new();
                    options.ignore_case = flag == "-in";
                    view.grep(pattern, options).await.unwrap()
                });
                let mut text = String::new();
                for line in &got.lines {
                    writeln!(text, "{}:{}", line.number + 1, line.text).unwrap();
                }
                assert!(text == expect, "`{pattern}` {flag}, seed {seed}");
            }
        }
    }
}
