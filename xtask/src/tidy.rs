//! Rules that no lint knows, as tests over the tree. Every test lists all that it found.

mod documents;
mod layers;
mod manifests;
mod names;
mod profiles;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

/// Fails with every problem on its own line.
#[track_caller]
fn report(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// The text of a file of the workspace, by its path from the root.
#[track_caller]
fn read(path: &str) -> String {
    fs::read_to_string(crate::root().join(path))
        .unwrap_or_else(|error| panic!("`{path}` must exist in the root of the workspace: {error}"))
}

/// Folder names directly below `path`, sorted; none if it does not exist.
fn folders(path: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(crate::root().join(path)) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .map(|it| it.unwrap())
        .filter(|it| it.file_type().unwrap().is_dir())
        .map(|it| it.file_name().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// Folders of the crates below `crates`, as paths from the root.
fn library_crates() -> Vec<String> {
    let crates: Vec<String> =
        folders("crates").iter().map(|name| format!("crates/{name}")).collect();
    assert!(!crates.is_empty(), "there are no crates");
    crates
}

/// Every file below `path` with one of these extensions, as sorted paths from the root. Hidden
/// folders and what builds and fuzzing leave behind are passed over.
fn files(path: &str, extensions: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    collect(&crate::root().join(path), extensions, &mut found);
    let mut found: Vec<String> = found
        .iter()
        .map(|it| it.strip_prefix(crate::root()).unwrap().to_str().unwrap().replace('\\', "/"))
        .collect();
    found.sort();
    found
}

fn collect(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            let left_out = ["target", "corpus", "node_modules"].contains(&name)
                || path.ends_with("fuzz/artifacts");
            if !left_out && !name.starts_with('.') {
                collect(&path, extensions, found);
            }
        } else if path.extension().is_some_and(|it| extensions.iter().any(|ext| it == *ext)) {
            found.push(path);
        }
    }
}
