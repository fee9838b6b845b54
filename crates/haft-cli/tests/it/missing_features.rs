//! What a binary for one machine says about stores that machines share. `cargo xtask ci` runs this in such a build.

use super::support::{run_haft, write_agent};

#[test]
fn stores_that_machines_share_need_the_feature_cluster() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), "system = 'x'\nprompt = 'Go.'\nmodel = 'ollama:m'\n");
    let secret = "postgres://ada@127.0.0.1:1/haft";
    let cases: [&[&str]; 3] = [
        &["run", "a", "--spool", "s3://b/p"],
        &["turns", "--store", secret],
        &["run", "a", "--store", secret],
    ];
    // Nothing is published, so only the repository has the sources.
    let hint = "cargo install --path crates/haft-cli --features cluster";
    for words in cases {
        let said = run_haft(dir.path(), words);
        assert!(said.starts_with("exit 1\n--- err\n"), "{words:?}: {said}");
        assert!(said.contains("this haft was built without the feature `cluster`"), "{said}");
        assert!(said.ends_with(hint), "{words:?}: {said}");
    }
}
