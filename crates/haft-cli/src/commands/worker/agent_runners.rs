//! The runners of a worker: one for every agent and executor of the turns that it claims.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use haft::BoxFuture;
use haft::events::{Event, EventHub};
use haft::executors::{DispatchExecutor as _, ExecutorDescription};
use haft::middleware::hydrate_conversation;
use haft::stores::{OpenStores, StoredTurn, TurnSummary};
use haft::turn::{Deadlines, GatePolicy, TurnError, TurnHistory, TurnRunner};
use haft::worker::RunnerSource;
use tokio::sync::OnceCell;

use crate::agent::Agent;
use crate::commands::run::{
    ExecutorUse, agent_name, executor_of_turn, origin_agent, runner_builder, select_executor_for,
};
use crate::own_paths::OwnPaths;
use crate::terminal::Terminal;
use crate::user_error::UserError;

/// How runners are built.
pub(crate) struct RunnerSettings {
    pub(crate) name: String,
    pub(crate) lease: Duration,
    pub(crate) plain_http: bool,
    pub(crate) trust: bool,
    /// Paths of the store, which tools for files do not touch.
    pub(crate) own: OwnPaths<'static>,
    pub(crate) terminal: Terminal,
    pub(crate) observer: Arc<dyn Fn(&Event) + Send + Sync>,
    /// Where the events of each tenant go.
    pub(crate) hubs: Option<TenantHubs>,
}

/// The events of this process, apart for each tenant.
#[derive(Clone, Default)]
pub(crate) struct TenantHubs(Arc<Mutex<HashMap<String, EventHub>>>);

impl TenantHubs {
    /// The events of a tenant's turns.
    pub(crate) fn of(&self, tenant: &str) -> EventHub {
        lock(&self.0).entry(tenant.to_owned()).or_default().clone()
    }
}

/// Agents that were loaded, and runners that were built with them. An agent whose file changes keeps its tools until the
/// worker is started again.
pub(crate) struct AgentRunners {
    stores: OpenStores,
    settings: RunnerSettings,
    /// The agents of the command line by their names; if there are none, turns say where their agents are.
    paths: BTreeMap<String, PathBuf>,
    /// Turns that need the same agent at the same time wait for one to load it.
    agents: Mutex<HashMap<PathBuf, Arc<OnceCell<Arc<Agent>>>>>,
    /// By the tenant, the path of the agent and the description of the executor.
    runners: Mutex<HashMap<RunnerKey, TurnRunner>>,
}

type RunnerKey = (String, PathBuf, String);

impl AgentRunners {
    /// Finds the agents in these directories, and prepares them.
    pub(crate) async fn load(
        stores: OpenStores,
        dirs: &[PathBuf],
        settings: RunnerSettings,
    ) -> Result<Self> {
        let paths = find_agents(dirs)?;
        let (agents, runners) = (Mutex::default(), Mutex::default());
        let this = Self { stores, settings, paths, agents, runners };
        for path in this.paths.values() {
            this.load_agent(path).await?;
        }
        Ok(this)
    }

    /// The names of the agents whose turns are claimed; none if it is all of them.
    pub(crate) fn names(&self) -> Vec<String> {
        self.paths.keys().cloned().collect()
    }

    /// An agent of the command line, and its path.
    pub(crate) async fn agent(&self, name: &str) -> Result<(PathBuf, Arc<Agent>)> {
        let path = self.paths.get(name).cloned();
        let path = path.ok_or_else(|| UserError::new(format!("there is no agent `{name}`")))?;
        let agent = self.load_agent(&path).await?;
        Ok((path, agent))
    }

    /// Loads an agent and prepares it, once.
    async fn load_agent(&self, path: &Path) -> Result<Arc<Agent>> {
        let cell = Arc::clone(lock(&self.agents).entry(path.to_owned()).or_default());
        let load = async || {
            let mut agent = Agent::load_protected(path, &self.settings.own)?;
            agent.prepare(self.settings.trust, &self.settings.terminal).await?;
            Ok::<_, anyhow::Error>(Arc::new(agent))
        };
        cell.get_or_try_init(load).await.cloned()
    }

    async fn find(&self, turn: &TurnSummary) -> Result<TurnRunner> {
        let stored = self.stores.turns().load(turn.id.clone()).await?;
        let stored = stored.context("the turn was removed")?;
        let path = self.agent_path(&stored)?;
        let executor = TurnHistory::read(&stored)?.executor;
        let key = (turn.tenant.clone(), path.clone(), serde_json::to_string(&executor)?);
        let known = lock(&self.runners).get(&key).cloned();
        if let Some(runner) = known {
            return Ok(runner);
        }
        let agent = self.load_agent(&path).await?;
        let runner = self.build_runner(&turn.tenant, &agent, executor.as_ref())?;
        let mut runners = lock(&self.runners);
        // Every model and every set of options has a runner: a program that submits ever new ones must not fill the memory.
        if runners.len() >= MAX_RUNNERS {
            runners.clear();
        }
        runners.insert(key, runner.clone());
        Ok(runner)
    }

    /// The path of the agent of a turn.
    fn agent_path(&self, turn: &StoredTurn) -> Result<PathBuf> {
        let unknown = |text: String| UserError::new(text);
        if self.paths.is_empty() {
            let path = origin_agent(turn);
            let path =
                path.ok_or_else(|| unknown("the turn does not say which agent it has".into()));
            return Ok(path?.into());
        }
        let name = turn.summary.agent.as_deref().unwrap_or_default();
        let path = self.paths.get(name).cloned();
        Ok(path.ok_or_else(|| unknown(format!("this worker has no agent `{name}`")))?)
    }

    /// A runner for the turns of a tenant. It reaches nothing of other tenants: neither conversations nor memories.
    fn build_runner(
        &self,
        tenant: &str,
        agent: &Agent,
        executor: Option<&ExecutorDescription>,
    ) -> Result<TurnRunner> {
        let purpose = ExecutorUse::Run { plain_http: self.settings.plain_http };
        let executor = match executor {
            Some(stored) => executor_of_turn(agent, stored, purpose)?,
            None => select_executor_for(agent, None, purpose)?,
        };
        let limits = agent.limits_with(&executor.description())?;
        let observer = Arc::clone(&self.settings.observer);
        let builder = runner_builder(agent, executor)
            .stores(&self.stores.for_tenant(tenant))
            .name(&self.settings.name)
            .limits(limits)
            .deadlines(Deadlines::new().lease(self.settings.lease))
            .gate_policy(GatePolicy::Suspend)
            .turn_input("history", hydrate_conversation())
            .agent(agent.identity()?)
            .observer(move |event: &Event| observer(event));
        let builder = match &self.settings.hubs {
            Some(hubs) => builder.observer(hubs.of(tenant)),
            None => builder,
        };
        Ok(builder.build()?)
    }
}

impl RunnerSource for AgentRunners {
    fn agents(&self) -> Vec<String> {
        self.names()
    }

    fn find_runner(&self, turn: TurnSummary) -> BoxFuture<'_, Result<TurnRunner, TurnError>> {
        Box::pin(async move {
            let found = self.find(&turn).await;
            found.map_err(|error| TurnError::no_runner(&turn.id, format!("{error:#}")))
        })
    }
}

/// Runners that a worker and others share.
pub(crate) struct SharedRunners(pub(crate) Arc<AgentRunners>);

impl RunnerSource for SharedRunners {
    fn agents(&self) -> Vec<String> {
        self.0.agents()
    }

    fn find_runner(&self, turn: TurnSummary) -> BoxFuture<'_, Result<TurnRunner, TurnError>> {
        self.0.find_runner(turn)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Finds agents by their names: each directory is one, or contains some.
fn find_agents(dirs: &[PathBuf]) -> Result<BTreeMap<String, PathBuf>> {
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
            if let Some(other) = agents.insert(name.clone(), path.clone()).filter(|it| *it != path)
            {
                let (one, two) = (other.display(), path.display());
                let text = format!("two agents have the name `{name}`: `{one}` and `{two}`");
                return Err(UserError::new(text).hint("rename the directory of one").into());
            }
        }
    }
    Ok(agents)
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

/// How many runners are stored for later turns.
const MAX_RUNNERS: usize = 256;
