//! `cargo xtask api`: the public items of every library crate as text, one per line, in `xtask/api`.
//!
//! The text is read from the sources, not from the compiler, so that it does not depend on the toolchain. The lint
//! `unreachable_pub` makes every item marked `pub` one that users can reach, hence all of them are listed, each with the
//! module that defines it; `pub use` lines show where else it can be found. Implementations of traits are listed by
//! their heads. A change of the public API is a change of these files, which a reviewer sees.

mod render;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::source::{self, Krate};

/// Writes the files anew.
pub(crate) fn write(root: &Path) -> ExitCode {
    let written = snapshots(root).and_then(|all| {
        let dir = root.join("xtask/api");
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
        for (file, text) in all {
            fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(())
    });
    finish(written)
}

/// Compares the files with the sources.
pub(crate) fn check(root: &Path) -> ExitCode {
    finish(
        differences(root).and_then(
            |found| {
                if found.is_empty() { Ok(()) } else { Err(found.join("\n")) }
            },
        ),
    )
}

fn finish(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The lines in which files and sources differ, a heading before those of each crate.
pub(crate) fn differences(root: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for (file, text) in snapshots(root)? {
        let written = fs::read_to_string(&file).unwrap_or_default();
        if written == text {
            continue;
        }
        let name = file.file_name().unwrap_or_default().display();
        found.push(format!("xtask/api/{name} is out of date; run `cargo xtask api`:"));
        let only = |these: &str, others: &str, mark: char| -> Vec<String> {
            let others: std::collections::HashSet<&str> = others.lines().collect();
            let lines = these.lines().filter(|it| !others.contains(it));
            lines.take(20).map(|it| format!("{mark} {it}")).collect()
        };
        found.extend(only(&written, &text, '-'));
        found.extend(only(&text, &written, '+'));
    }
    Ok(found)
}

fn snapshots(root: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let crates = source::read_crates(root)?;
    let libraries = crates.iter().filter(|it| is_library(root, it));
    let file = |krate: &Krate| root.join("xtask/api").join(format!("{}.txt", krate.name));
    Ok(libraries.map(|krate| (file(krate), render::public_items(krate))).collect())
}

/// A crate of macros exports what its documentation says, and a binary exports nothing.
fn is_library(root: &Path, krate: &Krate) -> bool {
    let dir = root.join("crates").join(&krate.name);
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
    dir.join("src/lib.rs").is_file() && !manifest.contains("proc-macro = true")
}
