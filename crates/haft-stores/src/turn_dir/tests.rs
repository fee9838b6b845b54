use std::fs;
use std::thread;

use haft_core::error::Coded as _;

use super::TurnFolder;

#[test]
fn processes_that_begin_at_once_get_the_same_key() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("state");
    let opened: Vec<_> = (0..8)
        .map(|_| {
            let path = path.clone();
            thread::spawn(move || TurnFolder::open(path).unwrap().secret())
        })
        .collect();
    let mut keys: Vec<_> = opened.into_iter().map(|it| it.join().unwrap()).collect();
    keys.dedup();
    assert_eq!(keys.len(), 1);
    assert_eq!(TurnFolder::open(&path).unwrap().secret(), keys[0]);
    let drafts = fs::read_dir(&path)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("new-"));
    assert_eq!(drafts.count(), 0);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_key() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = tempfile::tempdir().unwrap();
    TurnFolder::open(place.path()).unwrap();
    let mode = fs::metadata(place.path().join(TurnFolder::KEY)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_key_that_is_none_is_said_and_kept() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join(TurnFolder::KEY);
    fs::write(&file, "short").unwrap();
    let error = TurnFolder::open(place.path()).unwrap_err();
    assert_eq!(error.code(), "E_STORE", "{error}");
    assert_eq!(fs::read(&file).unwrap(), b"short");
}
