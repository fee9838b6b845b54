use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::Command;

use super::load_or_create_secret;

#[track_caller]
fn assert_refused(file: &Path, reason: &str) {
    let error = load_or_create_secret(file).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains(reason), "{error}: {cause}");
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no draft is left");
}

#[test]
fn a_key_that_others_can_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("gate.key");
    let secret = load_or_create_secret(&file).unwrap();
    for mode in [0o640, 0o620, 0o604, 0o602, 0o666] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        assert_refused(
            &file,
            &format!("mode {mode:03o}); if it is still a secret, run `chmod 600"),
        );
    }
    fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
    assert_eq!(load_or_create_secret(&file).unwrap(), secret);
}

/// Only root can read a key of another user at all, and only root can give a file away.
#[test]
fn a_key_of_another_user_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("gate.key");
    let secret = load_or_create_secret(&file).unwrap();
    if chown(&file, Some(NOBODY), None).is_err() {
        haft_testkit::skip!("user:root", "files can only be given away by root");
    }
    assert_refused(&file, "it belongs to another user (uid 65534)");
    chown(&file, Some(0), None).unwrap();
    assert_eq!(load_or_create_secret(&file).unwrap(), secret);
}

const NOBODY: u32 = 65534;

#[test]
fn a_link_or_a_pipe_in_the_place_of_the_key_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("target");
    load_or_create_secret(&target).unwrap();
    for target in [target.as_path(), Path::new("nowhere")] {
        let file = dir.path().join("gate.key");
        symlink(target, &file).unwrap();
        assert_refused(&file, "it is a symbolic link");
        fs::remove_file(&file).unwrap();
    }
    let file = dir.path().join("gate.key");
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    assert_refused(&file, "it is no regular file");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_refused(&file, "it is no regular file");
}
