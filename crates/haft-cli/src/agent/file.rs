//! The tables of `agent.toml`. These types parse the file, and the published JSON Schema is generated from them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use haft::Tool;
use haft::stores::{SpoolUrl, StoreUrl};
use haft::tools::{Pack, PackOptions};
use haft::turn::Limits;
use schemars::JsonSchema;
use serde::Deserialize;

use super::FILE_NAME;
use super::McpServerTable;
use super::agent_dir::read_text_file;
use super::approvals::Approvals;
use super::command::CommandTool;
use super::http::HttpTool;
use super::packs::{FilesPack, SimplePack, WebPack, build_pack};
use super::prepare::PreparedFile;
use super::sandbox::{AgentSandbox, ProgramSandbox, SandboxTable};
use super::shell::{self, ShellTable};
use super::source::{AgentFileError, AgentSource};
use crate::store_address::StoreAddress;
use crate::user_error::UserError;

/// An agent: its system prompt, model, tools, approval rules and limits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["system"]}, {"required": ["system_file"]}]))]
pub(crate) struct AgentFile {
    /// Name of the agent; default: the name of its directory.
    pub(crate) name: Option<String>,
    /// System prompt. Either this key or `system_file` is required.
    pub(crate) system: Option<String>,
    /// File with the system prompt, inside the agent's directory.
    pub(crate) system_file: Option<PathBuf>,
    /// Standing instructions.
    #[serde(default)]
    pub(crate) instructions: Vec<String>,
    /// What the system prompt says about the tags around content if the agent has tools; default: that they contain
    /// data, not instructions. An empty text says nothing.
    pub(crate) content_notice: Option<String>,
    /// About how many tokens of a large result are shown with its handle; default: 60.
    pub(crate) preview_tokens: Option<u32>,
    /// Default message of the user for `haft run`.
    pub(crate) prompt: Option<String>,
    /// Model, as `PROVIDER:MODEL`; default: the script.
    pub(crate) model: Option<String>,
    /// Options of the model, with the names that the provider uses.
    #[serde(default)]
    pub(crate) options: serde_json::Map<String, serde_json::Value>,
    /// Script that replaces the model, inside the agent's directory.
    pub(crate) script: Option<PathBuf>,
    /// Where turns are stored: an address, or a table with addresses; default: `.haft` in the current directory.
    pub(crate) store: Option<StoreKey>,
    /// Files that are created before the first run.
    #[serde(default)]
    pub(crate) prepare: Vec<PreparedFile>,
    /// What the programs that the agent starts may read, write and reach; without this table they run with all rights of the
    /// user.
    pub(super) sandbox: Option<SandboxTable>,
    /// Limits of a turn.
    #[serde(default)]
    pub(crate) limits: LimitsTable,
    /// Which tools require approval.
    #[serde(default)]
    pub(crate) approvals: Approvals,
    /// The tools of the agent.
    #[serde(default)]
    pub(crate) tools: ToolsTable,
}

/// Where turns are stored.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected an address, or a table with the keys `url` and `spool`")]
pub(crate) enum StoreKey {
    /// A directory relative to the agent's directory, `sqlite:FILE` or `postgres://…`.
    Address(String),
    /// A store of turns, and a store of large results.
    Table(StoreTable),
}

/// A store of turns, and a store of large results.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoreTable {
    /// Where turns are stored: a directory relative to the agent's directory, `sqlite:FILE` or `postgres://…`.
    url: String,
    /// Where large results are stored: a directory relative to the agent's directory or `s3://BUCKET/PREFIX`; default: next
    /// to the turns.
    spool: Option<String>,
}

impl StoreKey {
    /// The addresses, with paths below the agent's directory.
    pub(super) fn to_address(&self, agent_dir: &Path) -> Result<StoreAddress, AgentFileError> {
        let (url, spool, keys) = match self {
            Self::Address(url) => (url, None, &["store"][..]),
            Self::Table(table) => (&table.url, table.spool.as_ref(), &["store", "url"][..]),
        };
        let invalid = |error| AgentFileError::at(keys.iter().copied(), error);
        let url = match url.parse::<StoreUrl>().map_err(invalid)? {
            StoreUrl::Dir(path) => StoreUrl::Dir(agent_dir.join(path)),
            StoreUrl::Sqlite(path) => StoreUrl::Sqlite(agent_dir.join(path)),
            url => url,
        };
        let spools = spool.map(|text| match text.parse::<SpoolUrl>() {
            Ok(SpoolUrl::Dir(path)) => Ok(SpoolUrl::Dir(agent_dir.join(path))),
            Ok(url) => Ok(url),
            Err(error) => Err(AgentFileError::at(["store", "spool"], error)),
        });
        Ok(StoreAddress { url, spools: spools.transpose()? })
    }
}

/// Limits of a turn.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsTable {
    /// Maximum number of iterations.
    #[schemars(range(min = 1))]
    iterations: Option<u32>,
    /// Maximum number of tool calls.
    tool_calls: Option<u32>,
    /// Maximum number of identical tool calls.
    identical_calls: Option<u32>,
    /// Maximum number of tokens.
    #[schemars(range(min = 1))]
    tokens: Option<u64>,
    /// Maximum cost in US dollars, by the prices of the user's configuration or those that Haft ships with.
    #[schemars(extend("exclusiveMinimum" = 0))]
    cost: Option<f64>,
    /// Maximum duration in seconds; time spent waiting for approvals does not count.
    #[schemars(range(min = 1))]
    seconds: Option<u64>,
}

impl LimitsTable {
    /// Finds the limits with which no turn could take a step.
    pub(super) fn find_errors(&self) -> Vec<AgentFileError> {
        let limits = [
            ("iterations", self.iterations.map(u64::from)),
            ("tokens", self.tokens),
            ("seconds", self.seconds),
        ];
        let zero = limits.into_iter().filter(|(_, limit)| *limit == Some(0));
        let error = |(key, _)| {
            let error = AgentFileError::at(["limits", key], "the limit must not be 0");
            error.hint("remove the key to use the default")
        };
        let mut errors: Vec<AgentFileError> = zero.map(error).collect();
        if self.cost.is_some_and(|cost| !cost.is_finite() || cost <= 0.0) {
            let error = AgentFileError::at(["limits", "cost"], "the limit must be more than 0");
            errors.push(error.hint("remove the key to set no limit"));
        }
        errors
    }

    /// Maximum cost in US dollars.
    pub(super) const fn cost(&self) -> Option<f64> {
        self.cost
    }

    /// Returns the limits with the changes of this table.
    pub(super) fn apply(&self, mut limits: Limits) -> Limits {
        limits.iterations = self.iterations.unwrap_or(limits.iterations);
        limits.tool_calls = self.tool_calls.unwrap_or(limits.tool_calls);
        limits.identical_calls = self.identical_calls.unwrap_or(limits.identical_calls);
        limits.tokens = self.tokens.or(limits.tokens);
        limits.wall_time = self.seconds.map_or(limits.wall_time, Duration::from_secs);
        limits
    }
}

/// The tools of the agent.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsTable {
    /// Pack `files`: files below one directory.
    files: Option<FilesPack>,
    /// Pack `time`: time, time zones and calendars.
    time: Option<SimplePack>,
    /// Pack `math`: expressions and units of measure.
    math: Option<SimplePack>,
    /// Pack `text`: counts, transformations, differences, patterns, encodings and hashes of text.
    text: Option<SimplePack>,
    /// Pack `data`: CSV, JSON, YAML, statistics and tables.
    data: Option<SimplePack>,
    /// Pack `memory`: memories that last from turn to turn, in the agent's store.
    memory: Option<SimplePack>,
    /// Pack `web`: pages from the network.
    web: Option<WebPack>,
    /// A shell and a tool that applies patches, both confined.
    shell: Option<ShellTable>,
    /// Commands, by the name of the tool.
    #[serde(default)]
    command: BTreeMap<String, CommandTool>,
    /// HTTP endpoints, by the name of the tool.
    #[serde(default)]
    http: BTreeMap<String, HttpTool>,
    /// MCP servers, by name.
    #[serde(default)]
    mcp: BTreeMap<String, McpServerTable>,
}

/// A tool and the key of the agent file that defines it.
type KeyedTool = (Vec<String>, Tool);

/// The name of a program, its arguments, and how it is confined.
pub(super) type NamedProgram<'f> = (&'f str, (&'f [String], Option<&'f ProgramSandbox>));

/// The tools that could be built, and the errors of the others.
#[derive(Debug, Default)]
pub(super) struct BuiltTools {
    pub(super) tools: Vec<Tool>,
    pub(super) errors: Vec<AgentFileError>,
}

impl ToolsTable {
    /// Builds the tools, packs first, with the approval rules of the file. Tools for files do not touch the protected
    /// paths.
    pub(super) fn build(
        &self,
        sandbox: &AgentSandbox,
        protected: &[PathBuf],
        approvals: &Approvals,
    ) -> BuiltTools {
        let agent_dir = sandbox.agent_dir();
        let mut all = Vec::new();
        let mut errors = Vec::new();
        // The names of tools that could not be built.
        let mut unbuilt: Vec<&str> = Vec::new();
        for pack in Pack::ALL {
            let key = ["tools", pack.name()];
            match self.build_pack(pack, agent_dir, protected) {
                Ok(tools) => all.extend(tools.into_iter().map(|tool| (owned_key(key), tool))),
                Err(found) => {
                    unbuilt.extend(pack.tools().iter().copied());
                    errors.extend(found.into_iter().map(|error| error.in_table(key)));
                }
            }
        }
        if let Some(shell) = &self.shell {
            let key = ["tools", "shell"];
            match shell.build(sandbox, protected) {
                Ok(tools) => all.extend(tools.into_iter().map(|tool| (owned_key(key), tool))),
                Err(error) => {
                    unbuilt.extend(shell::TOOLS);
                    errors.push(error.in_table(key));
                }
            }
        }
        for (name, tool) in &self.command {
            let key = ["tools", "command", name];
            match tool.build(name, sandbox) {
                Ok(tool) => all.push((owned_key(key), tool)),
                Err(found) => {
                    unbuilt.push(name);
                    errors.extend(found.into_iter().map(|error| error.in_table(key)));
                }
            }
        }
        for (name, tool) in &self.http {
            let key = ["tools", "http", name];
            match tool.build(name) {
                Ok(tool) => all.push((owned_key(key), tool)),
                Err(found) => {
                    unbuilt.push(name);
                    errors.extend(found.into_iter().map(|error| error.in_table(key)));
                }
            }
        }
        for (name, server) in &self.mcp {
            if let Err(error) = server.validate(sandbox) {
                errors.push(error.in_table(["tools", "mcp", name]));
            }
        }
        reject_duplicate_names(&all, &mut errors);
        let tools = self.apply_rules(all, &unbuilt, approvals, &mut errors);
        BuiltTools { tools, errors }
    }

    /// Applies the approval rules of the file. A tool's own question says more than the one that the rules would set.
    fn apply_rules(
        &self,
        all: Vec<KeyedTool>,
        unbuilt: &[&str],
        approvals: &Approvals,
        errors: &mut Vec<AgentFileError>,
    ) -> Vec<Tool> {
        let with_own_question = self.tools_with_own_question();
        // A rule may name a tool of a server that is not connected yet.
        if self.mcp.is_empty() {
            let names = all.iter().map(|(_, tool)| tool.name().as_str());
            let names = names.chain(unbuilt.iter().copied());
            errors.extend(approvals.find_errors(&names, &with_own_question));
        }
        let mut tools = Vec::with_capacity(all.len());
        for (_, tool) in all {
            if with_own_question.contains(tool.name().as_str()) {
                tools.push(tool);
                continue;
            }
            match approvals.apply(tool) {
                Ok(tool) => tools.push(tool),
                Err(error) => errors.push(error),
            }
        }
        tools
    }

    /// The tools that bring a question of their own.
    fn tools_with_own_question(&self) -> BTreeSet<&str> {
        let commands = self.command.iter().filter(|(_, it)| it.has_approval_question());
        let endpoints = self.http.iter().filter(|(_, it)| it.has_approval_question());
        let commands = commands.map(|(name, _)| name.as_str());
        let shell = self.shell.iter().filter(|it| it.has_approval_question());
        let commands = commands.chain(shell.map(|_| shell::RUN_COMMAND));
        commands.chain(endpoints.map(|(name, _)| name.as_str())).collect()
    }

    /// What the commands and the servers run, by the name of the tool or the server, and how it is confined.
    pub(super) fn programs(&self) -> impl Iterator<Item = NamedProgram<'_>> {
        let commands = self.command.iter().map(|(name, it)| (name.as_str(), it.program()));
        let commands = commands.chain(self.shell.iter().map(|_| shell::PROGRAM));
        let servers = self.mcp.iter();
        commands.chain(servers.filter_map(|(name, it)| Some((name.as_str(), it.program()?))))
    }

    /// The MCP servers, by name.
    pub(super) const fn servers(&self) -> &BTreeMap<String, McpServerTable> {
        &self.mcp
    }

    /// Applies the approval rules to all tools, after the servers were connected. The first tools are those that
    /// [`build`](Self::build) returned, to which the rules were applied already.
    pub(super) fn apply_approvals(
        &self,
        tools: Vec<Tool>,
        built: usize,
        approvals: &Approvals,
    ) -> Result<Vec<Tool>, AgentFileError> {
        let errors = {
            let names = tools.iter().map(|tool| tool.name().as_str());
            approvals.find_errors(&names, &self.tools_with_own_question())
        };
        if let Some(first) = errors.into_iter().next() {
            return Err(first);
        }
        let tools = tools.into_iter().enumerate();
        tools.map(|(at, tool)| if at < built { Ok(tool) } else { approvals.apply(tool) }).collect()
    }

    /// Builds the tools of a pack; none if the file has no table for it.
    fn build_pack(
        &self,
        pack: Pack,
        agent_dir: &Path,
        protected: &[PathBuf],
    ) -> Result<Vec<Tool>, Vec<AgentFileError>> {
        let options = PackOptions::default();
        let (options, selection) = match (pack, &self.files, &self.web) {
            (Pack::Files, Some(it), _) => {
                let files = it.options(agent_dir, protected).map_err(|error| vec![error])?;
                (options.files(files), it.selection())
            }
            (Pack::Web, _, Some(it)) => {
                (options.web(it.options().map_err(|error| vec![error])?), it.selection())
            }
            _ => match self.simple_pack(pack) {
                Some(it) => (options, it.selection()),
                None => return Ok(Vec::new()),
            },
        };
        build_pack(pack, &options, selection)
    }

    fn simple_pack(&self, pack: Pack) -> Option<&SimplePack> {
        match pack {
            Pack::Time => self.time.as_ref(),
            Pack::Math => self.math.as_ref(),
            Pack::Text => self.text.as_ref(),
            Pack::Data => self.data.as_ref(),
            Pack::Memory => self.memory.as_ref(),
            _ => None,
        }
    }

    /// Whether the file has the pack `memory`.
    pub(super) const fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Finds programs and directories that this machine does not have.
    pub(super) fn find_unusable_programs(&self, agent_dir: &Path) -> Vec<AgentFileError> {
        let errors = self.command.iter().filter_map(|(name, tool)| {
            Some(tool.find_problem(agent_dir)?.in_table(["tools", "command", name]))
        });
        let servers = self.mcp.iter().filter_map(|(name, server)| {
            Some(server.find_problem(agent_dir)?.in_table(["tools", "mcp", name]))
        });
        errors.chain(servers).collect()
    }

    /// Finds approval questions with placeholders that are no arguments.
    pub(super) fn find_unknown_placeholders(&self) -> Vec<AgentFileError> {
        let commands = self.command.iter().filter_map(|(name, tool)| {
            Some(tool.find_unknown_placeholder()?.in_table(["tools", "command", name]))
        });
        let endpoints = self.http.iter().filter_map(|(name, tool)| {
            Some(tool.find_unknown_placeholder()?.in_table(["tools", "http", name]))
        });
        commands.chain(endpoints).collect()
    }

    /// Finds environment variables that the tools need and that are not set.
    pub(super) fn find_unset_variables(&self) -> Vec<AgentFileError> {
        let errors = self.http.iter().filter_map(|(name, tool)| {
            Some(tool.find_unset_variable()?.in_table(["tools", "http", name]))
        });
        let servers = self.mcp.iter().filter_map(|(name, server)| {
            Some(server.find_unset_variable()?.in_table(["tools", "mcp", name]))
        });
        errors.chain(servers).collect()
    }
}

fn owned_key<const N: usize>(key: [&str; N]) -> Vec<String> {
    key.map(str::to_owned).to_vec()
}

/// Rejects two tools with the same name.
fn reject_duplicate_names(all: &[KeyedTool], errors: &mut Vec<AgentFileError>) {
    let mut seen: BTreeMap<&str, &[String]> = BTreeMap::new();
    for (key, tool) in all {
        if let Some(first) = seen.insert(tool.name().as_str(), key) {
            let message = format!("`{}` already defines a tool `{}`", first.join("."), tool.name());
            let error = AgentFileError::at(key.iter(), message);
            errors.push(error.hint("rename it, or exclude the other one with `except`"));
        }
    }
}

/// What was read of an agent file.
#[derive(Debug)]
pub(super) struct AgentFileReading {
    /// The file, without the keys that have errors; nothing if it is not TOML.
    pub(super) file: Option<AgentFile>,
    pub(super) source: AgentSource,
    pub(super) errors: Vec<UserError>,
}

impl AgentFile {
    /// Reads and parses the file.
    pub(super) fn read(path: &Path) -> Result<AgentFileReading> {
        if !path.exists() {
            let error = UserError::new(format!("there is no agent at `{}`", path.display()));
            return Err(error.hint(missing_agent_hint(path)).into());
        }
        let source = AgentSource::new(path, read_text_file(path)?);
        let (file, errors) = source.parse();
        Ok(AgentFileReading { file, source, errors })
    }
}

/// Names the agents in the directory where one was looked for.
fn missing_agent_hint(path: &Path) -> String {
    let create = "`haft new NAME` creates one";
    // The path is that of the agent file, or of what should be the directory of an agent.
    let dir = if path.ends_with(FILE_NAME) { path.parent().unwrap_or(path) } else { path };
    let around = dir.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(around).into_iter().flatten().flatten();
    let is_agent = |entry: &std::fs::DirEntry| entry.path().join(FILE_NAME).is_file();
    let names = entries.filter(is_agent).filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.take(MAX_SHOWN_AGENTS).collect();
    names.sort();
    match names.is_empty() {
        true => create.to_owned(),
        false => format!("the agents there are: {}; {create}", names.join(", ")),
    }
}

/// How many agents are named.
const MAX_SHOWN_AGENTS: usize = 10;
