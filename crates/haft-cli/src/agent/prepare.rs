//! Files that an agent needs and that are made on its first run.

use std::fs::Permissions;
use std::io::{Read, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::folder;
use super::place::Fault;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// A file, and the program whose output it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Preparation {
    /// The file, inside the agent's folder. It is made if it is not there, and never changed.
    file: PathBuf,
    /// The program and its words. There is no shell.
    argv: Vec<String>,
    /// How large the file becomes, for the bar that shows progress.
    bytes: Option<u64>,
}

impl Preparation {
    /// Makes the file if it is not there. It appears whole or not at all.
    pub(super) fn run(&self, folder: &Path, terminal: &Terminal) -> Result<()> {
        let path = folder.join(&self.file);
        if path.exists() {
            return Ok(());
        }
        let shown = path.display();
        let Some(program) = self.argv.first() else { return Ok(()) };
        let parent = self.parent(folder).with_context(|| format!("cannot make `{shown}`"))?;
        let Some(parent) = parent else {
            return Err(Failure::new(self.outside()).hint(OUTSIDE).into());
        };
        // As any file that a program makes, and not for one user alone.
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(&parent)
            .with_context(|| format!("cannot make `{shown}`"))?;
        let mut command =
            Command::new(super::command::runnable(&super::command::resolved(program, folder)));
        command.args(self.argv.iter().skip(1)).current_dir(folder).env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run `{program}`, which makes `{shown}`"))?;
        let bar = terminal.bar(format!("making {shown}"), self.bytes);
        let written = match child.stdout.take() {
            Some(mut out) => copied(&mut out, &mut file, |bytes| bar.at(bytes)),
            None => Ok(()),
        };
        drop(bar);
        let status = child.wait()?;
        written.with_context(|| format!("cannot write `{shown}`"))?;
        if !status.success() {
            let failure =
                Failure::new(format!("`{program}`, which makes `{shown}`, failed: {status}"));
            return Err(failure.into());
        }
        let made = parent.join(self.file.file_name().unwrap_or_default());
        file.persist(made).with_context(|| format!("cannot write `{shown}`"))?;
        Ok(())
    }

    /// The folder of the file, past all links, which is made if need be. Nothing if a link leads out of the
    /// agent's folder; then nothing is made either.
    fn parent(&self, agent: &Path) -> std::io::Result<Option<PathBuf>> {
        if self.leads_out(agent)? {
            return Ok(None);
        }
        let home = folder::home(agent);
        let path = home.join(&self.file);
        let parent = path.parent().unwrap_or(home);
        std::fs::create_dir_all(parent)?;
        let parent = parent.canonicalize()?;
        Ok(folder::holds(agent, &parent)?.then_some(parent))
    }

    /// Whether what is there of the file's folder lies elsewhere.
    fn leads_out(&self, agent: &Path) -> std::io::Result<bool> {
        let home = folder::home(agent);
        let path = home.join(&self.file);
        let there = path.ancestors().skip(1).find(|it| it.exists()).unwrap_or(home);
        Ok(!folder::holds(agent, there)?)
    }

    fn outside(&self) -> String {
        format!("`{}` is not inside the agent's folder, because of a link", self.file.display())
    }

    /// What keeps it from being made on this machine, if anything does.
    pub(super) fn missing(&self, folder: &Path) -> Option<Fault> {
        let program = super::command::resolved(self.argv.first()?, folder);
        if folder.join(&self.file).exists() {
            return None;
        }
        if self.leads_out(folder).unwrap_or(false) {
            return Some(Fault::at(["prepare"], self.outside()).hint(OUTSIDE));
        }
        let what = super::command::absent(&program)?;
        Some(Fault::at(["prepare"], what).hint(super::command::INSTALL))
    }

    /// Refuses what cannot be made.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let shown = self.file.display();
        if !folder::goes_down(&self.file) || self.file.file_name().is_none() {
            let fault =
                Fault::at(["prepare"], format!("`{shown}` is not inside the agent's folder"));
            return Err(fault.hint("write a path such as data/app.log"));
        }
        if self.argv.first().is_none_or(String::is_empty) {
            let what = format!("`argv` of `{shown}` begins with the program");
            return Err(Fault::at(["prepare"], what));
        }
        Ok(())
    }
}

fn copied(
    from: &mut impl Read,
    file: &mut tempfile::NamedTempFile,
    progress: impl Fn(u64),
) -> std::io::Result<()> {
    let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0_u64);
    loop {
        let read = from.read(&mut buffer)?;
        let Some(piece) = buffer.get(..read).filter(|it| !it.is_empty()) else {
            return file.as_file().sync_all();
        };
        file.write_all(piece)?;
        bytes += read as u64;
        progress(bytes);
    }
}

const OUTSIDE: &str = "put a folder in the place of the link, or name another file";
