//! `haft new`

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::args::New;
use crate::failure::Failure;

const AGENT: &str = include_str!("new/agent.toml");
const SCRIPT: &str = include_str!("new/script.yaml");

pub(super) fn run(args: &New) -> Result<ExitCode> {
    let folder = &args.name;
    if folder.exists() {
        let failure = Failure::new(format!("`{}` is there already", folder.display()));
        return Err(failure.hint("choose another name; nothing was changed").into());
    }
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make `{}`", folder.display()))?;
    write(&folder.join("agent.toml"), AGENT)?;
    write(&folder.join("script.yaml"), SCRIPT)?;
    let shown = folder.display();
    super::print(&format!("made {shown}; try:\n  haft run {shown}\n  haft tools {shown}\n"))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
