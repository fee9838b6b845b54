//! The agents of a host, as the HTTP API uses them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use haft::events::EventHub;
use haft::executors::{DispatchExecutor, ExecutorDescription};
use haft::stores::{OpenStores, TurnSummary};
use haft::turn::{Turn, TurnHistory};
use haft::{Agent, BoxFuture, Tool};
use haft_server::{AgentError, AgentPurpose, AgentSource, HostedAgent};
use tokio::time::timeout;

use super::{AgentHost, ExecutorUse, origin_agent, prepare_turn};
use crate::agent::AgentDir;
use crate::user_error::UserError;

/// The agents of a host, on the stores of one tenant or of all.
pub(crate) struct ApiAgents {
    host: Arc<AgentHost>,
    stores: OpenStores,
    hub: EventHub,
}

impl ApiAgents {
    pub(crate) fn new(host: Arc<AgentHost>, stores: OpenStores, hub: EventHub) -> Self {
        Self { host, stores, hub }
    }

    /// The agent with a name. Its MCP servers are connected if it is shown or run, which is refused if that needs a question.
    async fn load(&self, name: &str, purpose: AgentPurpose) -> Result<ApiAgent> {
        let path = self.host.known.path_of(name);
        let path = path.ok_or_else(|| UserError::new(format!("there is no agent `{name}`")))?;
        let agent = match purpose {
            AgentPurpose::List => self.host.read_or_loaded(&path)?,
            AgentPurpose::Run => self.host.load(&path).await?,
            // A turn is also shown if its agent cannot run here, and soon.
            _ => match timeout(MAX_SHOW_WAIT, self.host.load(&path)).await {
                Ok(Ok(agent)) => agent,
                _ => self.host.read_or_loaded(&path)?,
            },
        };
        let (host, stores, hub) = (Arc::clone(&self.host), self.stores.clone(), self.hub.clone());
        Ok(ApiAgent { host, agent, path, stores, hub })
    }
}

impl AgentSource for ApiAgents {
    fn list_agents(&self) -> BoxFuture<'_, Result<Vec<String>, AgentError>> {
        Box::pin(async { Ok(self.host.names()) })
    }

    fn load_agent<'a>(
        &'a self,
        name: &'a str,
        purpose: AgentPurpose,
    ) -> BoxFuture<'a, Result<Arc<dyn HostedAgent>, AgentError>> {
        Box::pin(async move {
            let agent = self.load(name, purpose).await.map_err(to_agent_error)?;
            Ok(Arc::new(agent) as Arc<dyn HostedAgent>)
        })
    }

    fn agent_of_turn(&self, turn: &TurnSummary, history: &TurnHistory) -> Option<String> {
        if self.host.known.includes_others() {
            return origin_agent(history).map(|path| self.host.known.name_of(Path::new(path)));
        }
        let name = turn.agent.clone()?;
        self.host.known.path_of(&name).map(|_| name)
    }
}

/// An agent of a host, on the stores of one tenant or of all.
struct ApiAgent {
    host: Arc<AgentHost>,
    agent: Arc<AgentDir>,
    path: PathBuf,
    stores: OpenStores,
    hub: EventHub,
}

impl ApiAgent {
    fn find_executor(
        &self,
        begun_by: Option<&ExecutorDescription>,
        purpose: AgentPurpose,
    ) -> Result<Arc<dyn DispatchExecutor>> {
        let runs = matches!(purpose, AgentPurpose::Run);
        let purpose = if runs { self.host.run_use() } else { ExecutorUse::Show };
        let executor = self.host.find_executor(&self.agent, begun_by, purpose)?;
        if runs {
            self.agent.limits_with(&executor.description(), &self.host.config)?;
        }
        Ok(executor)
    }

    fn runner(&self, executor: Arc<dyn DispatchExecutor>, tools: Vec<Tool>) -> Result<Agent> {
        // An executor whose limits are not known was refused if it is to run turns.
        let limits = self.agent.limits_with(&executor.description(), &self.host.config);
        let limits = limits.unwrap_or_else(|_| self.agent.limits());
        let setup = self.host.setup(&self.agent, &self.stores, limits)?;
        let builder = setup(Agent::builder(executor).tools(tools));
        Ok(builder.observer(self.hub.clone()).build()?)
    }
}

impl HostedAgent for ApiAgent {
    fn description(&self) -> Option<String> {
        // Tenants do not learn where the agents of a service are.
        let is_own = self.host.known.includes_others();
        is_own.then(|| self.agent.dir.display().to_string())
    }

    fn prepare_turn(&self, turn: Turn) -> Result<Turn, AgentError> {
        prepare_turn(turn, &self.agent, &self.path).map_err(to_agent_error)
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
        purpose: AgentPurpose,
    ) -> Result<Arc<dyn DispatchExecutor>, AgentError> {
        self.find_executor(begun_by, purpose).map_err(to_agent_error)
    }

    fn build_agent(
        &self,
        executor: Arc<dyn DispatchExecutor>,
        tools: Vec<Tool>,
    ) -> Result<Agent, AgentError> {
        self.runner(executor, tools).map_err(to_agent_error)
    }
}

/// How long a view waits for the servers of an agent.
const MAX_SHOW_WAIT: Duration = Duration::from_secs(5);

/// An error of this program as clients of the API see it, with its hint.
#[expect(clippy::needless_pass_by_value, reason = "it is the argument of `map_err`")]
fn to_agent_error(error: anyhow::Error) -> AgentError {
    let hint = error.downcast_ref::<UserError>().and_then(UserError::advice).map(str::to_owned);
    let shown = AgentError::new(format!("{error:#}"));
    match hint {
        Some(hint) => shown.hint(hint),
        None => shown,
    }
}
