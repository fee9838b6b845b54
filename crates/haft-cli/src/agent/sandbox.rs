//! What the programs of an agent may read, write and reach.

use std::path::{Component, Path, PathBuf};

use haft_sandbox::Policy;
use schemars::JsonSchema;
use serde::Deserialize;

use super::source::AgentFileError;
use crate::state_dir::{state_dir, user_dir};

/// The sandbox of the programs that the agent starts: commands, `prepare` and MCP servers with `argv`. They read everything
/// but hidden paths, write only what is listed here and private directories that end with them, and have no network but the
/// loopback address of their own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxTable {
    /// Files and directories that can be written, relative to the agent's directory; default: `["."]`. `agent.toml` and what
    /// it names, the configuration and the hooks of git and the start-up files of shells stay as they are.
    write: Option<Vec<String>>,
    /// Files and directories that cannot be read, relative to the agent's directory, in addition to those that are always
    /// hidden: the state of `haft`, keys and credentials in the home directory, and files `.env`.
    #[serde(default)]
    hide: Vec<String>,
}

impl SandboxTable {
    pub(super) const fn new(write: Option<Vec<String>>, hide: Vec<String>) -> Self {
        Self { write, hide }
    }
}

/// The sandbox of one program: a table that is laid over `[sandbox]`, or `false`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a table, such as { write = [\"target\"] }, or false")]
pub(super) enum ProgramSandbox {
    /// `false`: the program runs with all rights of the user. `true`: with `[sandbox]`.
    Switch(bool),
    /// What differs from `[sandbox]`.
    Table(SandboxTable),
}

/// The sandbox of an agent.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentSandbox {
    table: Option<SandboxTable>,
    dir: PathBuf,
    /// The agent file and what it names.
    protected: Vec<PathBuf>,
    /// The paths of `haft`.
    own: Vec<PathBuf>,
}

impl AgentSandbox {
    /// The sandbox of the agent with this file, which hides the paths of `haft`.
    pub(super) fn new(
        table: Option<&SandboxTable>,
        dir: &Path,
        file: &Path,
        own: Vec<PathBuf>,
    ) -> Self {
        Self { table: table.cloned(), dir: dir.to_owned(), protected: vec![file.to_owned()], own }
    }

    /// The same, with more files that no program changes.
    pub(super) fn protecting(mut self, files: Vec<PathBuf>) -> Self {
        self.protected.extend(files);
        self
    }

    pub(super) fn agent_dir(&self) -> &Path {
        &self.dir
    }

    /// What the agent file says about the sandbox of a program.
    pub(super) fn definition(&self, program: Option<&ProgramSandbox>) -> String {
        format!("{:?} {program:?}", self.table)
    }

    /// Whether a program is confined.
    pub(super) const fn confines(&self, program: Option<&ProgramSandbox>) -> bool {
        match program {
            Some(ProgramSandbox::Switch(is_on)) => *is_on,
            Some(ProgramSandbox::Table(_)) => true,
            None => self.table.is_some(),
        }
    }

    /// The policy of a program that works in `dir`; nothing if it runs with all rights of the user.
    pub(super) fn policy(
        &self,
        program: Option<&ProgramSandbox>,
        dir: &Path,
    ) -> Result<Option<Policy>, AgentFileError> {
        if !self.confines(program) {
            return Ok(None);
        }
        let agent_dir = absolute(&self.dir);
        let mut policy = Policy::new(absolute(dir)).read(&agent_dir);
        for path in self.writable_paths(program)? {
            policy = policy.write(path);
        }
        for path in self.tables(program).flat_map(|it| &it.hide) {
            policy = policy.hide(resolve(path, &agent_dir)?);
        }
        for path in self.own.iter().chain(&hidden_paths()) {
            policy = match path.ends_with(DEFAULT_STORE) {
                true => policy.reserve(absolute(path)),
                false => policy.hide(absolute(path)),
            };
        }
        for path in self.protected.iter().chain(&startup_files()) {
            policy = policy.protect(absolute(path));
        }
        Ok(Some(policy.reserve(agent_dir.join(DEFAULT_STORE))))
    }

    /// The table of the program, and that of the agent file.
    fn tables<'t>(
        &'t self,
        program: Option<&'t ProgramSandbox>,
    ) -> impl Iterator<Item = &'t SandboxTable> {
        let own = match program {
            Some(ProgramSandbox::Table(table)) => Some(table),
            _ => None,
        };
        own.into_iter().chain(&self.table)
    }

    /// What a program may write.
    fn writable_paths(
        &self,
        program: Option<&ProgramSandbox>,
    ) -> Result<Vec<PathBuf>, AgentFileError> {
        let agent_dir = absolute(&self.dir);
        let paths = self.tables(program).find_map(|it| it.write.clone());
        let paths = paths.unwrap_or_else(|| vec![".".to_owned()]);
        paths.iter().map(|it| self.writable(it, &agent_dir)).collect()
    }

    /// What a program may write below the agent's directory, relative to it.
    pub(super) fn writable_below(
        &self,
        program: &ProgramSandbox,
    ) -> Result<Vec<PathBuf>, AgentFileError> {
        let agent_dir: PathBuf = absolute(&self.dir).components().collect();
        let paths = self.writable_paths(Some(program))?.into_iter();
        let below = paths.filter_map(|it| {
            let path: PathBuf = it.components().filter(|part| *part != Component::CurDir).collect();
            if agent_dir.starts_with(&path) {
                return Some(PathBuf::new());
            }
            path.strip_prefix(&agent_dir).ok().map(Path::to_owned)
        });
        Ok(below.collect())
    }

    /// What a program neither reads nor changes, and what it does not change.
    pub(super) fn untouchable(
        &self,
        program: &ProgramSandbox,
    ) -> Result<Vec<PathBuf>, AgentFileError> {
        let agent_dir = absolute(&self.dir);
        let hidden = self.tables(Some(program)).flat_map(|it| &it.hide);
        let hidden = hidden.map(|it| resolve(it, &agent_dir));
        let protected = self.protected.iter().map(|it| Ok(absolute(it)));
        hidden.chain(protected).collect()
    }

    /// A path that the agent file makes writable. What it contains must not be the home directory, whose files decide what
    /// other programs do.
    fn writable(&self, path: &str, agent_dir: &Path) -> Result<PathBuf, AgentFileError> {
        let resolved = resolve(path, agent_dir)?;
        let has_home = home_dir().is_some_and(|home| {
            let home = home.canonicalize().unwrap_or(home);
            resolved.canonicalize().is_ok_and(|it| home.starts_with(it))
        });
        if has_home {
            let message =
                format!("`{path}` contains your home directory, which programs must not write");
            let error = AgentFileError::at(["sandbox", "write"], message);
            return Err(error.hint("name the directories in it that they need"));
        }
        Ok(resolved)
    }
}

/// A path of the agent file: relative to the agent's directory, absolute, or below `~/`.
fn resolve(path: &str, agent_dir: &Path) -> Result<PathBuf, AgentFileError> {
    let Some(in_home) = path.strip_prefix('~') else { return Ok(agent_dir.join(path)) };
    let home = home_dir().filter(|_| in_home.is_empty() || in_home.starts_with('/'));
    let no_home = || AgentFileError::at(["sandbox"], format!("`{path}` names no home directory"));
    Ok(home.ok_or_else(no_home)?.join(in_home.trim_start_matches('/')))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn home_dir() -> Option<PathBuf> {
    std::env::home_dir().filter(|it| it.is_absolute())
}

/// What no confined program sees: the state and the configuration of this program, and where others keep keys.
fn hidden_paths() -> Vec<PathBuf> {
    let own = [state_dir(), user_dir("XDG_CONFIG_HOME", ".config").map(|it| it.join("haft"))];
    let home = home_dir();
    let in_home = home.iter().flat_map(|home| SECRETS_IN_HOME.iter().map(|it| home.join(it)));
    own.into_iter().flatten().chain(in_home).collect()
}

/// What shells and git run when they start.
fn startup_files() -> Vec<PathBuf> {
    let home = home_dir();
    let files = home.iter().flat_map(|home| STARTUP_FILES_IN_HOME.iter().map(|it| home.join(it)));
    files.collect()
}

/// The name of a store whose address is not set. None can be planted where a program may write.
const DEFAULT_STORE: &str = ".haft";

const SECRETS_IN_HOME: [&str; 29] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/haft",
    ".local/state/haft",
    ".local/share/keyrings",
    ".git-credentials",
    ".kube",
    ".docker/config.json",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".password-store",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/opera",
    ".config/vivaldi",
    "snap/firefox",
    "snap/chromium",
];

const STARTUP_FILES_IN_HOME: [&str; 13] = [
    ".profile",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".bashrc",
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".zlogin",
    ".config/fish",
    ".config/git",
    ".gitconfig",
];
