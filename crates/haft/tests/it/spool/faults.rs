//! What is left after a kill, on a full disk and on one that cannot be written to.
//!
//! These need a process of their own: the test starts this binary again, with the name of one of the
//! `child_` tests, which do nothing unless they are started that way.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Child, Command, Output, Stdio};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use haft::ToolFailure;
use haft::artifacts::text::{GrepOptions, TextView};
use haft::stores::DirSpoolStore;
use haft::stores::{SpoolError, SpoolKey, SpoolPayload, SpoolStore};
use haft::tools::ByteStream;

use super::{read_all, run, stream};

/// Where a child works, the first version it writes, and the version whose write it never ends.
const FOLDER: &str = "HAFT_TEST_SPOOL_FOLDER";
const FIRST: &str = "HAFT_TEST_SPOOL_FIRST";
const ENDLESS: &str = "HAFT_TEST_SPOOL_ENDLESS";

/// This binary once more, behind `wrapper`, running one test.
fn again(wrapper: &[&str], test: &str, folder: &Path) -> Command {
    let this = std::env::current_exe().unwrap();
    let mut words = wrapper.iter().copied().chain([this.to_str().unwrap()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["--exact", "--nocapture", "--test-threads=1"]);
    command.arg(format!("spool::faults::{test}")).env(FOLDER, folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// The folder, if this process was started to work in it.
fn child_folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

fn key(version: u64) -> SpoolKey {
    // The second one does not fit into a file name.
    if version.is_multiple_of(2) { "short".into() } else { "long/".repeat(99).into() }
}

/// Content of some hundred kilobytes by which its version is known.
fn content(version: u64) -> Vec<u8> {
    let lines = 10_000 + version % 7 * 4_000;
    (0..lines).flat_map(|line| format!("{version} {line}\n").into_bytes()).collect()
}

/// The version of what is stored under a key, which must be whole.
fn stored_version(store: &DirSpoolStore, key: SpoolKey) -> Option<u64> {
    let reader = run(store.read(key)).unwrap()?;
    let found = run(read_all(&reader));
    let text = std::str::from_utf8(&found).unwrap();
    let version = text.split(' ').next().unwrap().parse().unwrap();
    assert!(found == content(version), "version {version} is not whole: {} bytes", found.len());
    let count = u64::try_from(text.lines().count()).unwrap();
    let view = TextView::new(reader);
    assert_eq!(run(view.count_lines()).unwrap(), count + 1);
    assert_eq!(run(view.cat(count - 1..count)).unwrap().text(), text.lines().last().unwrap());
    let wanted = format!("^{version} {}$", count / 2);
    let page = run(view.grep(&wanted, GrepOptions::new())).unwrap();
    assert_eq!(page.lines.iter().map(|line| line.number).collect::<Vec<_>>(), [count / 2]);
    Some(version)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn child_streams_until_it_is_killed() {
    let Some(folder) = child_folder() else { return };
    let store = DirSpoolStore::open(folder).unwrap();
    let number = |name| std::env::var_os(name).and_then(|it| it.to_str()?.parse::<u64>().ok());
    let first = number(FIRST).unwrap();
    let endless = number(ENDLESS);
    for version in first..u64::MAX {
        println!("step: begins");
        let payload = if endless == Some(version) {
            SpoolPayload::Stream(ByteStream::new(StalledStream { left: 60 + version % 10 }))
        } else {
            stream(&content(version), 10_000)
        };
        run(store.write(key(version), payload)).unwrap();
        println!("step: wrote {version}");
    }
}

/// Pieces of 10 kB, and then neither another one nor an end. Sixty are more than a store takes before it writes.
struct StalledStream {
    left: u64,
}

impl Stream for StalledStream {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(left) = self.left.checked_sub(1) else {
            println!("step: stalls");
            return Poll::Pending;
        };
        self.left = left;
        Poll::Ready(Some(Ok(Bytes::from(vec![b'.'; 10_000]))))
    }
}

/// Waits until a child has taken so many steps, kills it, and gives the last version it said it wrote.
fn kill_after(mut child: Child, steps: u64) -> Option<u64> {
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    let mut seen = 0;
    while seen < steps {
        let mut line = String::new();
        assert!(output.read_line(&mut line).unwrap() > 0, "the child ended by itself: {said}");
        seen += u64::from(line.contains("step: "));
        said += &line;
    }
    child.kill().unwrap();
    output.read_to_string(&mut said).unwrap();
    assert!(!child.wait().unwrap().success());
    let mut wrote = said.lines().filter_map(|line| line.split_once("step: wrote "));
    wrote.next_back().and_then(|(_, version)| version.parse().ok())
}

#[test]
fn a_kill_leaves_the_old_content_or_the_new() {
    let folder = tempfile::tempdir().unwrap();
    let store = DirSpoolStore::open(folder.path()).unwrap();
    let mut next = 0;
    for round in 0..24_u64 {
        let mut command = again(&[], "child_streams_until_it_is_killed", folder.path());
        let command = command.env(FIRST, next.to_string());
        // Every other child is killed in the middle of a write, the others wherever they are after some steps.
        let is_in_write = round % 2 == 0;
        let whole = round / 2 % 3;
        let wrote = if is_in_write {
            let child = command.env(ENDLESS, (next + whole).to_string()).spawn().unwrap();
            kill_after(child, 2 * whole + 2)
        } else {
            kill_after(command.spawn().unwrap(), round / 2 % 5)
        };
        let done = wrote.map_or(next, |version| version + 1);

        let is_unfinished = names(folder.path()).iter().any(|name| name.ends_with(".tmp"));
        assert!(is_unfinished || !is_in_write, "the write of round {round} was not hit");
        // What was said to be written is there; what was being written may be there as well.
        let found: Vec<Option<u64>> =
            [0, 1].map(|parity| stored_version(&store, key(parity))).to_vec();
        let newest = found.iter().flatten().max().map_or(0, |version| version + 1);
        assert!(newest == done || newest == done + 1, "{newest} after {done}");
        for (parity, version) in (0..).zip(&found) {
            let expect = (0..newest).rev().find(|version| version % 2 == parity);
            assert_eq!(*version, expect);
        }
        run(store.remove_orphans()).unwrap();
        assert_eq!(run(store.remove_orphans()).unwrap(), 0);
        let keys = found.iter().flatten().count();
        assert_eq!(run(store.list()).unwrap().len(), keys);
        let left = names(folder.path());
        assert_eq!(left.iter().filter(|name| name.ends_with(".spool")).count(), keys);
        assert!(left.iter().all(|name| !name.ends_with(".tmp")), "{left:?}");
        next = newest;
    }
    assert!(next > 0, "no write got through");
}

/// What a child said; nothing if its wrapper does not work here.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn child_meets_a_limit() {
    let Some(folder) = child_folder() else { return };
    let store = DirSpoolStore::open(&folder).unwrap();
    run(store.write("k".into(), "old\n".into())).unwrap();
    for piece in [1_000, 100_000, 10_000_000] {
        let refused = run(store.write("k".into(), stream(&content(1), piece))).unwrap_err();
        assert!(matches!(refused, SpoolError::Io { doing: "write", .. }), "{refused}");
        assert_eq!(names(&folder), ["k-k.spool"]);
        let reader = run(store.read("k".into())).unwrap().unwrap();
        assert_eq!(run(read_all(&reader)), b"old\n");
    }
    println!("the limit was met");
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_the_old_content_stays() {
    let folder = tempfile::tempdir().unwrap();
    let limited = ["sh", "-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"];
    let output = again(&limited, "child_meets_a_limit", folder.path()).output().unwrap();
    assert!(said(&output).contains("the limit was met"));
}

#[test]
fn child_fills_a_disk() {
    let Some(folder) = child_folder() else { return };
    if !mount(&["-t", "tmpfs", "-o", "size=2m", "tmpfs"], &folder) {
        println!("cannot mount");
        return;
    }
    let store = DirSpoolStore::open(&folder).unwrap();
    let mut versions = 0;
    let refused = loop {
        match run(store.write(versions.to_string().into(), stream(&content(versions), 50_000))) {
            Ok(_) => versions += 1,
            Err(error) => break error,
        }
    };
    let SpoolError::Io { source, doing: "write", .. } = refused else { panic!("{refused}") };
    assert_eq!(source.kind(), ErrorKind::StorageFull);
    assert!(versions > 2);
    // What was there is there, as a whole; nothing is left of what was refused; removing makes room.
    let check = |from| {
        for version in from..versions {
            assert_eq!(stored_version(&store, version.to_string().into()), Some(version));
        }
    };
    check(0);
    assert_eq!(run(store.remove_orphans()).unwrap(), 0);
    assert_eq!(run(store.list()).unwrap().len(), usize::try_from(versions).unwrap());
    run(store.write("0".into(), stream(&content(6), 50_000))).unwrap_err();
    check(0);
    assert!(run(store.delete("0".into())).unwrap());
    run(store.write("new".into(), stream(&content(0), 50_000))).unwrap();
    check(1);

    assert!(mount(&["-o", "remount,bind,ro"], &folder));
    for name in ["new", "other"] {
        let refused = run(store.write(name.into(), "text".into())).unwrap_err();
        let SpoolError::Io { source, .. } = refused else { panic!("{refused}") };
        assert_eq!(source.kind(), ErrorKind::ReadOnlyFilesystem);
    }
    run(store.delete("new".into())).unwrap_err();
    assert_eq!(run(store.remove_orphans()).unwrap(), 0);
    assert_eq!(stored_version(&store, "new".into()), Some(0));
    check(1);
    println!("the disk was full, then read-only");
}

fn mount(args: &[&str], folder: &Path) -> bool {
    Command::new("mount").args(args).arg(folder).status().is_ok_and(|status| status.success())
}

#[test]
fn a_full_disk_and_a_read_only_one_are_errors_and_the_content_stays() {
    let folder = tempfile::tempdir().unwrap();
    // The mount is seen by the child alone and goes with it.
    let wrapper = ["unshare", "--user", "--map-root-user", "--mount"];
    let works = Command::new(wrapper[0]).args(&wrapper[1..]).arg("true").status();
    if !works.is_ok_and(|status| status.success()) {
        haft_testkit::skip!("kernel:user-namespaces", "`unshare` is not allowed here");
    }
    let output = again(&wrapper, "child_fills_a_disk", folder.path()).output().unwrap();
    let text = said(&output);
    if text.contains("cannot mount") {
        haft_testkit::skip!("kernel:user-namespaces", "`mount` is not allowed here");
    }
    assert!(text.contains("the disk was full, then read-only"), "{text}");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_folder_without_permission_to_write_can_still_be_read() {
    let name = "spool::faults::a_folder_without_permission_to_write_can_still_be_read";
    haft_testkit::run_unprivileged(name, || {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let store = DirSpoolStore::open(folder.path()).unwrap();
        run(store.write("k".into(), stream(&content(0), 50_000))).unwrap();
        // Nor can the index be written again.
        std::fs::remove_file(folder.path().join("k-k.idx")).unwrap();
        let before = names(folder.path());
        let mode = |mode| std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.path(), mode(0o555)).unwrap();
        let refused = run(store.write("other".into(), "text".into())).unwrap_err();
        assert!(matches!(refused, SpoolError::Io { doing: "write", .. }), "{refused}");
        let refused = run(store.delete("k".into())).unwrap_err();
        assert!(matches!(refused, SpoolError::Io { doing: "delete", .. }), "{refused}");
        assert_eq!(stored_version(&store, "k".into()), Some(0));
        assert_eq!(names(folder.path()), before);
        std::fs::set_permissions(folder.path(), mode(0o755)).unwrap();
    });
}
