use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::Patcher;
use crate::FilesOptions;

struct Fixture {
    dir: tempfile::TempDir,
    patcher: Patcher,
}

fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("src")).unwrap();
    fs::write(dir.path().join("src/a.txt"), "one\ntwo\nthree\nfour\n").unwrap();
    fs::write(dir.path().join("b.txt"), "b\n").unwrap();
    fs::write(dir.path().join("agent.toml"), "x\n").unwrap();
    fs::write(dir.path().join(".env"), "KEY=1\n").unwrap();
    symlink("src", dir.path().join("link")).unwrap();
    symlink("src/a.txt", dir.path().join("a-link")).unwrap();
    let options = FilesOptions::new(dir.path()).unwrap();
    let options = options.protect(dir.path().join("agent.toml")).unwrap();
    let patcher = Patcher { options, writable: vec![PathBuf::new()] };
    Fixture { dir, patcher }
}

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch")
}

fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap()
}

#[track_caller]
fn check_update(before: &str, hunks: &str, after: &str) {
    let fixture = fixture();
    fs::write(fixture.dir.path().join("b.txt"), before).unwrap();
    let text = patch(&format!("*** Update File: b.txt\n{hunks}"));
    fixture.patcher.apply(&text).unwrap();
    assert_eq!(read(fixture.dir.path(), "b.txt"), after);
    // A call that is repeated changes nothing.
    let again = fixture.patcher.apply(&text).unwrap();
    assert_eq!(read(fixture.dir.path(), "b.txt"), after);
    assert_eq!(again, "has this change already: b.txt\n");
}

#[test]
fn hunks_change_a_file_once() {
    check_update("a\nb\nc\n", "@@\n a\n-b\n+B\n c", "a\nB\nc\n");
    check_update("a\nb\nc", "@@\n b\n-c\n+d", "a\nb\nd");
    check_update("x\na\nx\nb\n", "@@ b\n+c", "x\na\nx\nb\nc\n");
    check_update("f\n  a\ng\n  a\n", "@@ g\n-  a\n+  b", "f\n  a\ng\n  b\n");
    check_update("a\nb\na\nb\n", "@@\n-a\n+1\n@@\n-a\n+2", "1\nb\n2\nb\n");
    check_update("a\na\n", "@@\n-a\n+z\n*** End of File", "a\nz\n");
    check_update("a  \nb\n", "@@\n a\n-b\n+c", "a  \nc\n");
    check_update("a\r\nb\r\n", "@@\n-b\n+c", "a\r\nc\r\n");
    check_update("a\n\nb\n", "@@\n a\n\n-b\n+c", "a\n\nc\n");
}

/// Nothing in the file shows that lines were removed, unless the patch names a line next to them.
#[test]
fn a_removal_without_other_lines_is_refused_when_it_is_repeated() {
    let fixture = fixture();
    let text = patch("*** Update File: src/a.txt\n-two");
    fixture.patcher.apply(&text).unwrap();
    let refused = fixture.patcher.apply(&text).unwrap_err().to_string();
    assert!(refused.contains("place with the lines"), "{refused}");
    assert_eq!(read(fixture.dir.path(), "src/a.txt"), "one\nthree\nfour\n");
}

#[test]
fn files_are_added_deleted_and_moved() {
    let fixture = fixture();
    let body = "*** Add File: new/c.txt\n+c\n+d\n*** Delete File: b.txt\n*** Update File: src/a.txt\n*** Move to: src/z.txt\n@@\n-one\n+1";
    let said = fixture.patcher.apply(&patch(body)).unwrap();
    assert_eq!(said, "added new/c.txt\ndeleted b.txt\nadded src/z.txt\ndeleted src/a.txt\n");
    let dir = fixture.dir.path();
    assert_eq!(read(dir, "new/c.txt"), "c\nd\n");
    assert_eq!(read(dir, "src/z.txt"), "1\ntwo\nthree\nfour\n");
    assert!(!dir.join("b.txt").exists() && !dir.join("src/a.txt").exists());
}

#[test]
fn the_preview_is_a_diff() {
    let fixture = fixture();
    let shown = fixture.patcher.preview(&patch("*** Update File: b.txt\n-b\n+c")).unwrap();
    assert_eq!(shown.text, "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+c\n");
}

#[track_caller]
fn check_refused(body: &str, reason: &str) {
    let fixture = fixture();
    let said = fixture.patcher.apply(body).unwrap_err().to_string();
    assert!(said.contains(reason), "{said}");
    let dir = fixture.dir.path();
    assert_eq!(read(dir, "src/a.txt"), "one\ntwo\nthree\nfour\n");
    assert_eq!((read(dir, "b.txt"), read(dir, "agent.toml")), ("b\n".to_owned(), "x\n".to_owned()));
    assert!(!dir.join("c.txt").exists());
}

#[test]
fn a_patch_that_cannot_be_applied_changes_nothing() {
    let add = "*** Add File: c.txt\n+c\n";
    check_refused("junk", "no lines between");
    check_refused("*** Begin Patch\n*** Add File: c.txt\n+c", "must begin with");
    check_refused(&patch("junk"), "does not belong there");
    check_refused(&patch("*** Add File: c.txt\nc"), "does not belong there");
    check_refused(
        &patch(&format!("{add}*** Update File: b.txt\n-nothing")),
        "place with the lines",
    );
    check_refused(&patch(&format!("{add}*** Update File: b.txt\n@@ nothing\n-b")), "follows `@@`");
    check_refused(&patch(&format!("{add}*** Update File: b.txt")), "has no lines");
    check_refused(&patch(&format!("{add}*** Update File: nothing.txt\n-b")), "does not exist");
    check_refused(&patch(&format!("{add}*** Delete File: nothing.txt")), "does not exist");
    check_refused(&patch(&format!("{add}*** Add File: b.txt\n+c")), "is there already");
    check_refused(
        &patch(&format!("{add}*** Update File: src/a.txt\n*** Move to: b.txt\n-one")),
        "is there already",
    );
    check_refused(&patch(&format!("{add}*** Delete File: ./c.txt")), "twice");
}

#[test]
fn a_patch_stays_in_its_place() {
    let add = "*** Add File: c.txt\n+c\n";
    let refused = [
        ("../out.txt", "not a path below"),
        ("/tmp/out.txt", "not a path below"),
        ("src/../../out.txt", "not a path below"),
        (".git/hooks/pre-commit", "belongs to git"),
        ("src/.GIT/config", "belongs to git"),
        (".haft/gate", "belongs to git"),
        (".env", "secrets"),
        ("src/.env.local", "secrets"),
        ("link/new.txt", "leads through one"),
        ("a-link", "is a link"),
    ];
    for (path, reason) in refused {
        check_refused(&patch(&format!("{add}*** Add File: {path}\n+x")), reason);
        check_refused(&patch(&format!("{add}*** Update File: {path}\n-one\n+x")), reason);
        check_refused(&patch(&format!("{add}*** Delete File: {path}")), reason);
        check_refused(
            &patch(&format!("{add}*** Update File: b.txt\n*** Move to: {path}\n-b\n+x")),
            reason,
        );
    }
    check_refused(
        &patch(&format!("{add}*** Update File: agent.toml\n-x\n+y")),
        "belongs to the application",
    );
    let mut narrow = fixture();
    narrow.patcher.writable = vec![PathBuf::from("src")];
    let said = narrow.patcher.apply(&patch("*** Update File: b.txt\n-b")).unwrap_err().to_string();
    assert!(said.contains("not in a folder that you may write"), "{said}");
    narrow.patcher.apply(&patch("*** Update File: src/a.txt\n-one")).unwrap();
}
