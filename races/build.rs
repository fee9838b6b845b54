//! Writes parts of `haft` anew, with locks that a scheduler sees: the same lines, but for where locks come from.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const HUB: &str = "../crates/haft/src/events";
const PARTS: [&str; 3] = ["filter", "queue", "subscription"];
const BELLS: &str = "../crates/haft/src/turn/gates/bells.rs";
/// What waits in Tokio's way or asks a store, and what stands for it.
const DOUBLES: [(&str, &str); 2] = [
    ("use tokio::sync::Notify;", "use super::super::watch::Notify;"),
    ("use haft_core::store::{GateId, Store};", "use super::super::watch::{GateId, Store};"),
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
    println!("cargo::rerun-if-changed={BELLS}");
    let mut bells = source(BELLS)?;
    for (theirs, ours) in DOUBLES {
        if !bells.contains(theirs) {
            return Err(io::Error::other(format!("the bells have no `{theirs}` any more")));
        }
        bells = bells.replace(theirs, ours);
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("bells.rs"), bells)?;
    fs::write(out.join("events.rs"), hub)
}

fn source(path: &str) -> io::Result<String> {
    let text = fs::read_to_string(Path::new(path))?;
    let left_out = |line: &str| LEFT_OUT.iter().any(|it| line.starts_with(it));
    let kept = text.lines().filter(|line| !line.starts_with("//!") && !left_out(line));
    let kept: String = kept.flat_map(|line| [line, "\n"]).collect();
    Ok(kept.replace("std::sync", "shuttle::sync"))
}
