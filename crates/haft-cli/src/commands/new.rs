//! `haft new`

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::args::{AgentTemplate, NewArgs};
use crate::shell_word::quote_word;
use crate::user_error::UserError;

impl AgentTemplate {
    /// The files of a new agent, by their paths in its directory.
    const fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Hello => &[
                ("agent.toml", include_str!("new/hello/agent.toml")),
                ("script.yaml", include_str!("new/hello/script.yaml")),
            ],
            Self::Data => &[
                ("agent.toml", include_str!("new/data/agent.toml")),
                ("script.yaml", include_str!("new/data/script.yaml")),
                ("data/sales.json", include_str!("new/data/sales.json")),
            ],
            Self::Git => &[
                ("agent.toml", include_str!("new/git/agent.toml")),
                ("script.yaml", include_str!("new/git/script.yaml")),
            ],
            Self::Http => &[("agent.toml", include_str!("new/http/agent.toml"))],
        }
    }

    /// What `haft run` needs besides the name of the agent: a model, where a script cannot take its place offline.
    const fn run_options(self) -> &'static str {
        match self {
            Self::Hello | Self::Data | Self::Git => "",
            Self::Http => " --model openai:gpt-5-mini",
        }
    }
}

pub(super) fn create_agent(args: &NewArgs) -> Result<ExitCode> {
    let dir = &args.name;
    if dir.exists() {
        let error = UserError::new(format!("`{}` already exists", dir.display()));
        return Err(error.hint("choose another name; nothing was changed").into());
    }
    for (path, text) in args.template.files() {
        write_file(&dir.join(path), text)?;
    }
    let (name, options) = (dir.display().to_string(), args.template.run_options());
    let shown = quote_word(&name);
    super::print_text(&format!(
        "created {shown}; try:\n  haft run {shown}{options}\n  haft check {shown}\n  haft tools {shown}\n  \
         haft chat {shown} --model openai:gpt-5-mini\n"
    ))
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)
            .with_context(|| format!("cannot create `{}`", dir.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
