use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft::error::Coded as _;
use haft::media::{FileError, FileReader, FileRoots};
use haft::media::{MediaReader, MemoryReader, ReaderDescriptor, ReaderResolvers};
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use super::{base64, base64_of, cause, media, next, read};

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn write(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

#[tokio::test]
async fn files_keep_the_contract() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    let folder = folder();
    let roots = FileRoots::new([folder.path()]).unwrap();
    let resolvers = ReaderResolvers::empty().with(FileReader::TAG, roots.resolver());
    let count = AtomicUsize::new(0);
    let make = |content: bytes::Bytes| {
        let path = write(&folder, &count.fetch_add(1, Ordering::Relaxed).to_string(), content);
        async move { Arc::new(FileReader::open(path).unwrap()) as Arc<dyn MediaReader> }
    };
    haft_conformance::media_reader(make, &resolvers).await.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(32)))]

    #[test]
    fn the_same_bytes_come_out(content in any::<Vec<u8>>()) {
        let folder = folder();
        let file = FileReader::open(write(&folder, "f", &content)).unwrap();
        let memory = MemoryReader::new(content.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            assert_eq!(read(&file).await.unwrap(), content);
            assert_eq!(read(&memory).await.unwrap(), content);
            assert_eq!(base64(&media(file)).await, base64_of(&content));
            assert_eq!(base64(&media(memory)).await, base64_of(&content));
        });
    }
}

/// Also around the sizes of pieces.
#[tokio::test]
async fn large_files_come_in_pieces() {
    let folder = folder();
    for len in [262_143, 262_144, 262_145, 524_288, 1_000_000] {
        let content: Vec<u8> = (0..len).map(|n: u32| n.to_le_bytes()[1]).collect();
        let reader = FileReader::open(write(&folder, "f", &content)).unwrap();
        let mut stream = reader.open();
        let mut found = Vec::new();
        while let Some(chunk) = next(&mut stream).await.unwrap() {
            assert!(!chunk.is_empty() && chunk.len() <= 512 * 1024, "{}", chunk.len());
            found.extend_from_slice(&chunk);
        }
        assert!(found == content, "{len}");
        assert_eq!(reader.byte_length(), Some(u64::from(len)));
    }
}

#[tokio::test]
async fn a_changed_file_is_an_error() {
    #[track_caller]
    fn check(failure: &haft::ToolFailure) {
        assert!(matches!(cause(failure), FileError::Changed { .. }), "{failure}");
        assert!(!failure.is_retryable());
    }
    let folder = folder();
    let path = write(&folder, "f", "first");

    let reader = FileReader::open(&path).unwrap();
    write(&folder, "f", "longer than the first");
    check(&read(&reader).await.unwrap_err());
    assert_eq!(reader.byte_length(), Some(5));

    // Of the same length, with another time of change.
    let reader = FileReader::open(&path).unwrap();
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(modified + Duration::from_secs(1)).unwrap();
    check(&read(&reader).await.unwrap_err());

    // Another file of the same length and time.
    #[cfg(unix)]
    {
        let reader = FileReader::open(&path).unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let other = write(&folder, "other", "LONGER THAN THE FIRST");
        File::options().write(true).open(&other).unwrap().set_modified(modified).unwrap();
        fs::rename(other, &path).unwrap();
        check(&read(&reader).await.unwrap_err());
    }

    // While it is read.
    let path = write(&folder, "large", vec![7; 1_000_000]);
    let reader = FileReader::open(&path).unwrap();
    let mut stream = reader.open();
    next(&mut stream).await.unwrap().unwrap();
    File::options().write(true).open(&path).unwrap().set_len(900_000).unwrap();
    check(&next(&mut stream).await.unwrap_err());
    assert_eq!(next(&mut stream).await.unwrap(), None);
}

#[tokio::test]
async fn only_so_many_bytes_are_read() {
    let folder = folder();
    let path = write(&folder, "f", "12345");
    let reader = FileReader::open(&path).unwrap().max_bytes(5);
    assert_eq!(read(&reader).await.unwrap(), b"12345");
    let failure = read(&reader.max_bytes(4)).await.unwrap_err();
    assert!(matches!(cause(&failure), FileError::TooLarge { limit: 4, .. }), "{failure}");
    let roots = FileRoots::new([folder.path()]).unwrap();
    assert!(roots.clone().max_bytes(5).reader(&path).is_ok());
    let error = roots.max_bytes(4).reader(&path).unwrap_err();
    assert!(matches!(error, FileError::TooLarge { limit: 4, .. }), "{error}");
}

#[test]
fn only_regular_files_are_read() {
    let folder = folder();
    let error = FileReader::open(folder.path()).unwrap_err();
    assert!(matches!(error, FileError::NotAFile { .. }), "{error}");
    assert_eq!(error.code(), "E_NOT_A_MEDIA_READER");
    let error = FileReader::open(folder.path().join("missing")).unwrap_err();
    assert!(matches!(error, FileError::Io { doing: "open", .. }), "{error}");
    #[cfg(unix)]
    {
        let error = FileReader::open("/dev/zero").unwrap_err();
        assert!(matches!(error, FileError::NotAFile { .. }), "{error}");
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(matches!(FileReader::open(socket).unwrap_err(), FileError::NotAFile { .. }));
    }
}

/// The system says that such a file is empty, and it is not.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_that_lies_about_its_length_is_an_error() {
    let reader = FileReader::open("/proc/self/status").unwrap();
    let failure = read(&reader).await.unwrap_err();
    assert!(matches!(cause(&failure), FileError::Changed { .. }), "{failure}");
}

#[test]
fn descriptors_open_only_what_is_allowed() {
    #[track_caller]
    fn refused(resolvers: &ReaderResolvers, path: &str) {
        let descriptor = ReaderDescriptor::new(FileReader::TAG, json!({ "path": path }));
        let Err(error) = resolvers.resolve(&descriptor) else { panic!("{path} was opened") };
        assert_eq!(error.code(), "E_NOT_A_MEDIA_READER");
        let haft::media::MediaError::Unresolvable { failure, .. } = error else { panic!() };
        assert!(
            matches!(cause(failure.failure()), FileError::OutsideRoots { .. }),
            "{path}: {failure}"
        );
    }
    let outer = folder();
    let secret = folder();
    let root = outer.path().join("root");
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::create_dir(outer.path().join("root-2")).unwrap();
    fs::write(outer.path().join("root-2/near"), "x").unwrap();
    let inside = root.join("sub/inside");
    fs::write(&inside, "x").unwrap();
    let hidden = write(&secret, "hidden", "secret");
    let roots = FileRoots::new([&root]).unwrap();
    let resolvers = ReaderResolvers::empty().with(FileReader::TAG, roots.resolver());

    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let found = roots.reader(&inside).unwrap();
    assert_eq!(found.path(), inside);
    assert!(resolvers.resolve(&found.describe().unwrap()).is_ok());

    let root_text = text(&root);
    for path in [
        "/etc/passwd".to_owned(),
        text(&hidden),
        String::new(),
        "/".to_owned(),
        "sub/inside".to_owned(),
        "../root/sub/inside".to_owned(),
        format!("{root_text}/../root-2/near"),
        format!("{root_text}/sub/../sub/inside"),
        format!("{root_text}-2/near"),
        format!("{root_text}/../../../../../../etc/passwd"),
        format!("file://{root_text}/sub/inside"),
    ] {
        refused(&resolvers, &path);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(&hidden, root.join("to-file")).unwrap();
        symlink(secret.path(), root.join("to-folder")).unwrap();
        symlink(root.join("to-folder/hidden"), root.join("twice")).unwrap();
        symlink(&inside, root.join("good")).unwrap();
        refused(&resolvers, &format!("{root_text}/to-file"));
        refused(&resolvers, &format!("{root_text}/to-folder/hidden"));
        refused(&resolvers, &format!("{root_text}/twice"));
        assert!(roots.reader(root.join("good")).is_ok());
    }
    let none: [&Path; 0] = [];
    let nothing = FileRoots::new(none).unwrap();
    assert!(matches!(nothing.reader(&inside).unwrap_err(), FileError::OutsideRoots { .. }));
    assert!(FileRoots::new([&inside]).is_err(), "a file is not a root");
    assert!(FileRoots::new([root.join("missing")]).is_err());
}

/// The check is not only made when the reader is made.
#[cfg(unix)]
#[tokio::test]
async fn a_link_that_comes_later_is_refused() {
    let root = folder();
    let secret = folder();
    let path = write(&root, "f", "12345");
    let hidden = write(&secret, "hidden", "54321");
    let reader = FileRoots::new([root.path()]).unwrap().reader(&path).unwrap();
    assert_eq!(read(&reader).await.unwrap(), b"12345");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(hidden, &path).unwrap();
    let failure = read(&reader).await.unwrap_err();
    assert!(matches!(cause(&failure), FileError::OutsideRoots { .. }), "{failure}");
}

/// A file that becomes a link to elsewhere and back, as fast as it can, never leads out.
#[cfg(target_os = "linux")]
#[test]
fn links_that_come_and_go_lead_nowhere() {
    use std::sync::atomic::{AtomicBool, Ordering};

    let root = folder();
    let secret = folder();
    let path = write(&root, "f", "12345");
    let next = root.path().join("next");
    let good = write(&root, "good", "12345");
    let hidden = write(&secret, "hidden", "a secret");
    let roots = FileRoots::new([root.path()]).unwrap();
    let done = AtomicBool::new(false);
    let mut led_out = false;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::os::unix::fs::symlink(&hidden, &next).unwrap();
                fs::rename(&next, &path).unwrap();
                fs::hard_link(&good, &next).unwrap();
                fs::rename(&next, &path).unwrap();
            }
        });
        for _ in 0..20_000 {
            led_out |= roots.reader(&path).is_ok_and(|it| it.byte_length() != Some(5));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(!led_out);
}

#[test]
fn locators_are_read_strictly() {
    let folder = folder();
    let path = write(&folder, "f", "x");
    let roots = FileRoots::new([folder.path()]).unwrap();
    let resolve = roots.resolver();
    assert!(resolve(&json!({ "path": path })).is_ok());
    for locator in [
        json!(null),
        json!(path),
        json!([path]),
        json!({}),
        json!({ "path": 1 }),
        json!({ "Path": path }),
        json!({ "path": path, "mode": "w" }),
    ] {
        let failure = resolve(&locator).unwrap_err();
        assert!(matches!(cause(&failure), FileError::Locator), "{locator}: {failure}");
    }
}
