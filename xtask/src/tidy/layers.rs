//! Which module and which crate may name which.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use super::report;
use crate::source;

/// Top-level modules that still are in an import cycle. The list shrinks: a module that has left its cycle is taken
/// out, and none is added.
const CYCLIC: [(&str, &[&str]); 0] = [];

/// What each crate may depend on among ours. Development dependencies are free.
const MAY_USE: [(&str, &[&str]); 15] = [
    ("haft-core", &[]),
    ("haft-macros", &[]),
    ("haft-sandbox", &[]),
    ("haft-http", &["haft-core"]),
    ("haft-artifacts", &["haft-core"]),
    ("haft-providers", &["haft-core", "haft-http"]),
    ("haft-stores", &["haft-core"]),
    ("haft-tools", &["haft-artifacts", "haft-core", "haft-http", "haft-macros"]),
    (
        "haft",
        &[
            "haft-artifacts",
            "haft-core",
            "haft-http",
            "haft-macros",
            "haft-providers",
            "haft-stores",
            "haft-tools",
        ],
    ),
    ("haft-conformance", &["haft", "haft-core", "haft-providers", "haft-stores"]),
    ("haft-mcp", &["haft", "haft-core", "haft-http"]),
    ("haft-restate", &["haft"]),
    ("haft-server", &["haft", "haft-core", "haft-http"]),
    ("haft-inspector", &["haft-server"]),
    (
        "haft-cli",
        &["haft", "haft-core", "haft-inspector", "haft-mcp", "haft-sandbox", "haft-server"],
    ),
];

/// How many crates `haft-core` may bring into a program, itself not counted, with its default features and without
/// them: everyone who writes a tool or a store compiles them all. A change that raises a number gives its reason here.
///
/// `jsonschema`, behind the default feature `foreign-schemas`, brings 46 of them. `base64` and `hmac` with its two crates
/// for constant-time comparison replaced code of our own. `unicode-security` and `unicode-normalization`, with two crates of
/// theirs, replaced a list of lookalikes that had gaps.
const MAX_CORE_TREE: [(&[&str], usize); 2] = [(&[], 86), (&["--no-default-features"], 40)];

#[test]
fn modules_have_no_import_cycle() {
    let mut problems = Vec::new();
    for krate in source::read_crates(crate::root()).unwrap() {
        let graph = source::module_graph(&krate);
        let cyclic = source::cyclic_modules(&graph);
        let known = CYCLIC.iter().find(|(name, _)| *name == krate.name);
        let known: BTreeSet<String> =
            known.into_iter().flat_map(|(_, it)| *it).map(|it| (*it).to_owned()).collect();
        for module in cyclic.difference(&known) {
            let back: Vec<&String> = graph[module].intersection(&cyclic).collect();
            problems.push(format!("{}: `{module}` is in an import cycle: {back:?}", krate.name));
        }
        for module in known.difference(&cyclic) {
            problems.push(format!("{}: take `{module}` out of `CYCLIC`", krate.name));
        }
    }
    report(&problems);
}

#[test]
fn crates_depend_in_one_direction() {
    let packages = packages();
    let ours: BTreeMap<&str, &Value> =
        packages.iter().map(|it| (it["name"].as_str().unwrap(), it)).collect();
    let mut problems = Vec::new();
    for (name, package) in &ours {
        let Some((_, allowed)) = MAY_USE.iter().find(|(it, _)| it == name) else {
            problems.push(format!("{name}: say in `MAY_USE` what it may depend on"));
            continue;
        };
        let used = package["dependencies"].as_array().unwrap().iter();
        let used = used.filter(|it| it["kind"] != "dev").map(|it| it["name"].as_str().unwrap());
        for other in used.filter(|it| ours.contains_key(it) && !allowed.contains(it)) {
            problems.push(format!("{name} must not depend on {other}"));
        }
    }
    report(&problems);
}

#[test]
fn core_brings_few_crates() {
    for (features, limit) in MAX_CORE_TREE {
        let count = tree_of_core(features);
        assert!(count <= limit, "haft-core {features:?} brings {count} crates, at most {limit}");
    }
}

/// The crates that `haft-core` brings into a program on Linux.
fn tree_of_core(features: &[&str]) -> usize {
    let mut command = cargo();
    command.args(["tree", "--locked", "-p", "haft-core", "--edges", "normal,build"]);
    command.args(["--target", "x86_64-unknown-linux-gnu", "--prefix", "none"]).args(features);
    let output = command.args(["--format", "{p}"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let crates: BTreeSet<&str> =
        text.lines().map(|it| it.trim_end_matches(" (*)")).filter(|it| !it.is_empty()).collect();
    crates.len() - 1
}

/// The packages in `crates`, as cargo describes them.
pub(super) fn packages() -> Vec<Value> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1", "--locked", "--offline", "--no-deps"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let is_in_crates = |it: &&Value| it["manifest_path"].as_str().unwrap().contains("/crates/");
    metadata["packages"].as_array().unwrap().iter().filter(is_in_crates).cloned().collect()
}

fn cargo() -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(crate::root());
    command
}
