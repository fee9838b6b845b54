use std::fs;
use std::future::Future;
use std::io;
use std::num::NonZeroU32;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_core::Stream;
use haft_core::spool::{LineIndex, SpoolError, SpoolKey, SpoolPayload, SpoolReader, SpoolStore};
use haft_core::tool::{ByteStream, ToolFailure};

use super::DirSpoolStore;
use super::disk::DiskStep;
use super::key_scan::LISTED_TOGETHER;
use haft_artifacts::text::{GrepOptions, TextError, TextView};

const LONG: &str = "a key that is far too long for a file name ";

fn run<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}

/// With one thread for work that blocks, so that what is handed to it comes after what was before.
fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.max_blocking_threads(1).build().unwrap()
}

fn open(dir: &Path) -> DirSpoolStore {
    DirSpoolStore::open(dir).unwrap().block_size(NonZeroU32::new(16).unwrap())
}

/// A store whose steps fail as told.
fn failing(
    dir: &Path,
    probe: impl Fn(DiskStep) -> io::Result<()> + Send + Sync + 'static,
) -> DirSpoolStore {
    let mut store = open(dir);
    Arc::make_mut(&mut store.config).disk.probe = Some(Arc::new(probe));
    store
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

async fn content(store: &DirSpoolStore, key: &str) -> Option<Vec<u8>> {
    let reader = store.read(key.into()).await.unwrap()?;
    let len = usize::try_from(reader.byte_length()).unwrap();
    Some(reader.read_at(0, len).await.unwrap().to_vec())
}

fn full_disk() -> io::Error {
    io::Error::from(io::ErrorKind::StorageFull)
}

#[test]
fn whichever_step_fails_nothing_is_left_behind() {
    for key in ["short".to_owned(), LONG.repeat(10)] {
        for old in [None, Some("old content, longer than a block")] {
            let mut clean = false;
            for nth in 0..20 {
                let dir = tempfile::tempdir().unwrap();
                let plain = open(dir.path());
                if let Some(old) = old {
                    run(plain.write(key.as_str().into(), old.into())).unwrap();
                }
                let steps = AtomicUsize::new(0);
                let store = failing(dir.path(), move |step| {
                    // The index is a matter of speed: it has a test of its own.
                    let at = steps.fetch_add(1, Ordering::Relaxed);
                    if at == nth && step != DiskStep::WriteIndex {
                        Err(full_disk())
                    } else {
                        Ok(())
                    }
                });
                let new = "new content\nof many blocks\n".repeat(20);
                let wrote = run(store.write(key.as_str().into(), new.as_str().into()));
                let found = run(content(&plain, &key));
                match wrote {
                    Ok(_) => {
                        assert_eq!(found.as_deref(), Some(new.as_bytes()));
                        clean = true;
                    }
                    Err(error) => {
                        assert!(matches!(error, SpoolError::Io { doing: "write", .. }), "{error}");
                        // The last step of all comes after the replacement: then nothing is there.
                        let old = old.map(str::as_bytes);
                        assert!(found.is_none() || found.as_deref() == old, "{found:?}");
                    }
                }
                if found.is_none() {
                    assert_eq!(names(dir.path()), Vec::<String>::new());
                }
                assert!(names(dir.path()).iter().all(|name| !name.ends_with(".tmp")));
                assert_eq!(run(plain.remove_orphans()).unwrap(), 0);
            }
            assert!(clean, "no run got through");
        }
    }
}

#[test]
fn an_index_that_cannot_be_written_is_built_when_needed() {
    let dir = tempfile::tempdir().unwrap();
    let store = failing(dir.path(), |step| match step {
        DiskStep::WriteIndex => Err(full_disk()),
        _ => Ok(()),
    });
    let text = "a line\n".repeat(10);
    run(store.write("k".into(), text.as_str().into())).unwrap();
    assert_eq!(names(dir.path()), ["k-k.spool"]);
    let reader = run(open(dir.path()).read("k".into())).unwrap().unwrap();
    assert_eq!(*run(reader.index()).unwrap(), index_of(&text));
    assert_eq!(names(dir.path()), ["k-k.idx", "k-k.spool"]);
}

fn index_of(text: &str) -> LineIndex {
    let mut builder = haft_core::spool::LineIndexBuilder::new(NonZeroU32::new(16).unwrap());
    builder.push(text.as_bytes());
    builder.finish()
}

#[test]
fn a_damaged_index_is_built_again() {
    let text = "a line\n".repeat(10);
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    run(store.write("k".into(), text.as_str().into())).unwrap();
    let path = dir.path().join("k-k.idx");
    let whole = fs::read(&path).unwrap();
    let truncated = (0..whole.len()).map(|len| whole[..len].to_vec());
    let flipped = (0..whole.len() * 8).map(|bit| {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    });
    let longer = [1, 5000].map(|len| [&whole[..], &vec![0; len]].concat());
    let other = {
        // A sound index of other content.
        let bytes = index_of("other\n").encode();
        [&whole[..16], &bytes[..]].concat()
    };
    for damaged in truncated.chain(flipped).chain(longer).chain([other]) {
        fs::write(&path, &damaged).unwrap();
        let reader = run(store.read("k".into())).unwrap().unwrap();
        assert_eq!(*run(reader.index()).unwrap(), index_of(&text));
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
    // And if something else lies in its place, it is built every time.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let reader = run(store.read("k".into())).unwrap().unwrap();
    assert_eq!(*run(reader.index()).unwrap(), index_of(&text));
}

#[test]
fn an_index_of_other_content_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    run(store.write("k".into(), "aaaaaaaaaaaaaaaaaaaa\n".into())).unwrap();
    // The same length, other lines, while nobody looks.
    fs::write(dir.path().join("k-k.spool"), "a\na\na\na\na\na\na\na\na\na\na").unwrap();
    let reader = run(store.read("k".into())).unwrap().unwrap();
    assert_eq!(run(reader.index()).unwrap().line_count(), 11);
}

#[test]
fn content_that_was_changed_is_an_error_and_no_answer() {
    #[track_caller]
    fn check(change: impl Fn(&Path), expect: &str) {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let reader = run(store.write("k".into(), "a\nb\nc\n".repeat(9).into())).unwrap();
        let path = dir.path().join("k-k.spool");
        let old = fs::metadata(&path).unwrap().modified().unwrap();
        fs::remove_file(dir.path().join("k-k.idx")).unwrap();
        let unread = run(store.read("k".into())).unwrap().unwrap();
        change(&path);
        // A file system may be too coarse to see a change right after the last one.
        let later = old + std::time::Duration::from_secs(7);
        fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        let view = TextView::new(Arc::clone(&reader));
        for error in [
            run(reader.read_at(0, 1)).unwrap_err(),
            run(view.head(1)).unwrap_err(),
            run(view.tail(1)).unwrap_err(),
            run(view.cat(..)).unwrap_err(),
            run(view.read_line_part(0, ..)).unwrap_err(),
            search_error(&view),
            index_error(&unread),
        ] {
            assert!(matches!(error, SpoolError::Changed { .. }), "{error}");
            assert!(error.to_string().ends_with(expect), "{error}");
        }
    }
    check(|path| fs::write(path, "").unwrap(), "it had 54 bytes and has 0 now");
    check(|path| fs::write(path, "a\n").unwrap(), "it had 54 bytes and has 2 now");
    check(|path| fs::write(path, "x\ny\nz\n".repeat(9)).unwrap(), "its time of change differs");
    check(|path| fs::write(path, "b\n".repeat(99)).unwrap(), "it had 54 bytes and has 198 now");
}

fn search_error(view: &TextView) -> SpoolError {
    match run(view.grep("a", GrepOptions::new())) {
        Err(TextError::Spool(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn index_error(reader: &Arc<dyn SpoolReader>) -> SpoolError {
    run(reader.index()).unwrap_err()
}

#[test]
fn a_directory_that_cannot_be_written_to_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir.path().join("spool"));
    fs::remove_dir(dir.path().join("spool")).unwrap();
    let error = run(store.write("k".into(), "text".into())).unwrap_err();
    assert_eq!(error.to_string(), "could not write the stored content of `k`");
    assert!(run(store.read("k".into())).unwrap().is_none());
    assert!(matches!(run(store.list()), Err(SpoolError::Store { doing: "list", .. })));
    fs::write(dir.path().join("file"), "").unwrap();
    let opened = DirSpoolStore::open(dir.path().join("file"));
    assert!(matches!(opened, Err(SpoolError::Store { doing: "open", .. })));
}

/// A stream that is not ready every second time.
struct Slow {
    pieces: usize,
    ready: bool,
}

impl Stream for Slow {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.ready = !self.ready;
        if self.ready {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Some(left) = self.pieces.checked_sub(1) else { return Poll::Ready(None) };
        self.pieces = left;
        Poll::Ready(Some(Ok(Bytes::from_static(&[b'x'; 600_000]))))
    }
}

#[test]
fn a_write_that_is_dropped_takes_no_effect_or_all_of_it() {
    let mut finished = false;
    for polls in 0..40 {
        let dir = tempfile::tempdir().unwrap();
        let store = DirSpoolStore::open(dir.path()).unwrap();
        let runtime = runtime();
        runtime.block_on(async {
            let stream = ByteStream::new(Slow { pieces: 4, ready: false });
            let mut write = pin!(store.write("k".into(), SpoolPayload::Stream(stream)));
            for _ in 0..polls {
                let polled = std::future::poll_fn(|cx| Poll::Ready(write.as_mut().poll(cx))).await;
                if let Poll::Ready(written) = polled {
                    written.unwrap();
                    finished = true;
                    break;
                }
                // Lets the thread get on between two polls.
                tokio::task::spawn_blocking(|| ()).await.unwrap();
            }
        });
        // Waits for the threads.
        drop(runtime);
        let found = run(content(&store, "k"));
        assert!(found.as_ref().is_none_or(|it| it.len() == 2_400_000));
        let mut names = names(dir.path());
        let shared = names.iter().filter(|it| it.ends_with(".shared")).count();
        names.retain(|it| !it.ends_with(".shared"));
        let expect = if found.is_some() { vec!["k-k.idx", "k-k.spool"] } else { Vec::new() };
        assert_eq!(names, expect, "after {polls} polls");
        assert_eq!(shared, usize::from(found.is_some()), "after {polls} polls");
    }
    assert!(finished, "no write was polled to its end");
}

#[test]
fn a_sweep_removes_what_dead_writers_left_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    run(store.write("kept".into(), "text".into())).unwrap();
    let left =
        [".writing-1-1.tmp", ".writing-1-1.link", "c-gone.shared", "k-gone.idx", "h-gone.key"];
    for name in left.into_iter().chain(["notes.txt", "other.idx"]) {
        fs::write(dir.path().join(name), "").unwrap();
    }
    let kept = ["k-kept.spool", "notes.txt", "other.idx"];

    // While a writer lives, its file stays, and so do side files that may be its own.
    run(async {
        let stream = ByteStream::new(Slow { pieces: 400, ready: false });
        let mut write = pin!(store.write("live".into(), SpoolPayload::Stream(stream)));
        let mut cx = Context::from_waker(Waker::noop());
        while !names(dir.path())
            .iter()
            .any(|name| name.starts_with(&format!(".writing-{}-", std::process::id())))
        {
            assert!(write.as_mut().poll(&mut cx).is_pending());
            tokio::task::spawn_blocking(|| ()).await.unwrap();
        }
        assert_eq!(store.remove_orphans().await.unwrap(), 1);
        assert_eq!(names(dir.path()).len(), kept.len() + 5);
    });
    assert_eq!(run(store.remove_orphans()).unwrap(), 4);
    assert_eq!(names(dir.path()), kept);
    assert_eq!(run(store.list()).unwrap(), [SpoolKey::from("kept")]);
}

/// Large content that several keys have is one file, until its last key goes.
#[cfg(unix)]
#[test]
fn equal_content_is_stored_once() {
    use std::os::unix::fs::MetadataExt as _;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let links =
        |key: &str| fs::metadata(dir.path().join(format!("k-{key}.spool"))).unwrap().nlink();
    let text = "a line of the log\n".repeat(10_000);
    let write = |key: &str, text: &str| run(store.write(key.into(), text.into())).unwrap();
    let first = write("a", &text);
    assert_eq!(links("a"), 2, "the key and the second name");
    let second = write("b", &text);
    // Replacing content by itself changes nothing.
    write("b", &text);
    assert_eq!((links("a"), links("b")), (3, 3));
    for reader in [&first, &second] {
        assert_eq!(run(reader.read_at(0, text.len())).unwrap(), text.as_bytes());
    }
    // The same length and the same ends, and another middle.
    let mut other = text.clone();
    other.replace_range(80_000..80_001, "?");
    write("c", &other);
    assert_eq!((links("a"), links("c")), (2, 2), "the second name is that of the newest");
    assert_eq!(run(content(&store, "c")).unwrap(), other.as_bytes());
    assert_eq!(run(content(&store, "b")).unwrap(), text.as_bytes());

    assert!(run(store.delete("a".into())).unwrap());
    assert_eq!(run(content(&store, "b")).unwrap(), text.as_bytes());
    assert!(run(store.delete("b".into())).unwrap() && run(store.delete("c".into())).unwrap());
    assert_eq!(names(dir.path()), Vec::<String>::new());
}

/// Content that another program changed is not given to another key.
#[test]
fn changed_content_is_not_shared() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let text = "a line of the log\n".repeat(10_000);
    run(store.write("a".into(), text.as_str().into())).unwrap();
    let mut damaged = text.clone();
    damaged.replace_range(80_000..80_001, "?");
    fs::write(dir.path().join("k-a.spool"), damaged).unwrap();
    run(store.write("b".into(), text.as_str().into())).unwrap();
    assert_eq!(run(content(&store, "b")).unwrap(), text.as_bytes());
}

/// The directory is read once, also if what was listed is deleted meanwhile.
#[test]
fn a_scan_lists_every_key_of_the_prefix_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut expected: Vec<_> = (0..2 * LISTED_TOGETHER + 5).map(|n| format!("n-{n}")).collect();
    for key in expected.iter().map(String::as_str).chain(["other", "m-1"]) {
        fs::write(dir.path().join(format!("k-{key}.spool")), "").unwrap();
    }
    fs::write(dir.path().join("n-foreign.txt"), "").unwrap();
    let store = open(dir.path());
    let mut found = Vec::new();
    let mut lists = 0;
    run(async {
        let mut scan = store.scan_keys("n-");
        while let Some(keys) = scan.next_keys().await.unwrap() {
            assert!(keys.len() <= LISTED_TOGETHER && keys.is_sorted());
            for key in keys {
                fs::remove_file(dir.path().join(format!("k-{}.spool", key.as_str()))).unwrap();
                found.push(key.as_str().to_owned());
            }
            lists += 1;
        }
        assert!(scan.next_keys().await.unwrap().is_none());
    });
    found.sort();
    expected.sort();
    assert_eq!((found, lists), (expected, 3));
    assert_eq!(names(dir.path()), ["k-m-1.spool", "k-other.spool", "n-foreign.txt"]);
}

/// Opening a pipe would wait for its other end, and a link could lead anywhere.
#[cfg(unix)]
#[test]
fn a_pipe_or_a_link_in_the_place_of_a_file_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    let store = open(dir.path());
    let text = "one line after the other\n".repeat(9);
    let key = LONG.repeat(9);
    let written = run(store.write(key.as_str().into(), text.as_str().into())).unwrap();
    let lines = run(written.index()).unwrap().line_count();
    fs::write(dir.path().join(".writing-1-1.tmp"), "").unwrap();
    let files = names(dir.path());
    assert_eq!(files.len(), 4, "{files:?}");
    for name in files {
        let path = dir.path().join(&name);
        let before = fs::read(&path).unwrap();
        for is_pipe in [true, false] {
            fs::remove_file(&path).unwrap();
            if is_pipe {
                let made = std::process::Command::new("mkfifo").arg(&path).status();
                assert!(made.unwrap().success());
            } else {
                std::os::unix::fs::symlink(elsewhere.path(), &path).unwrap();
            }
            let found = run(async { (content(&store, &key).await, store.list().await.unwrap()) });
            let is_there = found.0 == Some(text.clone().into_bytes());
            assert_eq!(is_there, !name.ends_with(".spool"), "{name}");
            assert_eq!(found.1.len(), usize::from(!name.ends_with(".key")), "{name}");
            let reader = run(store.read(key.as_str().into())).unwrap();
            let counted = reader.map(|it| run(it.index()).unwrap().line_count());
            assert_eq!(counted, is_there.then_some(lines), "{name}");
            run(store.remove_orphans()).unwrap();
            assert_eq!(fs::read(elsewhere.path()).unwrap(), b"", "{name}");
        }
        let _ = fs::remove_file(&path);
        fs::write(&path, before).unwrap();
    }
}
