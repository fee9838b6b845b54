use std::fs;
use std::num::NonZeroU32;
use std::sync::Arc;

use haft::artifacts::ArtifactKind;
use haft::media::MediaKind;
use haft::records::ToolResults;
use haft::stores::MemorySpoolStore;
use haft::tools::Spooler;
use haft::tools::ToolOutput;
use haft::tools::{self, FilesOptions};
use haft::trust::TrustTier;
use serde_json::json;
use tempfile::TempDir;

use super::Bench;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn bench(folder: &TempDir) -> Bench {
    Bench::new(tools::files(FilesOptions::new(folder.path()).unwrap()))
}

#[tokio::test]
async fn small_text_is_returned_as_it_is() {
    let folder = folder(&[("a.txt", "héllo\r\n"), ("sub/b", "x"), ("empty", "")]);
    let files = bench(&folder);
    for (path, expect) in [("a.txt", "héllo\r\n"), ("./sub/./b", "x"), ("empty", "")] {
        assert_eq!(files.text("read_file", json!({"path": path})).await, expect);
    }
    files.fails("read_file", json!({"path": "c"}), "there is no file `c`; `list_files`").await;
    files.fails("read_file", json!({"path": "sub"}), "is a folder; `list_files` tells").await;
    files.fails("read_file", json!({"path": "a.txt/b"}), "not a folder").await;
}

/// From the file through the spool to the record, with the kind of its name.
#[tokio::test]
async fn large_files_become_artifacts_of_their_format() {
    let long = "[1,\n".to_owned() + &"2,\n".repeat(200_000) + "3]";
    let spooler = Spooler::new(Arc::new(MemorySpoolStore::new()));
    for (name, kind) in [
        ("a.json", ArtifactKind::JSON),
        ("a.JSONL", ArtifactKind::JSONL),
        ("a.md", ArtifactKind::MARKDOWN),
        ("a.tsv", ArtifactKind::CSV),
        ("a.yml", ArtifactKind::YAML),
        ("a.xml", ArtifactKind::XML),
        ("a.rs", ArtifactKind::TEXT),
        ("a", ArtifactKind::TEXT),
    ] {
        let folder = folder(&[(name, &long)]);
        let files = bench(&folder);
        let args = json!({"path": name}).to_string();
        let done = files.tool("read_file").executor(&files.ctx).call(args.as_str()).await;
        let call = spooler.complete_call("turn-1", done.to_requested(NonZeroU32::MIN), done).await;
        let Some(ToolResults::Artifacts(artifacts)) = &call.results else { panic!("{call:?}") };
        assert_eq!(*artifacts[0].kind(), kind, "{name}");
        assert_eq!(artifacts[0].reader().byte_length(), long.len() as u64);
        assert!(!artifacts[0].label().is_trusted());
    }
}

/// The spool takes text of any size. Media are sent as a whole, and so they are bounded.
#[tokio::test]
async fn only_media_and_limits_of_the_application_bound_a_file() {
    const LENGTH: u64 = 5 << 30;
    let folder = folder(&[("log", &"x\n".repeat(8192)), ("film.png", "")]);
    fs::write(folder.path().join("film.png"), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
    for name in ["log", "film.png"] {
        let path = folder.path().join(name);
        fs::File::options().write(true).open(path).unwrap().set_len(LENGTH).unwrap();
    }
    let files = bench(&folder);
    let log = files.output("read_file", json!({"path": "log"})).await;
    assert!(matches!(log, Ok(ToolOutput::Artifacts(_))), "{log:?}");
    let refused = "has more than 268435456 bytes, too many to be shown as a whole";
    files.fails("read_file", json!({"path": "film.png"}), refused).await;
    let limited = FilesOptions::new(folder.path()).unwrap().max_bytes(1 << 20);
    let files = Bench::new(tools::files(limited));
    let refused = "has more than 1048576 bytes; `search_files` finds lines in it";
    files.fails("read_file", json!({"path": "log"}), refused).await;
}

#[tokio::test]
async fn what_is_not_text_is_shown_or_refused() {
    let folder = folder(&[("bad", "a\0b")]);
    fs::write(folder.path().join("latin"), b"caf\xe9").unwrap();
    fs::write(folder.path().join("p.txt"), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
    let files = bench(&folder);
    files.fails("read_file", json!({"path": "bad"}), "is not text (3 bytes)").await;
    let latin = files.output("read_file", json!({"path": "latin"})).await;
    assert!(matches!(latin, Ok(ToolOutput::Artifacts(_))), "{latin:?}");
    let output = files.output("read_file", json!({"path": "p.txt"})).await.unwrap();
    let ToolOutput::Media(media) = output else { panic!("{output:?}") };
    assert_eq!((media[0].kind(), media[0].mime_type()), (MediaKind::Image, "image/png"));
    assert_eq!(media[0].trust_tier(), TrustTier::ThirdPartyPublic);
    assert_eq!(media[0].bytes(100).await.unwrap().len(), 10);
}

#[tokio::test]
async fn trust_is_what_the_application_says_of_the_folder() {
    let large = "x\n".repeat(10_000);
    let folder = folder(&[("small", "x"), ("large", &large)]);
    let spooler = Spooler::new(Arc::new(MemorySpoolStore::new()));
    for tier in [TrustTier::FirstParty, TrustTier::ThirdPartyPrivate, TrustTier::ThirdPartyPublic] {
        let options = FilesOptions::new(folder.path()).unwrap().trust(tier);
        let files = Bench::new(tools::files(options));
        for (tool, args) in [
            ("read_file", json!({"path": "small"})),
            ("read_file", json!({"path": "large"})),
            ("list_files", json!({})),
            ("find_files", json!({"pattern": "*"})),
            ("search_files", json!({"pattern": "x"})),
            ("search_files", json!({"pattern": "x", "limit": 1000})),
        ] {
            let shown = format!("{tool} {args} {tier:?}");
            let done = files.tool(tool).executor(&files.ctx).call(args.to_string().as_str()).await;
            let call =
                spooler.complete_call("turn-1", done.to_requested(NonZeroU32::MIN), done).await;
            let label = match call.results.as_ref().unwrap() {
                ToolResults::Artifacts(artifacts) => artifacts[0].label(),
                _ => call.label(),
            };
            assert_eq!(label, tier, "{shown}");
        }
        files.fails("read_file", json!({"path": "none"}), "there is no file").await;
    }
}

#[tokio::test]
async fn listings() {
    let folder = folder(&[("b.txt", "12345"), ("a/c.txt", "1"), ("a/d/e", ""), (".hidden", "")]);
    let files = bench(&folder);
    insta::assert_snapshot!(files.text("list_files", json!({})).await, @r#"{"entries":[{"path":"a","kind":"folder"},{"path":"b.txt","kind":"file","bytes":5}],"truncated":false}"#);
    let args = json!({"path": "a", "depth": 2});
    insta::assert_snapshot!(files.text("list_files", args).await, @r#"{"entries":[{"path":"a/c.txt","kind":"file","bytes":1},{"path":"a/d","kind":"folder"},{"path":"a/d/e","kind":"file","bytes":0}],"truncated":false}"#);
    let args = json!({"hidden": true, "limit": 1, "skip": 1});
    insta::assert_snapshot!(files.text("list_files", args).await, @r#"{"entries":[{"path":"a","kind":"folder"}],"truncated":true}"#);
    files.fails("list_files", json!({"path": "x"}), "there is no folder `x`").await;
    files.fails("list_files", json!({"path": "b.txt"}), "not a folder").await;
}

#[tokio::test]
async fn finding() {
    let folder = folder(&[
        ("src/main.rs", ""),
        ("src/deep/lib.rs", ""),
        ("src/deep/lib.toml", ""),
        ("README.md", ""),
        (".git/x.rs", ""),
    ]);
    let files = bench(&folder);
    for (args, expect) in [
        (json!({"pattern": "*.rs"}), json!(["src/deep/lib.rs", "src/main.rs"])),
        (json!({"pattern": "src/*.rs"}), json!(["src/main.rs"])),
        (
            json!({"pattern": "src/**/*.{rs,toml}", "limit": 2}),
            json!(["src/deep/lib.rs", "src/deep/lib.toml"]),
        ),
        (
            json!({"pattern": "deep/*", "path": "src"}),
            json!(["src/deep/lib.rs", "src/deep/lib.toml"]),
        ),
        (json!({"pattern": "*.rs", "path": "src/deep/"}), json!(["src/deep/lib.rs"])),
        (json!({"pattern": "x.rs"}), json!([])),
        (json!({"pattern": "x.rs", "hidden": true}), json!([".git/x.rs"])),
    ] {
        let shown = args.to_string();
        assert_eq!(files.json("find_files", args).await["files"], expect, "{shown}");
    }
    files.fails("find_files", json!({"pattern": "[a"}), "is not a pattern of paths").await;
    files
        .fails("find_files", json!({"pattern": "*", "path": "nowhere"}), "there is no folder")
        .await;
}

#[tokio::test]
async fn searching() {
    let folder = folder(&[
        ("a.rs", "fn one() {}\r\nfn two() {}\r\nlet x;\r\n"),
        ("b/c.md", "no\nFN three\n"),
        ("b/d.bin", "fn\0four"),
    ]);
    let files = bench(&folder);
    insta::assert_snapshot!(files.text("search_files", json!({"pattern": "^fn t"})).await, @r"
    a.rs:2: fn two() {}
    [1 matches in 2 files; 1 were passed over as not text]
    ");
    let args = json!({"pattern": "fn .*\\w$", "ignore_case": true, "files": "*.md"});
    insta::assert_snapshot!(files.text("search_files", args).await, @r"
    b/c.md:2: FN three
    [1 matches in 1 files; 0 were passed over as not text]
    ");
    let args = json!({"pattern": "\\}$", "path": "a.rs", "limit": 1});
    insta::assert_snapshot!(files.text("search_files", args).await, @r"
    a.rs:1: fn one() {}
    [1 matches in 1 files; 0 were passed over as not text]
    [not everything was searched: there are more matches; narrow the pattern or the files, or raise `limit`]
    ");
    files.fails("search_files", json!({"pattern": "("}), "the pattern cannot be used").await;
    files
        .fails("search_files", json!({"pattern": "a", "path": "zz"}), "there is no file `zz`")
        .await;
}

/// A line of many megabytes is neither kept nor shown whole.
#[tokio::test]
async fn long_lines_are_cut() {
    let folder = folder(&[("long", &("ab".repeat(2_000_000) + "\nend\n"))]);
    let files = bench(&folder);
    let found = files.text("search_files", json!({"pattern": "ab|end"})).await;
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines[0].starts_with("long:1: abab") && lines[0].ends_with("ab…"), "{}", lines[0]);
    assert_eq!((lines[0].chars().count(), lines[1]), (309, "long:2: end"));
}

#[tokio::test]
async fn writing_replaces_all_at_once() {
    let folder = folder(&[("a.txt", "old")]);
    let files = bench(&folder);
    let args = json!({"path": "new/deep/b.txt", "content": "hé"});
    assert_eq!(files.text("write_file", args).await, "wrote 3 bytes to `new/deep/b.txt`");
    assert_eq!(fs::read_to_string(folder.path().join("new/deep/b.txt")).unwrap(), "hé");
    let before = fs::File::open(folder.path().join("a.txt")).unwrap();
    files.text("write_file", json!({"path": "a.txt", "content": "new"})).await;
    assert_eq!(fs::read_to_string(folder.path().join("a.txt")).unwrap(), "new");
    // Whoever had it open still has the old one: it was not written into.
    assert_eq!(std::io::read_to_string(before).unwrap(), "old");
    let args = json!({"path": "a.txt", "content": "x", "if_exists": "refuse"});
    files.fails("write_file", args, "was left as it is").await;
    files.fails("write_file", json!({"path": "new", "content": "x"}), "is a folder").await;
    files.fails("write_file", json!({"path": "new/", "content": "x"}), "is a folder").await;
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing is left behind: {names:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn writing_keeps_permissions() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = folder(&[("run.sh", "old")]);
    let path = folder.path().join("run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    bench(&folder).text("write_file", json!({"path": "run.sh", "content": "new"})).await;
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o750);
}

#[tokio::test]
async fn edits_are_made_all_or_none() {
    let folder = folder(&[("a", "one two two three")]);
    let files = bench(&folder);
    let content = || fs::read_to_string(folder.path().join("a")).unwrap();
    let edit = |find: &str, replace: &str| json!({"find": find, "replace": replace});
    let args = json!({"path": "a", "edits": [edit("one", "1"), edit("four", "4")]});
    files
        .fails("edit_file", args, "nothing was changed: edit 2: its text is not in the file")
        .await;
    let args = json!({"path": "a", "edits": [edit("two", "2")]});
    files.fails("edit_file", args, "is in the file 2 times").await;
    assert_eq!(content(), "one two two three");
    let mut all = edit("two", "2");
    all["all"] = json!(true);
    let args = json!({"path": "a", "edits": [edit("one", "1"), all, edit(" three", "")]});
    assert_eq!(
        files.text("edit_file", args).await,
        "changed 4 places in `a`, which has 5 bytes now"
    );
    assert_eq!(content(), "1 2 2");
}
