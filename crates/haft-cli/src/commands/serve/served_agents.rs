//! The agents of a service, as the API of one tenant uses them.

use std::path::PathBuf;
use std::sync::Arc;

use haft::events::EventHub;
use haft::executors::{DispatchExecutor, ExecutorDescription};
use haft::stores::{OpenStores, StoredTurn};
use haft::turn::{GatePolicy, TurnInput};
use haft::{BoxFuture, Tool, TurnRunner};
use haft_server::{AgentError, AgentSource, ExecutorPurpose, HostedAgent};

use crate::agent::Agent;
use crate::commands::run::{ExecutorUse, build_turn_input, executor_of_turn, select_executor_for};
use crate::commands::worker::AgentRunners;
use crate::user_error::UserError;

/// The agents of the command line on the stores of a tenant.
pub(super) struct ServedAgents {
    runners: Arc<AgentRunners>,
    stores: OpenStores,
    hub: EventHub,
}

impl ServedAgents {
    pub(super) fn new(runners: Arc<AgentRunners>, stores: OpenStores, hub: EventHub) -> Self {
        Self { runners, stores, hub }
    }
}

impl AgentSource for ServedAgents {
    fn list_agents(&self) -> BoxFuture<'_, Result<Vec<String>, AgentError>> {
        Box::pin(async { Ok(self.runners.names()) })
    }

    fn load_agent<'a>(
        &'a self,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Arc<dyn HostedAgent>, AgentError>> {
        Box::pin(async move {
            let (path, agent) = self.runners.agent(name).await.map_err(to_agent_error)?;
            let (stores, hub) = (self.stores.clone(), self.hub.clone());
            Ok(Arc::new(ServedAgent { agent, path, stores, hub }) as Arc<dyn HostedAgent>)
        })
    }

    fn agent_of_turn(&self, turn: &StoredTurn) -> Option<String> {
        let name = turn.summary.agent.clone()?;
        self.runners.names().contains(&name).then_some(name)
    }
}

/// An agent that was loaded when the service started.
struct ServedAgent {
    agent: Arc<Agent>,
    path: PathBuf,
    stores: OpenStores,
    hub: EventHub,
}

impl HostedAgent for ServedAgent {
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
        _: ExecutorPurpose,
    ) -> Result<Arc<dyn DispatchExecutor>, AgentError> {
        // Workers run the turns; what is built here renders requests and describes the model of new turns.
        let executor = match begun_by {
            Some(stored) => executor_of_turn(&self.agent, stored, ExecutorUse::Show),
            None => select_executor_for(&self.agent, None, ExecutorUse::Show),
        };
        executor.map_err(to_agent_error)
    }

    fn build_runner(
        &self,
        executor: Arc<dyn DispatchExecutor>,
        tools: Vec<Tool>,
    ) -> Result<TurnRunner, AgentError> {
        let builder = TurnRunner::builder(executor)
            .tools(tools)
            .stores(&self.stores)
            .observer(self.hub.clone())
            .limits(self.agent.limits())
            .gate_policy(GatePolicy::Suspend);
        builder.build().map_err(|error| AgentError::new(error.to_string()))
    }
}

/// An error of this program as clients of the API see it, with its hint.
#[expect(clippy::needless_pass_by_value, reason = "it is the argument of `map_err`")]
pub(in crate::commands) fn to_agent_error(error: anyhow::Error) -> AgentError {
    let hint = error.downcast_ref::<UserError>().and_then(UserError::advice).map(str::to_owned);
    let shown = AgentError::new(format!("{error:#}"));
    match hint {
        Some(hint) => shown.hint(hint),
        None => shown,
    }
}
