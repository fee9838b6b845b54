use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
#[cfg(unix)]
use std::time::Duration;

use haft_core::error::Coded as _;
use haft_core::gate::ApprovalStore as _;
use haft_core::spool::{LineIndex, SpoolError, SpoolStore as _};
#[cfg(unix)]
use haft_core::store::{LeaseRequest, NewTurn, TurnQuery};
use haft_core::store::{StoreError, TurnStore as _, TurnStoreExt as _};

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

#[cfg(unix)]
#[test]
fn the_secret_of_envelopes_is_kept_like_the_key() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let parent = tempfile::tempdir().unwrap();
    let dir = TurnDir::open(parent.path()).unwrap();
    let file = parent.path().join(TurnDir::ENVELOPE_FILE);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let secret = dir.envelope_secret().unwrap();
    assert_ne!(secret, dir.secret());
    assert_eq!(TurnDir::open(parent.path()).unwrap().envelope_secret(), Some(secret));
    let elsewhere = parent.path().join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert!(TurnDir::open(parent.path()).is_err(), "a link is refused");
    fs::remove_file(&file).unwrap();
    fs::write(&file, "short").unwrap();
    assert!(TurnDir::open(parent.path()).is_err(), "so is a file that holds no secret");
}

#[tokio::test]
async fn a_directory_that_is_opened_to_be_read_is_not_written() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("state");
    let text = "x\n".repeat(LineIndex::BLOCK_SIZE.get() as usize);
    let dir = TurnDir::open(&path).unwrap();
    dir.spools().write("s".into(), text.into()).await.unwrap();
    dir.close().await;
    let spools = path.join("spools");
    let names = |dir: &Path| {
        let names = fs::read_dir(dir).unwrap().map(|it| it.unwrap().file_name());
        names.collect::<BTreeSet<_>>()
    };
    let indexes: Vec<_> = names(&spools).into_iter().map(|name| spools.join(name)).collect();
    for index in indexes.iter().filter(|it| it.extension().is_some_and(|it| it == "idx")) {
        fs::remove_file(index).unwrap();
    }
    let before = names(&spools);

    let dir = TurnDir::open_read_only(&path).unwrap();
    let reader = dir.spools().read("s".into()).await.unwrap().unwrap();
    assert!(reader.index().await.unwrap().line_count() > 1);
    let refused =
        |error: SpoolError| assert!(matches!(error, SpoolError::ReadOnly { .. }), "{error}");
    refused(dir.spools().write("new".into(), "content".into()).await.unwrap_err());
    refused(dir.spools().delete("s".into()).await.unwrap_err());
    refused(dir.spools().remove_orphans().await.unwrap_err());
    let spent = dir.approvals().spend("gate".parse().unwrap()).await;
    assert!(matches!(spent, Err(StoreError::ReadOnly { .. })), "{spent:?}");
    let removed = dir.store().remove("t".parse().unwrap()).await;
    assert!(matches!(removed, Err(StoreError::ReadOnly { .. })), "{removed:?}");
    assert_eq!(names(&spools), before);
    assert!(!path.join("spent-approvals").exists());
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_written_can_be_read() {
    let name = "turn_dir::tests::a_directory_that_cannot_be_written_can_be_read";
    haft_testkit::run_unprivileged(name, || {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a %#? store");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let secret = runtime.block_on(async {
            let dir = TurnDir::open(&path).unwrap();
            let holder = LeaseRequest::new("a", Duration::from_secs(100));
            dir.store().create(NewTurn::new("t".parse().unwrap()), holder).await.unwrap();
            dir.spools().write("s".into(), "content".into()).await.unwrap();
            dir.close().await;
            dir.secret()
        });
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&path.join("haft.sqlite"), 0o400);
        set(&path.join("spools"), 0o500);
        set(&path, 0o500);
        TurnDir::open(&path).unwrap_err();
        let dir = TurnDir::open_read_only(&path).unwrap();
        assert_eq!(dir.secret(), secret);
        runtime.block_on(async {
            assert_eq!(dir.store().turns(TurnQuery::default()).await.unwrap().len(), 1);
            assert_eq!(dir.spools().read("s".into()).await.unwrap().unwrap().byte_length(), 7);
            let removed = dir.store().remove("t".parse().unwrap()).await;
            assert!(matches!(removed, Err(StoreError::ReadOnly { .. })), "{removed:?}");
            dir.close().await;
        });
        set(&path, 0o700);
    });
}

#[test]
fn a_directory_without_a_store_is_not_opened_to_be_read() {
    let parent = tempfile::tempdir().unwrap();
    TurnDir::open_read_only(parent.path()).unwrap_err();
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}
