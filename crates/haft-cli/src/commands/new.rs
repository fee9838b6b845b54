//! `haft new`

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::args::NewArgs;
use crate::user_error::UserError;

const AGENT_FILE: &str = include_str!("new/agent.toml");
const SCRIPT: &str = include_str!("new/script.yaml");

pub(super) fn create_agent(args: &NewArgs) -> Result<ExitCode> {
    let dir = &args.name;
    if dir.exists() {
        let error = UserError::new(format!("`{}` already exists", dir.display()));
        return Err(error.hint("choose another name; nothing was changed").into());
    }
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create `{}`", dir.display()))?;
    write_file(&dir.join("agent.toml"), AGENT_FILE)?;
    write_file(&dir.join("script.yaml"), SCRIPT)?;
    let shown = dir.display();
    super::print_text(&format!("created {shown}; try:\n  haft run {shown}\n  haft tools {shown}\n"))
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
