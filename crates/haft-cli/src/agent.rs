//! Agents: reads the agent file and builds the tools that it describes.

mod agent_dir;
mod approvals;
mod arguments;
mod command;
mod file;
mod file_schema;
mod http;
mod mcp;
mod packs;
mod prepare;
mod sandbox;
mod script_errors;
mod shell;
mod source;
mod template;
mod tool_keys;
mod trusted_agents;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use haft::Tool;
use haft::executors::{ExecutorDescription, ScriptExecutor};
use haft::stores::StoreUrl;
use haft::turn::{CostLimit, Limits};
use sha2::{Digest as _, Sha256};

use self::agent_dir::{check_encoding, openable_dir, read_text_file, resolve_inside};
pub(crate) use self::file::AgentFile;
use self::file::{AgentFileReading, NamedProgram};
pub(crate) use self::file_schema::agent_file_schema;
pub(crate) use self::mcp::describe_problem;
use self::mcp::{ConnectedServers, McpServerTable};
use self::prepare::PreparedFile;
use self::sandbox::AgentSandbox;
pub(crate) use self::script_errors::ScriptErrors;
use self::source::{AgentFileError, AgentSource};
pub(crate) use self::tool_keys::ARTIFACT_KINDS;
use self::trusted_agents::AgentIdentity;
use crate::args::StoreArg;
use crate::config::UserConfig;
use crate::keyboard::{Keyboard, KeyboardInput, is_yes};
use crate::own_paths::OwnPaths;
use crate::state_dir::state_dir;
use crate::store_address::{StoreAddress, find_default_store, find_store_of};
use crate::terminal::{Terminal, TextRole, print_line, print_prompt, sanitize};
use crate::user_error::UserError;

/// An agent whose file was read and validated.
pub(crate) struct AgentDir {
    /// The directory of the agent file. Paths in the file are relative to it.
    pub(crate) dir: PathBuf,
    pub(crate) file: AgentFile,
    pub(crate) system: String,
    /// The store that the agent file names.
    store: Option<StoreAddress>,
    pub(crate) tools: Vec<Tool>,
    /// The MCP servers that are connected.
    servers: ConnectedServers,
    source: AgentSource,
    sandbox: AgentSandbox,
}

/// The name of the agent file in the directory of an agent.
const FILE_NAME: &str = "agent.toml";

impl AgentDir {
    /// The hash of the agent file.
    pub(crate) fn definition(&self) -> String {
        let hash = Sha256::digest(self.source.text());
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Loads an agent from its directory or from its file, to look at it.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        Self::load_protected(path, &OwnPaths::default())
    }

    /// Loads an agent whose tools for files do not touch the paths of this program.
    pub(crate) fn load_protected(path: &Path, own: &OwnPaths<'_>) -> Result<Self> {
        let AgentInspection { agent, errors } = Self::inspect(path, own)?;
        match errors.into_iter().next() {
            Some(first) => Err(first),
            None => agent.context("the agent file cannot be read"),
        }
    }

    /// Loads an agent as far as that is possible, and finds everything that is wrong with its file.
    ///
    /// Fails if the file cannot be read at all.
    pub(crate) fn inspect(path: &Path, own: &OwnPaths<'_>) -> Result<AgentInspection> {
        let path = match path.is_dir() {
            true => path.join(FILE_NAME),
            false => path.to_owned(),
        };
        check_encoding(&path)?;
        let AgentFileReading { file, source, errors } = AgentFile::read(&path)?;
        let mut errors: Vec<anyhow::Error> = errors.into_iter().map(Into::into).collect();
        let Some(file) = file else { return Ok(AgentInspection { agent: None, errors }) };
        let dir = openable_dir(path.parent().unwrap_or(Path::new(""))).to_owned();
        // The system prompt may be among the keys that have errors.
        let is_incomplete = !errors.is_empty();
        let system = match load_system_prompt(&file, &dir, &source) {
            Ok(system) => system,
            Err(_) if is_incomplete && file.system.is_none() && file.system_file.is_none() => {
                String::new()
            }
            Err(error) => {
                errors.push(error);
                String::new()
            }
        };
        let store = match file.store.as_ref().map(|it| it.to_address(&dir)).transpose() {
            Ok(store) => store,
            Err(error) => {
                errors.push(source.locate(error).into());
                None
            }
        };
        let of_file = store.as_ref().map(StoreAddress::own_paths).unwrap_or_default();
        let store_paths = match &store {
            _ if !own.store.is_empty() => own.store.clone(),
            Some(_) => of_file.store,
            None => vec![find_default_store(), find_store_of(&dir)],
        };
        let own_paths = store_paths.into_iter().chain(own.spool.clone()).chain(of_file.spool);
        let own_paths = own_paths.chain(own.files.iter().map(PathBuf::from));
        let own_paths: Vec<PathBuf> = own_paths.chain(state_dir()).collect();
        let sandbox = AgentSandbox::new(file.sandbox.as_ref(), &dir, &path, own_paths.clone());
        let named = named_files(&file, &sandbox);
        let sandbox = sandbox.protecting(named);
        let protected: Vec<PathBuf> = [path].into_iter().chain(own_paths).collect();
        let prepare = file.prepare.iter().filter_map(|it| it.validate(&sandbox).err());
        let built = file.tools.build(&sandbox, &protected, &file.approvals);
        let found = prepare.chain(built.errors).chain(file.limits.find_errors());
        errors.extend(found.map(|error| source.locate(error).into()));
        let agent = Self {
            dir,
            file,
            system,
            store,
            tools: built.tools,
            servers: ConnectedServers::default(),
            source,
            sandbox,
        };
        Ok(AgentInspection { agent: Some(agent), errors })
    }

    /// The name in the agent file, or the name of the agent's directory.
    pub(crate) fn name(&self) -> String {
        let dir_name = || self.dir.file_name().map(|it| it.to_string_lossy().into_owned());
        self.file.name.clone().or_else(dir_name).unwrap_or_else(|| "agent".to_owned())
    }

    /// The text of the agent file.
    pub(crate) fn text(&self) -> &str {
        self.source.text()
    }

    /// The name of the agent file in the agent's directory.
    pub(crate) fn file_name(&self) -> &OsStr {
        self.source.path().file_name().unwrap_or(FILE_NAME.as_ref())
    }

    /// The directory or the file of the store that the agent file sets, if it is on this machine.
    pub(crate) fn local_store(&self) -> Option<PathBuf> {
        match &self.store.as_ref()?.url {
            StoreUrl::Dir(path) | StoreUrl::Sqlite(path) => Some(path.clone()),
            _ => None,
        }
    }

    /// The path of the agent file without links, by which standing approvals know the agent.
    pub(crate) fn identity(&self) -> Result<String> {
        let path = self.source.path();
        let resolved = path.canonicalize();
        let resolved = resolved.with_context(|| format!("cannot resolve `{}`", path.display()))?;
        Ok(resolved.to_string_lossy().into_owned())
    }

    /// Loads the script that replaces a model.
    pub(crate) fn load_script(&self) -> Result<Option<ScriptExecutor>> {
        let Some(name) = &self.file.script else { return Ok(None) };
        let path = resolve_inside(&self.dir, name, "script");
        let path = path.map_err(|error| self.source.locate(error))?;
        let script = ScriptExecutor::parse(&read_text_file(&path)?);
        Ok(Some(script.map_err(|error| ScriptErrors::new(&path, error))?))
    }

    /// The default limits with the changes of the agent file, except for the cost.
    pub(crate) fn limits(&self) -> Limits {
        self.file.limits.apply(Limits::new())
    }

    /// The limits of turns whose steps an executor takes.
    ///
    /// # Errors
    ///
    /// The agent file limits the cost of a turn, and the prices of the model are not known.
    pub(crate) fn limits_with(
        &self,
        executor: &ExecutorDescription,
        config: &UserConfig,
    ) -> Result<Limits> {
        let limits = self.limits();
        let Some(max) = self.file.limits.cost() else { return Ok(limits) };
        // A script costs nothing.
        let ExecutorDescription::Model { provider, model, .. } = executor else {
            return Ok(limits);
        };
        let Some(prices) = config.prices_of(executor) else {
            let text = format!("the limit `cost` needs the prices of `{provider}:{model}`");
            let error = self.error_at(&["limits", "cost"], text);
            let key = format!("haft config set 'prices.\"{provider}:{model}\"");
            let hint = format!("dollars per million tokens: {key}.input' 0.25; {key}.output' 2");
            return Err(error.hint(hint).into());
        };
        Ok(limits.cost(Some(CostLimit::new(max, prices))))
    }

    /// The address of the store: the one of the command line or the environment, else the one of the agent file, else the
    /// default directory.
    pub(crate) fn store_address(&self, selected: &StoreArg) -> StoreAddress {
        self.chosen_store(selected).unwrap_or_else(|| selected.find_address())
    }

    /// The address of the store if another program starts the server of the agent, in a directory of its own.
    pub(crate) fn server_store_address(&self, selected: &StoreArg) -> StoreAddress {
        let default = || selected.with_spool(StoreAddress::find_default_of(&self.dir));
        self.chosen_store(selected).unwrap_or_else(default)
    }

    /// The store that the user or the agent file names.
    fn chosen_store(&self, selected: &StoreArg) -> Option<StoreAddress> {
        let of_file = || self.store.clone().map(|store| selected.with_spool(store));
        selected.selected().or_else(of_file)
    }

    /// Whether the agent has the pack `memory`.
    pub(crate) const fn has_memory(&self) -> bool {
        self.file.tools.has_memory()
    }

    /// Creates the files of `prepare` that do not exist yet, and connects to the MCP servers. Before it runs programs of an
    /// agent that the user has not trusted yet, it asks.
    pub(crate) async fn prepare(&mut self, is_trusted: bool, terminal: &Terminal) -> Result<()> {
        self.prepare_files(is_trusted, terminal).await?;
        self.prepare_servers(terminal).await
    }

    /// Connects to the MCP servers of an agent that the user trusts.
    pub(crate) async fn prepare_servers(&mut self, terminal: &Terminal) -> Result<()> {
        for warning in self.connect_servers().await? {
            let label = terminal.style_stderr(TextRole::Warning, "warning");
            print_line(format_args!("{label}: {}", sanitize(&warning)));
        }
        Ok(())
    }

    /// Creates the files of `prepare` that do not exist yet, and asks before it runs programs of an agent that the user has
    /// not trusted yet, servers included.
    pub(crate) async fn prepare_files(&self, is_trusted: bool, terminal: &Terminal) -> Result<()> {
        let commands = self.commands_before_turns();
        if !commands.is_empty() {
            let identity = AgentIdentity::new(&self.dir, self.source.text())?;
            if !identity.is_trusted() {
                if !is_trusted {
                    self.ask_for_trust(&commands, terminal).await?;
                }
                if let Err(error) = identity.remember() {
                    let text = format!("the agent is trusted for this run only: {error:#}");
                    let label = terminal.style_stderr(TextRole::Warning, "warning");
                    print_line(format_args!("{label}: {}", sanitize(&text)));
                }
            }
        }
        for file in self.file.prepare.iter().filter(|it| it.is_missing(&self.dir)) {
            let policy = file.policy(&self.sandbox).map_err(|error| self.source.locate(error))?;
            file.create(&self.dir, policy, terminal).await?;
        }
        Ok(())
    }

    /// The commands that run before a turn: those of missing files, and the MCP servers.
    fn commands_before_turns(&self) -> Vec<String> {
        let missing = self.file.prepare.iter().filter(|it| it.is_missing(&self.dir));
        let servers = self.file.tools.servers().values();
        let servers = servers.filter_map(McpServerTable::shown_command);
        missing.map(PreparedFile::shown_command).chain(servers).collect()
    }

    /// Whether the programs of the agent run without a question.
    pub(crate) fn is_trusted(&self) -> bool {
        self.check_trust().is_ok()
    }

    /// Returns an error if the programs of the agent need a question first.
    pub(crate) fn check_trust(&self) -> Result<(), UserError> {
        let commands = self.commands_before_turns();
        let is_trusted = || {
            AgentIdentity::new(&self.dir, self.source.text())
                .is_ok_and(|identity| identity.is_trusted())
        };
        if commands.is_empty() || is_trusted() { Ok(()) } else { Err(self.untrusted(&commands)) }
    }

    /// The error of an agent that is not trusted.
    fn untrusted(&self, commands: &[String]) -> UserError {
        let (shown, commands) = (self.dir.display(), commands.join("`, `"));
        let message = format!(
            "the agent in `{shown}` needs to run `{commands}` first, and it is not trusted yet"
        );
        UserError::new(message)
            .hint("an agent directory is code: read its agent.toml, and then pass --trust")
    }

    /// Says in one line which programs of the agent are confined; nothing if it has none.
    pub(crate) fn describe_sandbox(&self) -> Option<String> {
        let is_confined = |(_, (_, table)): &NamedProgram<'_>| self.sandbox.confines(*table);
        let (confined, free): (Vec<_>, Vec<_>) = programs_of(&self.file).partition(is_confined);
        let names = |programs: &[NamedProgram<'_>]| {
            let names = programs.iter().map(|(name, _)| format!("`{name}`"));
            names.collect::<Vec<_>>().join(", ")
        };
        match (confined.is_empty(), free.is_empty()) {
            (true, true) => None,
            (false, true) => Some("its programs run in a sandbox".to_owned()),
            (true, false) => Some("its programs run with all your rights".to_owned()),
            (false, false) => Some(format!(
                "its programs run in a sandbox, but {} with all your rights",
                names(&free)
            )),
        }
    }

    /// Whether a program of the agent needs a sandbox.
    pub(crate) fn needs_sandbox(&self) -> bool {
        programs_of(&self.file).any(|(_, (_, table))| self.sandbox.confines(table))
    }

    /// Whether the agent uses MCP servers.
    pub(crate) fn has_servers(&self) -> bool {
        !self.file.tools.servers().is_empty()
    }

    /// Asks the user whether the programs of this agent may run. Without a terminal they do not.
    async fn ask_for_trust(&self, commands: &[String], terminal: &Terminal) -> Result<()> {
        let shown = self.dir.display();
        if !Keyboard::is_interactive() {
            return Err(self.untrusted(commands).into());
        }
        let list: String = commands.iter().map(|it| format!("\n  {}", sanitize(it))).collect();
        let rights = self.describe_sandbox().map(|it| format!("{it}\n")).unwrap_or_default();
        let question = format!(
            "The agent in `{}` was not run before. Its directory is code; it first runs:{list}\n{rights}trust it? [y/N] ",
            sanitize(&shown.to_string())
        );
        print_prompt(&terminal.style_stderr(TextRole::Warning, question));
        match Keyboard::spawn().read_reply().await {
            KeyboardInput::Line(reply) if is_yes(&reply) => Ok(()),
            _ => Err(self.untrusted(commands).into()),
        }
    }

    /// Says that a key of the agent file has an error.
    pub(crate) fn error_at(&self, key: &[&str], message: impl std::fmt::Display) -> UserError {
        self.source.locate(AgentFileError::at(key.iter().copied(), message))
    }

    /// Finds programs and directories that the agent needs and this machine does not have.
    pub(crate) fn find_unusable_programs(&self) -> Vec<UserError> {
        let prepare = self.file.prepare.iter().filter_map(|it| it.find_problem(&self.dir));
        let errors = self.file.tools.find_unusable_programs(&self.dir).into_iter().chain(prepare);
        errors.map(|error| self.source.locate(error)).collect()
    }

    /// Finds environment variables that the tools need and that are not set.
    pub(crate) fn find_unset_variables(&self) -> Vec<UserError> {
        let errors = self.file.tools.find_unset_variables();
        errors.into_iter().map(|error| self.source.locate(error)).collect()
    }

    /// Finds approval questions with placeholders that are no arguments.
    pub(crate) fn find_unknown_placeholders(&self) -> Vec<UserError> {
        let errors = self.file.tools.find_unknown_placeholders();
        errors.into_iter().map(|error| self.source.locate(error)).collect()
    }
}

/// The files of the agent's directory that decide what runs unconfined: the prompt, the script, and what is on the command
/// lines of programs that are not confined.
fn named_files(file: &AgentFile, sandbox: &AgentSandbox) -> Vec<PathBuf> {
    let programs = programs_of(file).filter(|(_, (_, table))| !sandbox.confines(*table));
    let words = programs.flat_map(|(_, (argv, _))| argv.iter().map(Path::new));
    let texts = file.system_file.iter().chain(&file.script).map(PathBuf::as_path);
    let named = texts.chain(words).map(|it| sandbox.agent_dir().join(it));
    named.filter(|it| it.is_file()).collect()
}

/// Every program of an agent file, by the name of its tool, its server or its file, and how it is confined.
fn programs_of(file: &AgentFile) -> impl Iterator<Item = NamedProgram<'_>> {
    let prepared = file.prepare.iter().map(|it| (it.shown_file(), it.command()));
    file.tools.programs().chain(prepared)
}

/// An agent as far as it could be loaded, and everything that is wrong with its file.
pub(crate) struct AgentInspection {
    /// The agent, without the keys that have errors; nothing if the file is not TOML.
    pub(crate) agent: Option<AgentDir>,
    /// The errors, in the order in which `haft run` would meet them.
    pub(crate) errors: Vec<anyhow::Error>,
}

/// Loads the system prompt from the agent file or from the file that it names.
fn load_system_prompt(file: &AgentFile, dir: &Path, source: &AgentSource) -> Result<String> {
    let system = match (&file.system, &file.system_file) {
        (Some(_), Some(_)) => {
            let error = AgentFileError::at(
                ["system_file"],
                "`system` and `system_file` exclude each other",
            );
            return Err(source.locate(error.hint("keep one of them")).into());
        }
        (Some(text), None) => text.clone(),
        (None, Some(name)) => {
            let path = resolve_inside(dir, name, "system_file");
            read_text_file(&path.map_err(|error| source.locate(error))?)?
        }
        (None, None) => String::new(),
    };
    if system.trim().is_empty() {
        let error = AgentFileError::whole_file("the agent has no system prompt");
        let hint = "add `system = \"You …\"` or `system_file = \"prompt.md\"`";
        return Err(source.locate(error.hint(hint)).into());
    }
    Ok(system)
}
