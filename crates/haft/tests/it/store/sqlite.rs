//! Turns in a file.

use haft::stores::SqliteStore;

use super::run;

#[cfg(feature = "conformance")]
#[test]
fn sqlite_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let store = SqliteStore::open(folder.path()).unwrap();
        haft::conformance::store(&store).await.unwrap();
        store.close().await;
    });
}
