//! `agent.toml`, as it is written. The types here are the only source: they read the file, and the published
//! schema is made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use haft::Tool;
use haft::tools::{Pack, PackOptions};
use haft::turn::Limits;
use schemars::JsonSchema;
use serde::Deserialize;

use super::approvals::Approvals;
use super::command::CommandTool;
use super::http::HttpTool;
use super::packs::{self, FilesPack, PlainPack, WebPack};
use super::place::{Fault, Source};
use super::prepare::Preparation;
use crate::failure::Failure;

/// An agent: what it is told, what it may do, and who takes its steps.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["system"]}, {"required": ["system_file"]}]))]
pub(crate) struct AgentFile {
    /// What the agent is called; its folder's name if not said.
    pub(crate) name: Option<String>,
    /// The system prompt. An agent has this or `system_file`.
    pub(crate) system: Option<String>,
    /// A file with the system prompt, in the agent's folder.
    pub(crate) system_file: Option<PathBuf>,
    /// Standing instructions.
    #[serde(default)]
    pub(crate) instructions: Vec<String>,
    /// What the user says if nothing is said.
    pub(crate) prompt: Option<String>,
    /// The model, as `PROVIDER:MODEL`.
    pub(crate) model: Option<String>,
    /// Options of the model's requests, as the provider calls them.
    #[serde(default)]
    pub(crate) options: serde_json::Map<String, serde_json::Value>,
    /// A script for runs without a model, in the agent's folder.
    pub(crate) script: Option<PathBuf>,
    /// The folder in which turns are kept, as seen from the agent's own; `.haft` where `haft` is run if not said.
    pub(crate) store: Option<PathBuf>,
    /// Files that are made on the first run.
    #[serde(default)]
    pub(crate) prepare: Vec<Preparation>,
    /// How far a turn may go.
    #[serde(default)]
    pub(crate) limits: LimitsTable,
    /// Which tools ask before each call.
    #[serde(default)]
    pub(crate) approvals: Approvals,
    /// What the agent may do. It has the tools that are listed here and no others.
    #[serde(default)]
    pub(crate) tools: ToolsTable,
}

/// How far a turn may go.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsTable {
    /// How many steps it may take.
    #[schemars(range(min = 1))]
    iterations: Option<u32>,
    /// How many calls it may make.
    tool_calls: Option<u32>,
    /// How often it may make the same call.
    identical_calls: Option<u32>,
    /// How many tokens it may use.
    tokens: Option<u64>,
    /// How long it may work, in seconds.
    seconds: Option<u64>,
}

impl LimitsTable {
    /// These limits where they are given, else the others.
    pub(super) fn on(&self, mut limits: Limits) -> Limits {
        limits.iterations = self.iterations.unwrap_or(limits.iterations);
        limits.tool_calls = self.tool_calls.unwrap_or(limits.tool_calls);
        limits.identical_calls = self.identical_calls.unwrap_or(limits.identical_calls);
        limits.tokens = self.tokens.or(limits.tokens);
        limits.wall_time = self.seconds.map_or(limits.wall_time, Duration::from_secs);
        limits
    }
}

/// What the agent may do.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsTable {
    /// Files below one folder.
    files: Option<FilesPack>,
    /// The time, time zones and calendars.
    time: Option<PlainPack>,
    /// Expressions and units of measure.
    math: Option<PlainPack>,
    /// Counts, changes, differences, patterns, encodings and hashes of text.
    text: Option<PlainPack>,
    /// CSV, JSON and YAML, statistics, tables.
    data: Option<PlainPack>,
    /// What is remembered from turn to turn, in the agent's store.
    memory: Option<PlainPack>,
    /// Pages from the network.
    web: Option<WebPack>,
    /// Programs, by the name of the tool.
    #[serde(default)]
    command: BTreeMap<String, CommandTool>,
    /// Addresses of the web, by the name of the tool.
    #[serde(default)]
    http: BTreeMap<String, HttpTool>,
}

/// A tool and the key that it comes from.
type Keyed = (Vec<String>, Tool);

impl ToolsTable {
    /// Makes the tools, packs first.
    pub(super) fn build(&self, folder: &Path, approvals: &Approvals) -> Result<Vec<Tool>, Fault> {
        let mut all = Vec::new();
        for pack in Pack::ALL {
            let key = ["tools", pack.name()];
            let made = self.pack(pack, folder).map_err(|it| it.below(key))?;
            all.extend(made.into_iter().map(|tool| (key.map(str::to_owned).to_vec(), tool)));
        }
        let mut own = BTreeSet::new();
        for (name, tool) in &self.command {
            let key = ["tools", "command", name];
            let made = tool.build(name, folder);
            all.push((key.map(str::to_owned).to_vec(), made.map_err(|it| it.below(key))?));
            own.extend(tool.asks().then_some(name.as_str()));
        }
        for (name, tool) in &self.http {
            let key = ["tools", "http", name];
            let made = tool.build(name);
            all.push((key.map(str::to_owned).to_vec(), made.map_err(|it| it.below(key))?));
            own.extend(tool.asks().then_some(name.as_str()));
        }
        distinct(&all)?;
        let names = all.iter().map(|(_, tool)| tool.name().as_str());
        approvals.check(names, &own)?;
        // The question of a tool's own says more than the one of the table.
        let settled = all.into_iter().map(|(_, tool)| match own.contains(tool.name().as_str()) {
            true => Ok(tool),
            false => approvals.settle(tool),
        });
        settled.collect()
    }

    /// The tools of a pack; none if it is not listed.
    fn pack(&self, pack: Pack, folder: &Path) -> Result<Vec<Tool>, Fault> {
        let options = PackOptions::default();
        let (options, choice) = match (pack, &self.files, &self.web) {
            (Pack::Files, Some(it), _) => (options.files(it.options(folder)?), it.choice()),
            (Pack::Web, _, Some(it)) => (options.web(it.options()?), it.choice()),
            _ => match self.plain(pack) {
                Some(it) => (options, it.choice()),
                None => return Ok(Vec::new()),
            },
        };
        packs::build(pack, &options, choice)
    }

    fn plain(&self, pack: Pack) -> Option<&PlainPack> {
        match pack {
            Pack::Time => self.time.as_ref(),
            Pack::Math => self.math.as_ref(),
            Pack::Text => self.text.as_ref(),
            Pack::Data => self.data.as_ref(),
            Pack::Memory => self.memory.as_ref(),
            _ => None,
        }
    }

    /// Whether something is remembered from turn to turn.
    pub(super) const fn remembers(&self) -> bool {
        self.memory.is_some()
    }

    /// What keeps tools from running on this machine.
    pub(super) fn missing(&self, folder: &Path) -> Vec<Fault> {
        let missing = self.command.iter().filter_map(|(name, tool)| {
            Some(tool.missing(folder)?.below(["tools", "command", name]))
        });
        missing.collect()
    }

    /// What tools need from the environment, and do not find there now.
    pub(super) fn unset(&self) -> Vec<Fault> {
        let unset = self
            .http
            .iter()
            .filter_map(|(name, tool)| Some(tool.unset()?.below(["tools", "http", name])));
        unset.collect()
    }
}

/// Refuses two tools of one name.
fn distinct(all: &[Keyed]) -> Result<(), Fault> {
    let mut seen: BTreeMap<&str, &[String]> = BTreeMap::new();
    for (key, tool) in all {
        if let Some(first) = seen.insert(tool.name().as_str(), key) {
            let what = format!("`{}` has a tool `{}` already", first.join("."), tool.name());
            let fault = Fault::at(key.iter(), what);
            return Err(fault.hint("give it another name, or leave that one out with `except`"));
        }
    }
    Ok(())
}

impl AgentFile {
    /// Reads the file.
    pub(super) fn read(path: &Path) -> Result<(Self, Source)> {
        if !path.exists() {
            let failure = Failure::new(format!("there is no agent at `{}`", path.display()));
            return Err(failure.hint("`haft new NAME` makes one").into());
        }
        let source = Source::new(path, super::text::text_file(path)?);
        let file = toml::from_str(source.text()).map_err(|error| source.refused(&error))?;
        source.check_tables().map_err(|fault| source.failure(fault))?;
        Ok((file, source))
    }
}
