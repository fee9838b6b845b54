//! Where a worker finds the runner of a turn.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::store::TurnSummary;

use crate::turn::{Agent, TurnError};

/// Finds the runner of a turn: the one with the executor and the tools of the turn's agent.
///
/// A [`Agent`] alone runs the turns of all agents. A map runs those of the agents that it names.
///
/// ```
/// use std::collections::BTreeMap;
/// use haft::Agent;
/// use haft::executors::ScriptExecutor;
/// use haft::worker::AgentSource;
///
/// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
/// let runners = BTreeMap::from([("support".to_owned(), Agent::builder(script).build()?)]);
/// assert_eq!(runners.agents(), ["support"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait AgentSource: Send + Sync {
    /// The agents whose turns are claimed ([`AgentBuilder::name`](crate::turn::AgentBuilder::name)); of all if there is none.
    fn agents(&self) -> Vec<String>;

    /// Finds the runner of a turn that was claimed. It may take long: the lease is renewed meanwhile. If it fails, the
    /// turn is interrupted for a while and can then be claimed again, by any worker.
    fn find_agent(&self, turn: TurnSummary) -> BoxFuture<'_, Result<Agent, TurnError>>;
}

impl AgentSource for Agent {
    fn agents(&self) -> Vec<String> {
        Vec::new()
    }

    fn find_agent(&self, _: TurnSummary) -> BoxFuture<'_, Result<Agent, TurnError>> {
        Box::pin(async { Ok(self.clone()) })
    }
}

impl AgentSource for BTreeMap<String, Agent> {
    fn agents(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }

    fn find_agent(&self, turn: TurnSummary) -> BoxFuture<'_, Result<Agent, TurnError>> {
        let found = turn.agent.as_ref().and_then(|it| self.get(it)).cloned();
        Box::pin(async move { found.ok_or_else(|| unknown_agent(&turn)) })
    }
}

impl<S: BuildHasher + Send + Sync> AgentSource for HashMap<String, Agent, S> {
    fn agents(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }

    fn find_agent(&self, turn: TurnSummary) -> BoxFuture<'_, Result<Agent, TurnError>> {
        let found = turn.agent.as_ref().and_then(|it| self.get(it)).cloned();
        Box::pin(async move { found.ok_or_else(|| unknown_agent(&turn)) })
    }
}

/// A source that a worker and others share.
impl<T: AgentSource + ?Sized> AgentSource for Arc<T> {
    fn agents(&self) -> Vec<String> {
        (**self).agents()
    }

    fn find_agent(&self, turn: TurnSummary) -> BoxFuture<'_, Result<Agent, TurnError>> {
        (**self).find_agent(turn)
    }
}

/// The error of a turn whose agent is not known.
fn unknown_agent(turn: &TurnSummary) -> TurnError {
    let reason = match &turn.agent {
        Some(agent) => format!("there is no runner for the agent `{agent}`"),
        None => "it belongs to no agent".to_owned(),
    };
    TurnError::no_agent(&turn.id, reason)
}
