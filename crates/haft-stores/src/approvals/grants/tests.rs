use haft_core::gate::{ApprovalStore as _, GrantId, GrantRow};

use super::MAX_GRANT_BYTES;
use crate::DirApprovals;

fn id(gate: &str) -> GrantId {
    GrantId::of(&gate.parse().unwrap())
}

#[tokio::test]
async fn a_revoked_grant_stays_revoked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("grants");
    let grants = DirApprovals::new(dir.path());
    assert!(grants.load_grants().await.unwrap().is_empty(), "there is no directory yet");
    grants.insert_grant(id("g"), "first".to_owned()).await.unwrap();
    grants.insert_grant(id("g"), "second".to_owned()).await.unwrap();
    let row = GrantRow::new(id("g"), "first".to_owned(), false);
    assert_eq!(grants.load_grants().await.unwrap(), [row], "the first one stays");
    let file = path.join(format!("{}.json", id("g")));
    let copy = std::fs::read(&file).unwrap();
    assert!(grants.revoke_grant(id("g")).await.unwrap());
    assert!(!grants.revoke_grant(id("g")).await.unwrap());
    assert!(!file.exists());
    grants.insert_grant(id("g"), "third".to_owned()).await.unwrap();
    assert!(grants.load_grants().await.unwrap().is_empty());
    // A backup of the file is put back.
    std::fs::write(&file, copy).unwrap();
    assert!(grants.load_grants().await.unwrap().iter().all(|row| row.is_revoked));
    assert!(!grants.revoke_grant(id("unknown")).await.unwrap());
}

#[tokio::test]
async fn what_is_no_grant_has_no_text() {
    let dir = tempfile::tempdir().unwrap();
    let grants = DirApprovals::new(dir.path());
    let path = dir.path().join("grants");
    std::fs::create_dir(&path).unwrap();
    let long = "x".repeat(MAX_GRANT_BYTES + 1);
    assert!(grants.insert_grant(id("long"), long.clone()).await.is_err());
    std::fs::write(path.join(format!("{}.json", id("long"))), long).unwrap();
    std::fs::write(path.join(format!("{}.json", id("binary"))), [0xff, 0xfe]).unwrap();
    std::fs::create_dir(path.join(format!("{}.json", id("dir")))).unwrap();
    std::fs::write(path.join("other.json"), "{}").unwrap();
    std::fs::write(path.join(format!("{}.new-1", id("draft"))), "{}").unwrap();
    let rows = grants.load_grants().await.unwrap();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.json.is_empty()), "{rows:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_private_and_links_are_not_followed() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("grants");
    let grants = DirApprovals::new(dir.path());
    grants.insert_grant(id("g"), "text".to_owned()).await.unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path) & 0o777, 0o700);
    assert_eq!(mode(&path.join(format!("{}.json", id("g")))) & 0o777, 0o600);
    let elsewhere = dir.path().join("elsewhere");
    std::fs::write(&elsewhere, "text").unwrap();
    std::os::unix::fs::symlink(&elsewhere, path.join(format!("{}.json", id("link")))).unwrap();
    let rows = grants.load_grants().await.unwrap();
    let link = rows.iter().find(|row| row.id == id("link")).unwrap();
    assert_eq!(link.json, "");
}
