//! Files that an agent needs and that are made on its first run.

use std::fs::Permissions;
use std::io::{Read, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use schemars::JsonSchema;
use serde::Deserialize;

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
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).with_context(|| format!("cannot make `{shown}`"))?;
        // As any file that a program makes, and not for one user alone.
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(parent)
            .with_context(|| format!("cannot make `{shown}`"))?;
        let mut command = Command::new(super::command::resolved(program, folder));
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
        file.persist(&path).with_context(|| format!("cannot write `{shown}`"))?;
        Ok(())
    }

    /// Refuses what cannot be made.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let shown = self.file.display();
        let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if !self.file.components().all(inside) || self.file.file_name().is_none() {
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
