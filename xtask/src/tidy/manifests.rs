//! Rules about `Cargo.toml` files.

use super::{folders, library_crates, read, report};

#[test]
fn every_crate_takes_the_workspace_lints() {
    let mut crates = library_crates();
    for name in ["acceptance", "xtask", "bench"] {
        if folders("").iter().any(|it| it == name) {
            crates.push(name.to_owned());
        }
    }
    let without = crates
        .into_iter()
        .filter(|it| !takes_workspace_lints(&read(&format!("{it}/Cargo.toml"))))
        .map(|it| format!("{it}/Cargo.toml: add `[lints]` with `workspace = true`"));
    report(&without.collect::<Vec<_>>());
}

#[test]
fn every_dependency_says_why() {
    let mut problems = Vec::new();
    for krate in library_crates() {
        let path = format!("{krate}/Cargo.toml");
        for dependency in dependencies(&read(&path)).into_iter().filter(|it| !it.explained) {
            let Dependency { name, line, .. } = dependency;
            problems.push(format!("{path}:{line}: say above `{name}` what it is for"));
        }
    }
    report(&problems);
}

/// What `cargo-deny` allows, and that every complete run asks it: a dependency brings its licence and its source with it.
#[test]
fn licences_and_sources_of_dependencies_are_checked() {
    let rules = read("deny.toml");
    let (_, licences) = rules.split_once("[licenses]").unwrap();
    let licences = licences.split("\n[").next().unwrap();
    let copyleft = ["GPL", "AGPL", "LGPL", "MPL", "EPL", "EUPL", "CDDL", "SSPL", "OSL"];
    let allowed = licences.split('"').skip(1).step_by(2);
    let bad = allowed.filter(|name| copyleft.iter().any(|it| name.starts_with(it)));
    report(&bad.map(|name| format!("deny.toml: {name} is not permissive")).collect::<Vec<_>>());
    for rule in ["unknown-registry", "unknown-git", "wildcards", "multiple-versions"] {
        let rule = format!("{rule} = \"deny\"");
        assert!(rules.lines().any(|line| line == rule), "deny.toml lacks `{rule}`");
    }
    let steps = crate::ci::steps(crate::root());
    let command = "cargo-deny --workspace check bans licenses sources";
    assert!(steps.iter().any(|step| step.to_string() == command), "nothing runs `{command}`");
}

/// The page of a crate in the registry and its package are complete.
#[test]
fn every_published_crate_can_be_published() {
    let mut problems = Vec::new();
    for package in super::layers::packages() {
        let name = package["name"].as_str().unwrap();
        let manifest = package["manifest_path"].as_str().unwrap();
        if package["publish"].as_array().is_some_and(Vec::is_empty) {
            continue;
        }
        for key in
            ["description", "license", "repository", "documentation", "readme", "rust_version"]
        {
            if package[key].as_str().is_none_or(str::is_empty) {
                problems.push(format!("{name}: the manifest has no `{key}`"));
            }
        }
        for key in ["keywords", "categories"] {
            if package[key].as_array().is_none_or(Vec::is_empty) {
                problems.push(format!("{name}: the manifest has no `{key}`"));
            }
        }
        let dir = std::path::Path::new(manifest).parent().unwrap();
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            if !dir.join(file).is_file() {
                problems.push(format!("{name}: `{file}` is missing"));
            }
        }
        let text = std::fs::read_to_string(manifest).unwrap();
        for entry in ["\"/README.md\"", "\"/LICENSE-*\"", "\"/src/**\""] {
            if !text.lines().any(|it| it.starts_with("include = ") && it.contains(entry)) {
                problems.push(format!("{name}: `include` lacks {entry}"));
            }
        }
        if dir.join("src/lib.rs").is_file() {
            if !text.contains("[package.metadata.docs.rs]\nall-features = true\n") {
                problems.push(format!("{name}: docs.rs shows no features"));
            }
            let library = std::fs::read_to_string(dir.join("src/lib.rs")).unwrap();
            if !library.contains("#![cfg_attr(docsrs, feature(doc_cfg))]") {
                problems.push(format!("{name}: docs.rs does not say which feature an item needs"));
            }
        }
    }
    report(&problems);
}

#[test]
fn the_toolchain_is_not_pinned() {
    for name in ["rust-toolchain.toml", "rust-toolchain"] {
        let there = crate::root().join(name).exists();
        assert!(!there, "{name}: any stable toolchain from `rust-version` on must do");
    }
}

#[derive(Debug, PartialEq)]
struct Dependency {
    name: String,
    line: usize,
    explained: bool,
}

/// What a manifest names under `[dependencies]`, also for single targets and as a table of its own.
/// Development and build dependencies are not listed: users of the crate do not compile the former.
fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut inside = false;
    let mut explained = false;
    for (line, text) in (1..).zip(manifest.lines()) {
        let mut push = |name: &str| {
            found.push(Dependency { name: name.trim().to_owned(), line, explained });
        };
        if let Some(section) = text.strip_prefix('[').and_then(|it| it.trim_end().strip_suffix(']'))
        {
            inside = section == "dependencies" || section.ends_with(".dependencies");
            let own = section.split_once("dependencies.");
            if let Some((target, name)) = own
                && (target.is_empty() || target.ends_with('.'))
            {
                push(name);
            }
        } else if inside
            && text.starts_with(|it: char| it.is_ascii_alphanumeric())
            && let Some((key, _)) = text.split_once('=')
        {
            push(key.split('.').next().unwrap());
        }
        explained = text.starts_with('#');
    }
    found
}

fn takes_workspace_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim);
    lines.any(|it| it == "[lints]")
        && lines.take_while(|it| !it.starts_with('[')).any(|it| it == "workspace = true")
}

#[test]
fn dependencies_are_read_from_every_form() {
    let manifest = "\
[package]
name = \"x\"

[dependencies]
# Why a.
a = \"1\"
b.workspace = true
# Why c.
c = { version = \"1\", features = [
  \"d\",
] }

# Why e.
[dependencies.e]
version = \"1\"

[target.'cfg(unix)'.dependencies]
f = \"1\"

[dev-dependencies]
g = \"1\"

[build-dependencies.h]
version = \"1\"
";
    let found = dependencies(manifest);
    let seen: Vec<(&str, usize, bool)> =
        found.iter().map(|it| (it.name.as_str(), it.line, it.explained)).collect();
    let expect =
        [("a", 6, true), ("b", 7, false), ("c", 9, true), ("e", 14, true), ("f", 18, false)];
    assert_eq!(seen, expect);
}

#[test]
fn workspace_lints_must_be_in_the_lints_table() {
    #[track_caller]
    fn check(manifest: &str, expect: bool) {
        assert_eq!(takes_workspace_lints(manifest), expect, "{manifest}");
    }
    check("[lints]\nworkspace = true\n", true);
    check("[package]\nname = \"x\"\n\n[lints]\n# All of them.\nworkspace = true\n", true);
    check("[package]\nworkspace = true\n", false);
    check("[lints]\n\n[dependencies]\nworkspace = true\n", false);
    check("", false);
}
