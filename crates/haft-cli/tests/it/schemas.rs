//! The published schemas are those of the types that are printed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::support::run_haft;

fn read_files(dir: &Path) -> BTreeMap<String, String> {
    let files = std::fs::read_dir(dir).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(&path).unwrap())
    });
    files.collect()
}

#[test]
fn the_published_schemas_are_current() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run_haft(dir.path(), &["schema", "--dir", "written"]), "exit 0");
    let written = read_files(&dir.path().join("written"));
    let published = read_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema"));
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&written), names(&published), "cargo xtask schemas");
    for (name, text) in &written {
        assert!(published[name] == *text, "{name} is out of date; run `cargo xtask schemas`");
    }
}

#[test]
fn every_schema_is_one() {
    let dir = tempfile::tempdir().unwrap();
    run_haft(dir.path(), &["schema", "--dir", "written"]);
    let mut files = read_files(&dir.path().join("written"));
    assert!(files.remove("openapi.json").is_some());
    for (name, text) in &files {
        let schema: Value = serde_json::from_str(text).unwrap();
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
        let stem = name.strip_suffix(".schema.json").unwrap();
        let printed = run_haft(dir.path(), &["schema", stem]);
        assert_eq!(printed, format!("exit 0\n--- out\n{}", text.trim_end()), "{name}");
    }
}

#[test]
fn an_unknown_schema_names_the_known_ones() {
    let dir = tempfile::tempdir().unwrap();
    let printed = run_haft(dir.path(), &["schema", "shows"]);
    assert!(
        printed.starts_with("exit 3\n--- err\nerror: there is no schema `shows`\n"),
        "{printed}"
    );
    assert!(printed.contains("show, show-request"), "{printed}");
}
