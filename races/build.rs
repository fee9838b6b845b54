//! Writes parts of `haft` anew, with locks that a scheduler sees: the same lines, but for where locks come from.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const HUB: &str = "../crates/haft/src/events";
const PARTS: [&str; 3] = ["filter", "queue", "subscription"];
const BELLS: &str = "../crates/haft/src/turn/gates/bells.rs";
const LEASES: &str = "../crates/haft/src/turn/lease.rs";
/// Where what renews ends, and what writes begins.
const LEASES_END: &str = "/// Writes under the lease of a turn.";
/// What waits in Tokio's way or asks a store, and what stands for it.
const BELL_DOUBLES: [(&str, &str); 2] = [
    ("use tokio::sync::Notify;", "use super::super::watch::Notify;"),
    ("use haft_core::store::{GateId, Store};", "use super::super::watch::{GateId, Store};"),
];
const LEASE_DOUBLES: [(&str, &str); 6] = [
    ("use haft_core::context::Recorder;\n", ""),
    ("use haft_core::stash::Registry;\n", ""),
    ("use super::journal::Entry;\n", ""),
    ("use super::timed::TimedStore;\n", ""),
    ("use tokio::task::JoinSet;", "use super::watch::JoinSet;"),
    (
        "use haft_core::store::{Lease, Store, StoreError, StoreFuture, Write};",
        "use super::lease_store::{Lease, Store, StoreError};",
    ),
];
/// What is left out: it does not race, and needs more of `haft`.
const LEFT_OUT: [&str; 5] = [
    "mod spans;",
    "mod trace;",
    "#[cfg(feature = \"otlp\")]",
    "pub(crate) use self::spans",
    "pub use self::trace",
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={HUB}.rs");
    println!("cargo::rerun-if-changed={HUB}");
    let mut hub = source(&format!("{HUB}.rs"))?;
    for part in PARTS {
        let declared = format!("mod {part};\n");
        if !hub.contains(&declared) {
            return Err(io::Error::other(format!("the hub has no `{part}` any more")));
        }
        let body = source(&format!("{HUB}/{part}.rs"))?;
        hub = hub.replace(&declared, &format!("mod {part} {{\n{body}}}\n"));
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("events.rs"), hub)?;
    fs::write(out.join("bells.rs"), doubled(BELLS, &BELL_DOUBLES)?)?;
    let leases = doubled(LEASES, &LEASE_DOUBLES)?;
    let Some((leases, _)) = leases.split_once(LEASES_END) else {
        return Err(io::Error::other(format!("the leases have no `{LEASES_END}` any more")));
    };
    fs::write(out.join("leases.rs"), leases)
}

fn source(path: &str) -> io::Result<String> {
    let text = fs::read_to_string(Path::new(path))?;
    let left_out = |line: &str| LEFT_OUT.iter().any(|it| line.starts_with(it));
    let kept = text.lines().filter(|line| !line.starts_with("//!") && !left_out(line));
    let kept: String = kept.flat_map(|line| [line, "\n"]).collect();
    Ok(kept.replace("std::sync", "shuttle::sync"))
}

/// A source with doubles in it.
fn doubled(path: &str, doubles: &[(&str, &str)]) -> io::Result<String> {
    println!("cargo::rerun-if-changed={path}");
    let mut text = source(path)?;
    for (theirs, ours) in doubles {
        if !text.contains(theirs) {
            return Err(io::Error::other(format!("{path} has no `{theirs}` any more")));
        }
        text = text.replace(theirs, ours);
    }
    Ok(text)
}
