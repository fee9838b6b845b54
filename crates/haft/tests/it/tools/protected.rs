//! No tool touches what the application protects, whatever path or link leads to it.

use std::fs;
use std::os::unix::fs::symlink;

use haft::tools::{self, FilesOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Bench;

const SECRET: &str = "the secret";

/// A directory with a protected store, a protected file, links to both and a file that is free.
fn project() -> (TempDir, Bench) {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    fs::create_dir_all(at("state/spools")).unwrap();
    for path in ["state/key", "state/spools/result", "agent.toml", "free.txt"] {
        fs::write(at(path), SECRET).unwrap();
    }
    symlink("state", at("dir-link")).unwrap();
    symlink("state/key", at("link")).unwrap();
    fs::hard_link(at("state/key"), at("hard-link")).unwrap();
    fs::hard_link(at("state/spools/result"), at("deep-hard-link")).unwrap();
    fs::hard_link(at("agent.toml"), at("agent-hard-link")).unwrap();
    fs::hard_link(at("free.txt"), at("free-hard-link")).unwrap();
    let options = FilesOptions::new(dir.path()).unwrap();
    let options = ["state", "./agent.toml", "later.json", "logs/later/run.json"]
        .iter()
        .fold(options, |options, path| options.protect(at(path)).unwrap());
    let bench = Bench::new(tools::files(options));
    (dir, bench)
}

const PROTECTED: [&str; 9] = [
    "state/key",
    "./state//key",
    "state/spools/result",
    "dir-link/key",
    "link",
    "hard-link",
    "deep-hard-link",
    "agent.toml",
    "agent-hard-link",
];

#[tokio::test]
async fn no_path_and_no_link_leads_to_protected_files() {
    let (dir, files) = project();
    for path in PROTECTED {
        let search = json!({"path": path, "pattern": "secret"});
        let edit = json!({"path": path, "edits": [{"find": "secret", "replace": "x"}]});
        for (tool, args) in
            [("read_file", json!({"path": path})), ("search_files", search), ("edit_file", edit)]
        {
            files.fails(tool, args, "belongs to the application").await;
        }
        if path != "link" {
            let write = json!({"path": path, "content": "overwritten"});
            files.fails("write_file", write, "belongs to the application").await;
        }
    }
    for path in ["state", "state/spools", "dir-link", "dir-link/spools"] {
        files.fails("list_files", json!({"path": path}), "belongs to the application").await;
        let find = json!({"path": path, "pattern": "*"});
        files.fails("find_files", find, "belongs to the application").await;
    }
    let later = ["logs", "logs/link", "logs/later", "logs/later/run.json", "./logs/later/run.json"];
    for path in
        ["state/new", "state/new/file", "dir-link/new", "later.json"].into_iter().chain(later)
    {
        let write = json!({"path": path, "content": "new"});
        files.fails("write_file", write, "belongs to the application").await;
    }
    for path in ["state/key", "state/spools/result", "agent.toml"] {
        assert_eq!(fs::read_to_string(dir.path().join(path)).unwrap(), SECRET);
    }
    for path in ["later.json", "logs", "state/new"] {
        assert!(!dir.path().join(path).exists(), "{path}");
    }
}

/// Once the first missing directory exists, the next missing one is reserved.
#[tokio::test]
async fn a_protected_path_is_reserved_from_its_first_missing_directory_on() {
    let (dir, files) = project();
    fs::create_dir(dir.path().join("logs")).unwrap();
    let write = |path: &str| json!({"path": path, "content": "new"});
    for path in ["logs/later", "logs/later/other", "logs/later/run.json"] {
        files.fails("write_file", write(path), "belongs to the application").await;
    }
    files.text("write_file", write("logs/free.txt")).await;
    fs::create_dir(dir.path().join("logs/later")).unwrap();
    files.fails("write_file", write("logs/later/run.json"), "belongs to the application").await;
    files.text("write_file", write("logs/later/free.txt")).await;
}

#[tokio::test]
async fn walks_leave_out_what_is_protected_and_show_the_rest() {
    let (dir, files) = project();
    fs::write(dir.path().join("later.json"), "the secret of later").unwrap();
    let listed = files.json("list_files", json!({"hidden": true, "depth": 5})).await;
    let names: Vec<&Value> =
        listed["entries"].as_array().unwrap().iter().map(|it| &it["path"]).collect();
    assert_eq!(names, ["dir-link", "free-hard-link", "free.txt", "link"]);
    let found = files.json("find_files", json!({"pattern": "*", "hidden": true})).await;
    assert_eq!(found["files"], json!(["free-hard-link", "free.txt"]));
    let searched = files.text("search_files", json!({"pattern": "secret", "hidden": true})).await;
    assert!(searched.contains("[2 matches in 2 files"), "{searched}");
    for path in ["free.txt", "free-hard-link"] {
        assert_eq!(files.text("read_file", json!({"path": path})).await, SECRET);
    }
}

#[tokio::test]
async fn a_root_inside_a_protected_directory_serves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("state/spools");
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("result"), SECRET).unwrap();
    let options = FilesOptions::new(&root).unwrap().protect(dir.path().join("state")).unwrap();
    let files = Bench::new(tools::files(options));
    for (tool, args) in [
        ("read_file", json!({"path": "result"})),
        ("list_files", json!({})),
        ("write_file", json!({"path": "new", "content": "x"})),
    ] {
        files.fails(tool, args, "belongs to the application").await;
    }
}
