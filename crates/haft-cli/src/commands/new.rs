//! `haft new`

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result};

use crate::args::{AgentTemplate, NewArgs};
use crate::shell_word::quote_word;
use crate::terminal::{print_line, sanitize};
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
            Self::Http => &[
                ("agent.toml", include_str!("new/http/agent.toml")),
                ("script.yaml", include_str!("new/http/script.yaml")),
            ],
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
    let name = dir.display().to_string();
    let shown = quote_word(&name);
    if args.template == AgentTemplate::Git && create_repository(dir)? {
        print_line(format_args!("{shown} is in no Git repository, so it got one of its own"));
    }
    super::print_text(&format!(
        "created {shown}; try:\n  haft run {shown}\n  haft check {shown}\n  haft tools {shown}\n  \
         haft chat {shown} --model openai:gpt-5-mini\n"
    ))
}

/// Makes a directory that is in no Git repository one of its own, whose first commit has the new files. Returns whether it
/// did.
fn create_repository(dir: &Path) -> Result<bool> {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        let output = command.arg("-C").arg(dir).args(args).stdin(Stdio::null()).output();
        output.map_err(|error| {
            let text = format!("the template `git` needs the program `git`: {error}");
            let hint = "install it, or begin with another --template; the files were created";
            anyhow::Error::from(UserError::new(text).hint(hint))
        })
    };
    if git(&["rev-parse", "--git-dir"])?.status.success() {
        return Ok(false);
    }
    for args in [
        &["init", "--quiet"][..],
        &["add", "--all"],
        &[
            "-c",
            "user.name=haft",
            "-c",
            "user.email=haft@localhost",
            "-c",
            "commit.gpgsign=false",
            "commit",
            "--quiet",
            "--message",
            "Begin with the files of `haft new`",
        ],
    ] {
        let output = git(args)?;
        if !output.status.success() {
            let reason = sanitize(String::from_utf8_lossy(&output.stderr).trim());
            let text = format!("cannot make `{}` a Git repository: {reason}", dir.display());
            let hint = "the files were created; they need a repository around them";
            return Err(UserError::new(text).hint(hint).into());
        }
    }
    Ok(true)
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)
            .with_context(|| format!("cannot create `{}`", dir.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
