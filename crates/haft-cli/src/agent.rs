//! Agents: a file that says what an agent is, and what is made of it.

mod command;
mod file;
mod schema;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use haft::Tool;
use haft::executors::Scripted;
use haft::turn::Limits;

pub(crate) use self::file::AgentFile;
use crate::failure::Failure;

/// An agent that was read and checked.
pub(crate) struct Agent {
    /// The folder that its paths start from.
    pub(crate) folder: PathBuf,
    pub(crate) file: AgentFile,
    pub(crate) system: String,
    pub(crate) tools: Vec<Tool>,
}

/// The name of the file in an agent's folder.
const FILE: &str = "agent.toml";

impl Agent {
    /// Reads the agent in a folder or file.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let path = match path.is_dir() {
            true => path.join(FILE),
            false => path.to_owned(),
        };
        let file = AgentFile::read(&path)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let system = match (&file.system, &file.system_file) {
            (Some(_), Some(_)) => {
                let failure = Failure::new(format!(
                    "{}: `system` and `system_file` exclude each other",
                    path.display()
                ));
                return Err(failure.hint("keep one of them").into());
            }
            (Some(text), None) => text.clone(),
            (None, Some(name)) => text_file(&folder.join(name))?,
            (None, None) => String::new(),
        };
        if system.trim().is_empty() {
            let failure =
                Failure::new(format!("{}: the agent has no system prompt", path.display()));
            return Err(failure
                .hint("add `system = \"You …\"`, or `system_file = \"prompt.md\"`")
                .into());
        }
        let tools = file.tools.build(&folder).with_context(|| format!("in {}", path.display()))?;
        Ok(Self { folder, file, system, tools })
    }

    /// What it is called.
    pub(crate) fn name(&self) -> String {
        let folder = || self.folder.file_name().map(|it| it.to_string_lossy().into_owned());
        self.file.name.clone().or_else(folder).unwrap_or_else(|| "agent".to_owned())
    }

    /// The script for runs without a model.
    pub(crate) fn script(&self) -> Result<Option<Scripted>> {
        let Some(name) = &self.file.script else { return Ok(None) };
        let path = self.folder.join(name);
        let script = Scripted::parse(&text_file(&path)?);
        Ok(Some(script.with_context(|| format!("in {}", path.display()))?))
    }

    pub(crate) fn limits(&self) -> Limits {
        self.file.limits.on(Limits::new())
    }
}

/// Longest text that an agent is made of, in bytes.
const MAX_TEXT: u64 = 1024 * 1024;

/// Reads a text of moderate length.
fn text_file(path: &Path) -> Result<String> {
    let shown = path.display();
    let length = std::fs::metadata(path).with_context(|| format!("cannot read `{shown}`"))?.len();
    if length > MAX_TEXT {
        let failure = Failure::new(format!("`{shown}` has {length} bytes"));
        return Err(failure
            .hint(format!("at most {MAX_TEXT} are read: is this the right file?"))
            .into());
    }
    std::fs::read_to_string(path).with_context(|| format!("cannot read `{shown}` as text"))
}
