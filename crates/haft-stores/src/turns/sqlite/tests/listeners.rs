//! Many listeners share one watcher of the file.

use haft_core::store::{StoreChange, StoreChangeKind};

use super::*;

/// How often this process has a file of the database open, also those that SQLite closes later.
#[cfg(target_os = "linux")]
fn count_open_files(path: &Path) -> usize {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        let target = std::fs::read_link(entry.ok()?.path()).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    });
    open.filter(|it| it.starts_with(&name)).count()
}

#[cfg(target_os = "linux")]
#[test]
fn two_thousand_listeners_open_no_file() {
    let (_dir, path) = temp_db();
    let store = SqliteStore::open(&path).unwrap();
    let read_only = SqliteStore::open_read_only(&path).unwrap();
    run_with_time(async {
        let other = SqliteStore::open(&path).unwrap();
        let before = count_open_files(&path);
        let mut listeners: Vec<_> = (0..2000).map(|_| store.listen()).collect();
        listeners.push(read_only.listen());
        other.enqueue(NewTurn::new(turn("a"))).await.unwrap();
        for listener in &mut listeners {
            assert_eq!(listener.next_change().await, StoreChange::Unknown);
        }
        assert_eq!(count_open_files(&path), before);
        drop(listeners);
        assert_eq!(count_open_files(&path), before);
    });
}

#[test]
fn what_a_store_writes_itself_is_told_exactly() {
    let (_dir, path) = temp_db();
    run_with_time(async {
        let store = SqliteStore::open(&path).unwrap();
        let lease = begin(&store, "own").await;
        let mut listener = store.listen();
        // Nobody is told of a journal entry, also not by a look at the file.
        store.commit(lease, vec![StoreWrite::Journal("1".into())]).await.unwrap();
        store.write_queue.look_for_changes();
        store.enqueue(NewTurn::new(turn("queued"))).await.unwrap();
        let kind = StoreChangeKind::Claimable;
        let told = StoreChange::Turn { turn: turn("queued"), kind };
        assert_eq!(listener.next_change().await, told);
        // Another store tells of everything, because nobody says what it was.
        let other = SqliteStore::open(&path).unwrap();
        begin(&other, "other").await;
        assert_eq!(listener.next_change().await, StoreChange::Unknown);
    });
}

#[test]
fn many_writes_do_not_hide_those_of_others() {
    let (_dir, path) = temp_db();
    run_with_time(async {
        let store = SqliteStore::open(&path).unwrap();
        let lease = begin(&store, "own").await;
        let mut listener = store.listen();
        begin(&SqliteStore::open(&path).unwrap(), "other").await;
        let writing = async {
            loop {
                let writes = vec![StoreWrite::Journal("1".into())];
                store.commit(lease.clone(), writes).await.unwrap();
            }
        };
        tokio::select! {
            () = writing => {}
            change = listener.next_change() => assert_eq!(change, StoreChange::Unknown),
        }
    });
}

/// Runs a future on a runtime with timers.
fn run_with_time<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}
