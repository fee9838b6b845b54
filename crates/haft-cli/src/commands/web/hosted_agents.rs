//! Agents in directories, for the inspector.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use haft::events::EventHub;
use haft::executors::{DispatchExecutor, ExecutorDescription};
use haft::middleware::hydrate_conversation;
use haft::stores::{OpenStores, StoredTurn};
use haft::turn::{Deadlines, TurnInput};
use haft::{BoxFuture, Tool, TurnRunner};
use haft_server::{AgentError, AgentSource, ExecutorPurpose, HostedAgent};

use crate::agent::Agent;
use crate::args::WebArgs;
use crate::commands::run::{
    ExecutorUse, LEASE, build_turn_input, executor_of_turn, origin_agent, select_executor_for,
};
use crate::commands::serve::to_agent_error;
use crate::own_paths::OwnPaths;

/// The agents of the command line, and those that began stored turns.
pub(super) struct AgentDirectories {
    stores: OpenStores,
    hub: EventHub,
    plain_http: bool,
    /// Paths of the store, which tools for files do not touch.
    own: OwnPaths<'static>,
    /// The paths of the agents, by their names.
    paths: Mutex<BTreeMap<String, PathBuf>>,
}

impl AgentDirectories {
    pub(super) fn new(stores: OpenStores, hub: EventHub, args: &WebArgs) -> Result<Self> {
        let (own, paths) = (args.store.find_address().own_paths(), Mutex::default());
        let agents = Self { stores, hub, plain_http: args.plain_http, own, paths };
        for path in &args.agents {
            Agent::load(path)?;
            agents.name_of(path);
        }
        Ok(agents)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, PathBuf>> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of the agent at a path: that of its file or directory, and the path if another agent has it.
    fn name_of(&self, path: &Path) -> String {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Some((name, _)) = self.lock().iter().find(|(_, known)| **known == path) {
            return name.clone();
        }
        let of_dir = || path.file_stem().map(|it| it.to_string_lossy().into_owned());
        let loaded = Agent::load(&path).ok().map(|agent| agent.name());
        let name = loaded.or_else(of_dir).unwrap_or_else(|| path.display().to_string());
        let mut paths = self.lock();
        let name = if paths.contains_key(&name) { path.display().to_string() } else { name };
        paths.insert(name.clone(), path);
        name
    }

    fn load(&self, name: &str) -> Result<DirectoryAgent, AgentError> {
        let path = self.lock().get(name).cloned();
        let path = path.ok_or_else(|| AgentError::new(format!("there is no agent `{name}`")))?;
        let agent = Agent::load_protected(&path, &self.own).map_err(to_agent_error)?;
        let (stores, hub) = (self.stores.clone(), self.hub.clone());
        Ok(DirectoryAgent { agent, path, stores, hub, plain_http: self.plain_http })
    }
}

impl AgentSource for AgentDirectories {
    fn list_agents(&self) -> BoxFuture<'_, Result<Vec<String>, AgentError>> {
        Box::pin(async { Ok(self.lock().keys().cloned().collect()) })
    }

    fn load_agent<'a>(
        &'a self,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Arc<dyn HostedAgent>, AgentError>> {
        Box::pin(async move { Ok(Arc::new(self.load(name)?) as Arc<dyn HostedAgent>) })
    }

    fn agent_of_turn(&self, turn: &StoredTurn) -> Option<String> {
        origin_agent(turn).map(|path| self.name_of(Path::new(&path)))
    }
}

/// An agent that was loaded from its directory.
struct DirectoryAgent {
    agent: Agent,
    path: PathBuf,
    stores: OpenStores,
    hub: EventHub,
    plain_http: bool,
}

impl HostedAgent for DirectoryAgent {
    fn description(&self) -> Option<String> {
        Some(self.agent.dir.display().to_string())
    }

    fn turn_input(&self) -> Result<TurnInput, AgentError> {
        build_turn_input(&self.agent, &self.path).map_err(to_agent_error)
    }

    fn system_prompt(&self) -> String {
        self.agent.system.clone()
    }

    fn tools(&self) -> Vec<Tool> {
        self.agent.tools.clone()
    }

    fn executor(
        &self,
        begun_by: Option<&ExecutorDescription>,
        purpose: ExecutorPurpose,
    ) -> Result<Arc<dyn DispatchExecutor>, AgentError> {
        let runs = matches!(purpose, ExecutorPurpose::Run);
        let purpose = match runs {
            true => ExecutorUse::Run { plain_http: self.plain_http },
            false => ExecutorUse::Show,
        };
        let executor = match begun_by {
            Some(stored) => executor_of_turn(&self.agent, stored, purpose),
            None => select_executor_for(&self.agent, None, purpose),
        };
        let executor = executor.map_err(to_agent_error)?;
        if runs {
            self.agent.limits_with(&executor.description()).map_err(to_agent_error)?;
        }
        Ok(executor)
    }

    fn build_runner(
        &self,
        executor: Arc<dyn DispatchExecutor>,
        tools: Vec<Tool>,
    ) -> Result<TurnRunner, AgentError> {
        // An executor whose limits are not known was refused if it is to run turns.
        let limits = self.agent.limits_with(&executor.description());
        let limits = limits.unwrap_or_else(|_| self.agent.limits());
        let builder = TurnRunner::builder(executor)
            .tools(tools)
            .agent(self.agent.identity().map_err(to_agent_error)?)
            .stores(&self.stores)
            .observer(self.hub.clone())
            .limits(limits)
            .turn_input("history", hydrate_conversation())
            .deadlines(Deadlines::new().lease(LEASE));
        builder.build().map_err(|error| AgentError::new(error.to_string()))
    }
}
