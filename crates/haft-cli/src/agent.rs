//! Agents: a file that says what an agent is, and what is made of it.

mod approvals;
mod command;
mod file;
mod folder;
mod http;
mod medium;
mod memories;
mod packs;
mod place;
mod prepare;
mod publish;
mod schema;
mod template;
mod text;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use haft::Tool;
use haft::executors::Scripted;
use haft::turn::Limits;

pub(crate) use self::file::AgentFile;
use self::place::{Fault, Source};
pub(crate) use self::publish::json_schema;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// An agent that was read and checked.
pub(crate) struct Agent {
    /// The folder that its paths start from.
    pub(crate) folder: PathBuf,
    pub(crate) file: AgentFile,
    pub(crate) system: String,
    pub(crate) tools: Vec<Tool>,
    source: Source,
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
        let (file, source) = AgentFile::read(&path)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let system = system(&file, &folder, &source)?;
        file.prepare
            .iter()
            .try_for_each(prepare::Preparation::check)
            .map_err(|it| source.failure(it))?;
        let tools = file.tools.build(&folder, &file.approvals);
        let tools = tools.map_err(|fault| source.failure(fault))?;
        Ok(Self { folder, file, system, tools, source })
    }

    /// What it is called.
    pub(crate) fn name(&self) -> String {
        let folder = || self.folder.file_name().map(|it| it.to_string_lossy().into_owned());
        self.file.name.clone().or_else(folder).unwrap_or_else(|| "agent".to_owned())
    }

    /// The script for runs without a model.
    pub(crate) fn script(&self) -> Result<Option<Scripted>> {
        let Some(name) = &self.file.script else { return Ok(None) };
        let path = text::inside(&self.folder, name, "script");
        let path = path.map_err(|fault| self.source.failure(fault))?;
        let script = Scripted::parse(&text::text_file(&path)?);
        Ok(Some(script.with_context(|| format!("in {}", path.display()))?))
    }

    pub(crate) fn limits(&self) -> Limits {
        self.file.limits.on(Limits::new())
    }

    /// Where its turns are kept: the folder that was asked for, or else the one that its file names.
    pub(crate) fn store(&self, asked: Option<&Path>) -> PathBuf {
        match (asked, &self.file.store) {
            (Some(asked), _) => asked.to_owned(),
            (None, Some(own)) => self.folder.join(own),
            (None, None) => crate::args::STORE.into(),
        }
    }

    /// Makes the files that it needs and that are not there yet.
    pub(crate) fn prepare(&self, terminal: &Terminal) -> Result<()> {
        self.file.prepare.iter().try_for_each(|it| it.run(&self.folder, terminal))
    }

    /// What keeps its tools from running on this machine.
    pub(crate) fn missing(&self) -> Vec<Failure> {
        let made = self.file.prepare.iter().filter_map(|it| it.missing(&self.folder));
        let missing = self.file.tools.missing(&self.folder).into_iter().chain(made);
        missing.map(|fault| self.source.failure(fault)).collect()
    }

    /// What its tools need from the environment, and do not find there now.
    pub(crate) fn unset(&self) -> Vec<String> {
        let unset = self.file.tools.unset();
        unset.into_iter().map(|fault| self.source.failure(fault).to_string()).collect()
    }
}

/// The system prompt, from where it is.
fn system(file: &AgentFile, folder: &Path, source: &Source) -> Result<String> {
    let system = match (&file.system, &file.system_file) {
        (Some(_), Some(_)) => {
            let fault = Fault::at(["system_file"], "`system` and `system_file` exclude each other");
            return Err(source.failure(fault.hint("keep one of them")).into());
        }
        (Some(text), None) => text.clone(),
        (None, Some(name)) => {
            let path = text::inside(folder, name, "system_file");
            text::text_file(&path.map_err(|fault| source.failure(fault))?)?
        }
        (None, None) => String::new(),
    };
    if system.trim().is_empty() {
        let fault = Fault::at([""; 0], "the agent has no system prompt");
        let hint = "add `system = \"You …\"`, or `system_file = \"prompt.md\"`";
        return Err(source.failure(fault.hint(hint)).into());
    }
    Ok(system)
}
