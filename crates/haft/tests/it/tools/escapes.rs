//! No path leads out of the folder, however it is written and whatever is in the folder.

use std::fs;
use std::path::Path;

use haft::tools::{self, FilesOptions};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Bench;

const SECRET: &str = "the secret";

/// A folder `root`, and beside it a secret and a folder with one.
fn prison() -> (TempDir, Bench) {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("root");
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::create_dir_all(outer.path().join("outside")).unwrap();
    fs::write(root.join("sub/inside"), "inside").unwrap();
    fs::write(outer.path().join("secret"), SECRET).unwrap();
    fs::write(outer.path().join("outside/secret"), SECRET).unwrap();
    let bench = Bench::new(tools::files(FilesOptions::new(&root).unwrap()));
    (outer, bench)
}

/// Every tool, with this path.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"path": path})),
        ("list_files", json!({"path": path})),
        ("find_files", json!({"path": path, "pattern": "*"})),
        ("search_files", json!({"path": path, "pattern": "secret"})),
        ("write_file", json!({"path": path, "content": "overwritten"})),
        ("edit_file", json!({"path": path, "edits": [{"find": "secret", "replace": "x"}]})),
    ]
}

/// What is outside is as it was.
#[track_caller]
fn intact(outer: &Path) {
    assert_eq!(fs::read_to_string(outer.join("secret")).unwrap(), SECRET);
    assert_eq!(fs::read_to_string(outer.join("outside/secret")).unwrap(), SECRET);
    let mut names: Vec<_> =
        fs::read_dir(outer).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["outside", "root", "secret"]);
    assert_eq!(fs::read_dir(outer.join("outside")).unwrap().count(), 1);
}

#[tokio::test]
async fn paths_that_are_written_as_escapes_are_refused() {
    let (outer, files) = prison();
    let absolute = outer.path().join("secret");
    let long_name = "n".repeat(300);
    let long_path = "n/".repeat(2040) + "n";
    for path in [
        "..",
        "../secret",
        "sub/../../secret",
        "sub/..",
        "./../outside",
        "/etc/passwd",
        "//etc/passwd",
        "/",
        absolute.to_str().unwrap(),
        "sub/\0inside",
        "\0",
        "../secret\0.txt",
        &long_name,
    ] {
        for (tool, args) in calls(path) {
            files.fails(tool, args, "is not a path below the folder").await;
        }
    }
    // Long, and allowed: it is not there, or cannot be.
    for (tool, args) in calls(&long_path) {
        if tool != "write_file" {
            assert!(files.output(tool, args).await.is_err());
        }
    }
    intact(outer.path());
}

#[cfg(unix)]
#[tokio::test]
async fn links_to_the_outside_are_refused() {
    use std::os::unix::fs::symlink;

    let (outer, files) = prison();
    let root = outer.path().join("root");
    symlink(outer.path().join("secret"), root.join("absolute")).unwrap();
    symlink("../secret", root.join("relative")).unwrap();
    symlink(outer.path().join("outside"), root.join("folder")).unwrap();
    symlink("../outside", root.join("sub/folder")).unwrap();
    symlink("relative", root.join("twice")).unwrap();
    symlink("/dev/zero", root.join("zero")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    for path in [
        "absolute",
        "relative",
        "folder",
        "folder/secret",
        "folder/new",
        "sub/folder/secret",
        "sub/folder/new/deep",
        "twice",
        "zero",
        "loop",
    ] {
        for (tool, args) in calls(path) {
            match files.output(tool, args).await {
                Err(error) => assert!(!error.contains(SECRET), "{error}"),
                Ok(output) => panic!("{tool} {path}: {output:?}"),
            }
        }
    }
    // Links that stay inside are followed, and none is written over.
    symlink("inside", root.join("sub/good")).unwrap();
    assert_eq!(files.text("read_file", json!({"path": "sub/good"})).await, "inside");
    files
        .fails("write_file", json!({"path": "sub/good", "content": "x"}), "not written over")
        .await;
    // Walking sees links and does not follow them.
    let found = files.text("search_files", json!({"pattern": "secret"})).await;
    assert!(found.starts_with("[0 matches"), "{found}");
    let found = files.json("find_files", json!({"pattern": "**"})).await;
    assert_eq!(found["files"], json!(["sub/inside"]));
    intact(outer.path());
}

/// A link leads to the inside and to the outside in turn while the tools work.
#[cfg(unix)]
#[test]
fn links_that_come_in_between_are_refused() {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    struct Stop<'s>(&'s AtomicBool);

    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let (outer, files) = prison();
    let root = outer.path().join("root");
    fs::create_dir(root.join("real")).unwrap();
    fs::write(root.join("real/secret"), "harmless").unwrap();
    let turn = |to: &str| {
        symlink(to, root.join("next")).unwrap();
        fs::rename(root.join("next"), root.join("turn")).unwrap();
    };
    turn("real");
    let stop = AtomicBool::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut answered = 0;
    let mut refused = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                turn("../outside");
                turn("real");
            }
        });
        // Also when an assertion fails.
        let _stop = Stop(&stop);
        for round in 0..2000 {
            let mut calls = vec![
                ("read_file", json!({"path": "turn/secret"})),
                ("search_files", json!({"path": "turn", "pattern": "secret"})),
                ("list_files", json!({"path": "turn"})),
                (
                    "edit_file",
                    json!({"path": "turn/secret", "edits": [{"find": "the ", "replace": ""}]}),
                ),
            ];
            if round % 20 == 0 {
                calls.push(("write_file", json!({"path": "turn/written", "content": "x"})));
            }
            for (tool, args) in calls {
                let result = runtime.block_on(files.output(tool, args));
                match &result {
                    Ok(_) => answered += 1,
                    Err(_) => refused += 1,
                }
                let shown = format!("{result:?}");
                assert!(!shown.contains(SECRET) && !shown.contains("1 matches"), "{tool}: {shown}");
            }
        }
    });
    assert!(answered > 0 && refused > 0, "{answered} answered, {refused} refused");
    intact(outer.path());
}

/// Pipes wait for their other end, devices never end.
#[cfg(unix)]
#[tokio::test]
async fn pipes_and_sockets_are_refused_at_once() {
    let (outer, files) = prison();
    let root = outer.path().join("root");
    let made = std::process::Command::new("mkfifo").arg(root.join("pipe")).status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    for path in ["pipe", "socket"] {
        for (tool, args) in calls(path) {
            assert!(files.output(tool, args).await.is_err(), "{tool} {path}");
        }
    }
    files.fails("read_file", json!({"path": "pipe"}), "neither a file nor a folder").await;
    let found = files.text("search_files", json!({"pattern": "inside"})).await;
    assert!(found.starts_with("sub/inside:1: inside\n"), "{found}");
    let found = files.json("list_files", json!({})).await;
    assert_eq!(found["entries"][0], json!({"path": "pipe", "kind": "other"}));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(96)))]

    /// Any path: an answer without what is outside, or a failure.
    #[test]
    fn any_path_stays_inside(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "..", ".", "", "sub", "inside", "secret", "outside", "root", "out", "~", "\0", "a b", "ü",
                "%2e%2e", "..\\", "...", "C:", "\u{202e}",
            ]),
            0..6,
        ),
        prefix in prop::sample::select(vec!["", "/", "./", "../", "//", "file:///", "\\\\?\\"]),
        tail in any::<String>(),
    ) {
        let (outer, files) = prison();
        #[cfg(unix)]
        std::os::unix::fs::symlink("../outside", outer.path().join("root/out")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for path in [format!("{prefix}{}", parts.join("/")), format!("{prefix}{}/{tail}", parts.join("/"))] {
            for (tool, args) in calls(&path) {
                let shown = match runtime.block_on(files.output(tool, args)) {
                    Ok(output) => format!("{output:?}"),
                    Err(error) => error,
                };
                prop_assert!(!shown.contains(SECRET) && !shown.contains("unexpectedly"), "{path:?}: {shown}");
            }
        }
        intact(outer.path());
    }
}
