//! The agents that a process offers, by their names.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};

use super::{OtherAgents, agent_name};
use crate::user_error::UserError;

/// Agents by their names: those of the command line, and those that began turns that were looked at.
#[derive(Debug, Default)]
pub(super) struct KnownAgents {
    paths: Mutex<BTreeMap<String, PathBuf>>,
    others: OtherAgents,
}

impl KnownAgents {
    /// Finds agents by their names: each directory is one, or contains some.
    pub(super) fn find(dirs: &[PathBuf], others: OtherAgents) -> Result<Self> {
        let mut agents = BTreeMap::new();
        for dir in dirs {
            let found = match dir.is_file() || dir.join(AGENT_FILE).is_file() {
                true => vec![dir.clone()],
                false => list_agent_dirs(dir)?,
            };
            if found.is_empty() {
                let error = UserError::new(format!("there is no agent in `{}`", dir.display()));
                return Err(error.hint("an agent is a directory with a file `agent.toml`").into());
            }
            for path in found {
                let path = std::fs::canonicalize(&path)
                    .with_context(|| format!("cannot resolve `{}`", path.display()))?;
                let name = agent_name(&path).unwrap_or_default();
                let other = agents.insert(name.clone(), path.clone()).filter(|it| *it != path);
                if let Some(other) = other {
                    let (one, two) = (other.display(), path.display());
                    let text = format!("two agents have the name `{name}`: `{one}` and `{two}`");
                    return Err(UserError::new(text).hint("rename the directory of one").into());
                }
            }
        }
        Ok(Self { paths: Mutex::new(agents), others })
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.lock().values().cloned().collect()
    }

    pub(super) fn path_of(&self, name: &str) -> Option<PathBuf> {
        self.lock().get(name).cloned()
    }

    /// Whether turns of other agents are run.
    pub(super) fn includes_others(&self) -> bool {
        self.others == OtherAgents::Included
    }

    /// The name of the agent at a path: that of its directory, and the path if another agent has it.
    pub(super) fn name_of(&self, path: &Path) -> String {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut paths = self.lock();
        if let Some((name, _)) = paths.iter().find(|(_, known)| **known == path) {
            return name.clone();
        }
        let shown = path.display().to_string();
        let name = agent_name(&path).filter(|it| !paths.contains_key(it)).unwrap_or(shown);
        paths.insert(name.clone(), path);
        name
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, PathBuf>> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lists the directories of agents in a directory.
fn list_agent_dirs(dir: &Path) -> Result<Vec<PathBuf>> {
    let paths = std::fs::read_dir(dir)
        .and_then(|entries| entries.map(|it| Ok(it?.path())).collect::<io::Result<Vec<_>>>());
    let mut paths = paths.with_context(|| format!("cannot read `{}`", dir.display()))?;
    paths.retain(|it| it.join(AGENT_FILE).is_file());
    paths.sort();
    Ok(paths)
}

/// The name of the agent file in the directory of an agent.
const AGENT_FILE: &str = "agent.toml";
