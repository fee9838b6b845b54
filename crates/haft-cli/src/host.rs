//! The host of agents: builds them from their directories, the same for every command.

mod api_agents;
mod executor_finder;
mod known_agents;
mod prepared_turn;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use haft::BoxFuture;
use haft::events::{Event, EventHub};
use haft::executors::{DispatchExecutor, ExecutorDescription};
use haft::middleware::hydrate_conversation;
use haft::stores::{OpenStores, TurnSummary};
use haft::turn::{Agent, AgentBuilder, Deadlines, GatePolicy, Limits, TurnError, TurnHistory};
use haft::worker::AgentSource;
use tokio::sync::OnceCell;

pub(crate) use self::api_agents::ApiAgents;
pub(crate) use self::executor_finder::{
    CHANGE_EXECUTOR, ExecutorFinder, ExecutorUse, check_model_option, split_model_name,
};
use self::known_agents::KnownAgents;
use self::prepared_turn::agent_name;
pub(crate) use self::prepared_turn::{
    find_agent_path, load_memories, new_user_message, origin_agent, prepare_turn,
};
use crate::agent::AgentDir;
use crate::config::UserConfig;
use crate::own_paths::OwnPaths;
use crate::terminal::Terminal;
use crate::user_error::UserError;

/// How long the lease of a turn lasts by default. The turn of a process that died can be resumed after this time.
pub(crate) const LEASE: Duration = Duration::from_secs(5);

/// How this process runs agents.
pub(crate) struct HostSettings {
    pub(crate) terminal: Terminal,
    /// Paths of the store, which tools for files do not touch.
    pub(crate) own: OwnPaths<'static>,
    /// Whether the API key may be sent over unencrypted HTTP.
    pub(crate) plain_http: bool,
    pub(crate) trust: AgentTrust,
    /// The name of the process in leases, if it has one.
    pub(crate) name: Option<String>,
    pub(crate) lease: Duration,
    /// What happens at gates.
    pub(crate) gates: GatePolicy,
    /// What sees the events of all turns.
    pub(crate) observer: Option<EventObserver>,
}

/// What sees the events of all turns of a process.
pub(crate) type EventObserver = Arc<dyn Fn(&Event) + Send + Sync>;

impl HostSettings {
    /// The settings of a command that runs turns of one agent, which it loads itself.
    pub(crate) fn new(terminal: &Terminal) -> Self {
        Self {
            terminal: *terminal,
            own: OwnPaths::default(),
            plain_http: false,
            trust: AgentTrust::Asking,
            name: None,
            lease: LEASE,
            gates: GatePolicy::default(),
            observer: None,
        }
    }
}

/// Whether the programs that an agent starts before a turn run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentTrust {
    /// They run, because the user said so.
    Given,
    /// The user is asked about an agent that is not trusted yet.
    Asking,
    /// They run if the user has trusted the agent before. Nobody is asked, because a request from elsewhere starts them.
    Remembered,
    /// They do not run: turns are only shown.
    Refused,
}

impl AgentTrust {
    /// The trust of a command with the option `--trust`.
    pub(crate) const fn of_option(is_given: bool) -> Self {
        if is_given { Self::Given } else { Self::Asking }
    }
}

/// Builds agents from directories on the stores of a command: with the agent's tools, MCP servers included, its limits, the
/// earlier turns of a conversation, and the name by which standing approvals know it.
pub(crate) struct AgentHost {
    stores: OpenStores,
    config: UserConfig,
    settings: HostSettings,
    known: KnownAgents,
    /// Turns that need the same agent at the same time wait for one to load it. An agent whose file changes keeps its tools
    /// until the program is started again.
    agents: Mutex<HashMap<PathBuf, Arc<OnceCell<Arc<AgentDir>>>>>,
    runners: Mutex<HashMap<RunnerKey, Agent>>,
    /// The events of this process, apart for each tenant.
    hubs: Mutex<HashMap<String, EventHub>>,
}

/// A runner by the tenant, the path of the agent and the description of the executor.
type RunnerKey = (String, PathBuf, String);

impl AgentHost {
    pub(crate) fn new(stores: OpenStores, config: UserConfig, settings: HostSettings) -> Self {
        Self {
            stores,
            config,
            settings,
            known: KnownAgents::default(),
            agents: Mutex::default(),
            runners: Mutex::default(),
            hubs: Mutex::default(),
        }
    }

    /// Offers the agents in these directories: each directory is one, or contains some. With `OnlyThese`, turns of other
    /// agents are not run; otherwise turns say where their agents are.
    pub(crate) fn offer(mut self, dirs: &[PathBuf], others: OtherAgents) -> Result<Self> {
        self.known = KnownAgents::find(dirs, others)?;
        Ok(self)
    }

    /// Loads and prepares all agents that are offered, so that what is wrong with them is known before the first turn.
    pub(crate) async fn prepare_all(&self) -> Result<()> {
        for path in self.known.paths() {
            self.load(&path).await?;
        }
        Ok(())
    }

    /// Reads the files of all agents that are offered, and starts nothing.
    pub(crate) fn check_all(&self) -> Result<()> {
        self.known.paths().iter().try_for_each(|path| self.read_or_loaded(path).map(drop))
    }

    pub(crate) const fn stores(&self) -> &OpenStores {
        &self.stores
    }

    pub(crate) const fn config(&self) -> &UserConfig {
        &self.config
    }

    /// The names of the agents that are offered.
    pub(crate) fn names(&self) -> Vec<String> {
        self.known.names()
    }

    /// The events of a tenant's turns.
    pub(crate) fn hub(&self, tenant: &str) -> EventHub {
        lock(&self.hubs).entry(tenant.to_owned()).or_default().clone()
    }

    /// What all runners of an agent have in common, to be given to their builders.
    fn setup(
        &self,
        agent: &AgentDir,
        stores: &OpenStores,
        limits: Limits,
    ) -> Result<impl FnOnce(AgentBuilder) -> AgentBuilder + Send + use<>> {
        let HostSettings { name, lease, gates, observer, .. } = &self.settings;
        let (stores, identity) = (stores.clone(), agent.identity()?);
        let definition = agent.definition();
        let (name, deadlines, gates) = (name.clone(), Deadlines::new().lease(*lease), *gates);
        let observer = observer.clone();
        let notice = agent.file.content_notice.clone();
        let preview = agent.file.preview_tokens;
        Ok(move |builder: AgentBuilder| {
            let builder = match notice {
                Some(text) => builder.content_notice(text),
                None => builder,
            };
            let builder = match preview {
                Some(tokens) => builder.preview_tokens(tokens),
                None => builder,
            };
            let builder = builder
                .stores(&stores)
                .limits(limits)
                .identity(identity)
                .definition(definition)
                .turn_input("history", hydrate_conversation())
                .deadlines(deadlines)
                .gate_policy(gates);
            let builder = match name {
                Some(name) => builder.process(name),
                None => builder,
            };
            match observer {
                Some(observer) => builder.observer(move |event: &Event| observer(event)),
                None => builder,
            }
        })
    }

    /// A runner of an agent on the stores of the host, with the executor and the tools that it has already.
    pub(crate) fn runner(&self, agent: &AgentDir, builder: AgentBuilder) -> Result<AgentBuilder> {
        let limits = agent.limits_with(&builder.executor_description(), &self.config)?;
        Ok(self.setup(agent, &self.stores, limits)?(builder))
    }

    /// The runner of a server that has steps of its own.
    pub(crate) fn server_runner(
        &self,
        agent: &AgentDir,
    ) -> Result<impl FnOnce(AgentBuilder) -> AgentBuilder + Send + use<>> {
        self.setup(agent, &self.stores, agent.limits())
    }

    /// A runner that renders requests and stores turns for others, and takes no step itself.
    pub(crate) fn idle_runner(
        &self,
        agent: &AgentDir,
        executor: Arc<dyn DispatchExecutor>,
    ) -> Result<AgentBuilder> {
        Ok(self.server_runner(agent)?(builder_of(agent, executor)))
    }

    /// Loads an agent and prepares it, once.
    async fn load(&self, path: &Path) -> Result<Arc<AgentDir>> {
        let cell = Arc::clone(lock(&self.agents).entry(path.to_owned()).or_default());
        let load = async || {
            let mut agent = AgentDir::load_protected(path, &self.settings.own)?;
            let is_given = match self.settings.trust {
                AgentTrust::Given => true,
                AgentTrust::Asking => false,
                AgentTrust::Refused => anyhow::bail!("the programs of agents are not started here"),
                AgentTrust::Remembered => {
                    agent.check_trust().map_err(|error| error.hint(TRUST_ELSEWHERE))?;
                    false
                }
            };
            agent.prepare(is_given, &self.settings.terminal).await?;
            Ok::<_, anyhow::Error>(Arc::new(agent))
        };
        cell.get_or_try_init(load).await.cloned()
    }

    /// An agent as it was loaded, else as its file describes it: without the tools of its servers.
    fn read_or_loaded(&self, path: &Path) -> Result<Arc<AgentDir>> {
        let cell = lock(&self.agents).get(path).cloned();
        match cell.as_ref().and_then(|cell| cell.get()) {
            Some(agent) => Ok(Arc::clone(agent)),
            None => Ok(Arc::new(AgentDir::load_protected(path, &self.settings.own)?)),
        }
    }

    /// The runner of a turn: that of its agent, with the executor that took its steps so far.
    async fn find_runner_of(&self, turn: &TurnSummary) -> Result<Agent> {
        let stored = self.stores.turns().load(turn.id.clone()).await?;
        let stored = stored.context("the turn was removed")?;
        let history = TurnHistory::read(&stored)?;
        let path = self.agent_path(turn, &history)?;
        let executor = history.executor;
        let key = (turn.tenant.clone(), path.clone(), serde_json::to_string(&executor)?);
        let known = lock(&self.runners).get(&key).cloned();
        if let Some(runner) = known {
            return Ok(runner);
        }
        let agent = self.load(&path).await?;
        let executor = self.find_executor(&agent, Some(&executor), self.run_use())?;
        // It reaches nothing of other tenants: neither conversations nor memories.
        let limits = agent.limits_with(&executor.description(), &self.config)?;
        let stores = self.stores.for_tenant(&turn.tenant);
        let setup = self.setup(&agent, &stores, limits)?;
        let runner =
            setup(builder_of(&agent, executor)).observer(self.hub(&turn.tenant)).build()?;
        let mut runners = lock(&self.runners);
        // Every model and every set of options has a runner: a program that submits ever new ones must not fill the memory.
        if runners.len() >= MAX_RUNNERS {
            runners.clear();
        }
        runners.insert(key, runner.clone());
        Ok(runner)
    }

    /// The path of the agent of a turn.
    fn agent_path(&self, turn: &TurnSummary, history: &TurnHistory) -> Result<PathBuf, UserError> {
        if self.known.includes_others() {
            let path = origin_agent(history);
            let unknown = || UserError::new("the turn does not say which agent it has");
            return path.map(PathBuf::from).ok_or_else(unknown);
        }
        let name = turn.agent.as_deref().unwrap_or_default();
        let unknown = || UserError::new(format!("this worker has no agent `{name}`"));
        self.known.path_of(name).ok_or_else(unknown)
    }

    /// The executor that took the steps of a turn, or that of the agent.
    fn find_executor(
        &self,
        agent: &AgentDir,
        begun_by: Option<&ExecutorDescription>,
        purpose: ExecutorUse,
    ) -> Result<Arc<dyn DispatchExecutor>> {
        let finder = ExecutorFinder { config: &self.config, purpose };
        match begun_by {
            Some(stored) => finder.of_turn(agent, stored),
            None => finder.of_agent(agent, None),
        }
    }

    const fn run_use(&self) -> ExecutorUse {
        ExecutorUse::Run { plain_http: self.settings.plain_http }
    }
}

impl AgentSource for AgentHost {
    fn agents(&self) -> Vec<String> {
        if self.known.includes_others() { Vec::new() } else { self.names() }
    }

    fn find_agent(&self, turn: TurnSummary) -> BoxFuture<'_, Result<Agent, TurnError>> {
        Box::pin(async move {
            let found = self.find_runner_of(&turn).await;
            found.map_err(|error| TurnError::no_agent(&turn.id, format!("{error:#}")))
        })
    }
}

/// A runner with an executor and the agent's tools, to be given to a host.
pub(crate) fn builder_of(
    agent: &AgentDir,
    executor: impl DispatchExecutor + 'static,
) -> AgentBuilder {
    Agent::builder(executor).tools(agent.tools.iter().cloned())
}

/// What happens to turns of agents that are not offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OtherAgents {
    /// They are run, too: a turn says where its agent is.
    #[default]
    Included,
    /// They are left to others.
    Excluded,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the user does about an agent whose programs a request may not start.
const TRUST_ELSEWHERE: &str = "an agent directory is code: read its agent.toml, and then run it once with `haft run AGENT --trust`";

/// How many runners are stored for later turns.
const MAX_RUNNERS: usize = 256;
