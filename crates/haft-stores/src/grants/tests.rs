use haft_core::gate::{GrantId, GrantRow, GrantStore as _};

use super::{DirGrants, MAX_GRANT_BYTES};

fn id(gate: &str) -> GrantId {
    GrantId::of(&gate.parse().unwrap())
}

#[tokio::test]
async fn a_revoked_grant_stays_revoked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("grants");
    let grants = DirGrants::new(&path);
    assert!(grants.load().await.unwrap().is_empty(), "there is no directory yet");
    grants.insert(id("g"), "first".to_owned()).await.unwrap();
    grants.insert(id("g"), "second".to_owned()).await.unwrap();
    let row = GrantRow::new(id("g"), "first".to_owned(), false);
    assert_eq!(grants.load().await.unwrap(), [row], "the first one stays");
    let file = path.join(format!("{}.json", id("g")));
    let copy = std::fs::read(&file).unwrap();
    assert!(grants.revoke(id("g")).await.unwrap());
    assert!(!grants.revoke(id("g")).await.unwrap());
    assert!(!file.exists());
    grants.insert(id("g"), "third".to_owned()).await.unwrap();
    assert!(grants.load().await.unwrap().is_empty());
    // A backup of the file is put back.
    std::fs::write(&file, copy).unwrap();
    assert!(grants.load().await.unwrap().iter().all(|row| row.is_revoked));
    assert!(!grants.revoke(id("unknown")).await.unwrap());
}

#[tokio::test]
async fn what_is_no_grant_has_no_text() {
    let dir = tempfile::tempdir().unwrap();
    let grants = DirGrants::new(dir.path());
    let long = "x".repeat(MAX_GRANT_BYTES + 1);
    assert!(grants.insert(id("long"), long.clone()).await.is_err());
    std::fs::write(dir.path().join(format!("{}.json", id("long"))), long).unwrap();
    std::fs::write(dir.path().join(format!("{}.json", id("binary"))), [0xff, 0xfe]).unwrap();
    std::fs::create_dir(dir.path().join(format!("{}.json", id("dir")))).unwrap();
    std::fs::write(dir.path().join("other.json"), "{}").unwrap();
    std::fs::write(dir.path().join(format!("{}.new-1", id("draft"))), "{}").unwrap();
    let rows = grants.load().await.unwrap();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.json.is_empty()), "{rows:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_private_and_links_are_not_followed() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("grants");
    let grants = DirGrants::new(&path);
    grants.insert(id("g"), "text".to_owned()).await.unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path) & 0o777, 0o700);
    assert_eq!(mode(&path.join(format!("{}.json", id("g")))) & 0o777, 0o600);
    let elsewhere = dir.path().join("elsewhere");
    std::fs::write(&elsewhere, "text").unwrap();
    std::os::unix::fs::symlink(&elsewhere, path.join(format!("{}.json", id("link")))).unwrap();
    let rows = grants.load().await.unwrap();
    let link = rows.iter().find(|row| row.id == id("link")).unwrap();
    assert_eq!(link.json, "");
}
