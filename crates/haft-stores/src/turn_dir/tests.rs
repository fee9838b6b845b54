use std::fs;
use std::thread;

use haft_core::error::Coded as _;

use super::TurnDir;

#[test]
fn processes_that_create_the_key_at_once_get_the_same_one() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("state");
    let opened: Vec<_> = (0..8)
        .map(|_| {
            let path = path.clone();
            thread::spawn(move || TurnDir::open(path).unwrap().secret())
        })
        .collect();
    let mut keys: Vec<_> = opened.into_iter().map(|it| it.join().unwrap()).collect();
    keys.dedup();
    assert_eq!(keys.len(), 1);
    assert_eq!(TurnDir::open(&path).unwrap().secret(), keys[0]);
    let drafts = fs::read_dir(&path)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("new-"));
    assert_eq!(drafts.count(), 0);
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_use_the_directory_and_its_files() {
    use std::os::unix::fs::PermissionsExt as _;

    use haft_core::spool::{LineIndex, SpoolStore as _};

    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("state");
    let dir = TurnDir::open(&path).unwrap();
    let text = "x\n".repeat(LineIndex::BLOCK_SIZE.get() as usize);
    dir.spools().write("a".into(), text.into()).await.unwrap();
    dir.spools().write("b".repeat(300).as_str().into(), "short".into()).await.unwrap();
    let mut names = Vec::new();
    for dir in [path.as_path(), &path.join("spools")] {
        assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700, "{dir:?}");
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
                assert_eq!(mode, 0o600, "{entry:?}");
                names.push(entry.file_name());
            }
        }
    }
    for name in ["gate.key", "haft.sqlite", "haft.sqlite-wal", "haft.sqlite-shm"] {
        assert!(names.iter().any(|it| it == name), "{name} is not in {names:?}");
    }
}

#[test]
fn an_invalid_key_is_an_error_and_is_not_overwritten() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join(TurnDir::KEY_FILE);
    fs::write(&file, "short").unwrap();
    #[cfg(unix)]
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let error = TurnDir::open(parent.path()).unwrap_err();
    assert_eq!(error.code(), "E_STORE", "{error}");
    assert_eq!(fs::read(&file).unwrap(), b"short");
}
