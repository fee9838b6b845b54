use std::collections::HashMap;
use std::sync::{Arc, Barrier};

use haft_core::gate::{ApprovalStore as _, Spending};

use crate::DirApprovals;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_processes_one_is_the_first() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("deep");
    for round in 0..20 {
        let start = Arc::new(Barrier::new(8));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (start, path) = (Arc::clone(&start), path.clone());
                tokio::task::spawn_blocking(move || {
                    start.wait();
                    let ledger = DirApprovals::new(path);
                    let gate = format!("gate {round}").parse().unwrap();
                    tokio::runtime::Handle::current().block_on(ledger.spend(gate)).unwrap()
                })
            })
            .collect();
        let mut counts: HashMap<bool, usize> = HashMap::new();
        for thread in threads {
            *counts.entry(thread.await.unwrap() == Spending::First).or_default() += 1;
        }
        assert_eq!((counts[&true], counts[&false]), (1, 7), "round {round}");
    }
}

#[tokio::test]
async fn a_ledger_that_cannot_be_written_is_an_error_and_not_an_approval() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("spent-approvals");
    std::fs::write(&file, "a file where the directory belongs").unwrap();
    assert!(DirApprovals::new(parent.path()).spend("gate".parse().unwrap()).await.is_err());
}

#[cfg(unix)]
#[tokio::test]
async fn the_ledger_belongs_to_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;

    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("spent-approvals");
    let _ = DirApprovals::new(parent.path()).spend("gate".parse().unwrap()).await.unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    let shard = path.read_dir().unwrap().next().unwrap().unwrap().path();
    let file = shard.read_dir().unwrap().next().unwrap().unwrap().path();
    assert_eq!((mode(&shard), mode(&file)), (0o700, 0o600));
}

/// In a process of its own, because the current directory belongs to the whole process.
#[test]
fn a_relative_path_of_one_component_is_a_ledger_too() {
    const NAME: &str = "approvals::spent::tests::a_relative_path_of_one_component_is_a_ledger_too";
    const CHILD: &str = "HAFT_TEST_RELATIVE_LEDGER";
    if std::env::var_os(CHILD).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let spent = runtime.block_on(DirApprovals::new("").spend("gate".parse().unwrap()));
        assert_eq!(spent.unwrap(), Spending::First);
        return;
    }
    let parent = tempfile::tempdir().unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", NAME, "--nocapture"]).env(CHILD, "1").current_dir(parent.path());
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(parent.path().join("spent-approvals").is_dir());
}
