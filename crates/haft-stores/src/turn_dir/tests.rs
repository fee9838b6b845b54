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
#[test]
fn only_the_owner_can_read_the_key() {
    use std::os::unix::fs::PermissionsExt as _;

    let parent = tempfile::tempdir().unwrap();
    TurnDir::open(parent.path()).unwrap();
    let mode = fs::metadata(parent.path().join(TurnDir::KEY_FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn an_invalid_key_is_an_error_and_is_not_overwritten() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join(TurnDir::KEY_FILE);
    fs::write(&file, "short").unwrap();
    let error = TurnDir::open(parent.path()).unwrap_err();
    assert_eq!(error.code(), "E_STORE", "{error}");
    assert_eq!(fs::read(&file).unwrap(), b"short");
}
