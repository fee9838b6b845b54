//! The agents that a server knows: where the agents of turns come from.

use std::sync::Arc;

use axum::http::StatusCode;
use haft::executors::{DispatchExecutor, ExecutorDescription};
use haft::stores::TurnSummary;
use haft::turn::TurnHistory;
use haft::{Agent, BoxFuture, Tool, Turn};

use crate::error::ApiError;

/// Finds agents: those that a server offers, and the one that began a turn.
///
/// Without a source, a server shows turns, cancels them and decides gates, and resumes them if it has an agent. With one, it
/// also forks turns, replays recordings, shows tools and calls them.
pub trait AgentSource: Send + Sync {
    /// The names of the agents that are offered.
    fn list_agents(&self) -> BoxFuture<'_, Result<Vec<String>, AgentError>>;

    /// Loads an agent by its name. One that is to run has all its tools, those of MCP servers included; otherwise nothing is
    /// started that the user was not asked about.
    fn load_agent<'a>(
        &'a self,
        name: &'a str,
        purpose: AgentPurpose,
    ) -> BoxFuture<'a, Result<Arc<dyn HostedAgent>, AgentError>>;

    /// The name of the agent that began a turn, if that is known.
    fn agent_of_turn(&self, turn: &TurnSummary, history: &TurnHistory) -> Option<String>;
}

/// An agent with everything that a turn of it needs.
pub trait HostedAgent: Send + Sync {
    /// What it is for, in words.
    fn description(&self) -> Option<String> {
        None
    }

    /// Adds to a turn what every turn of it begins with.
    ///
    /// # Errors
    ///
    /// The turn cannot be prepared.
    fn prepare_turn(&self, turn: Turn) -> Result<Turn, AgentError> {
        Ok(turn.system(self.system_prompt()))
    }

    /// Its system prompt.
    fn system_prompt(&self) -> String;

    /// Its tools, in the order in which the model sees them.
    fn tools(&self) -> Vec<Tool>;

    /// What takes its steps: the executor that began a turn if that is given, else its own.
    ///
    /// # Errors
    ///
    /// There is no such executor here, or it needs something that is not configured.
    fn executor(
        &self,
        begun_by: Option<&ExecutorDescription>,
        purpose: AgentPurpose,
    ) -> Result<Arc<dyn DispatchExecutor>, AgentError>;

    /// Builds an agent with this executor and these tools, on the store of the server and with its observers.
    ///
    /// # Errors
    ///
    /// The agent was refused.
    fn build_agent(
        &self,
        executor: Arc<dyn DispatchExecutor>,
        tools: Vec<Tool>,
    ) -> Result<Agent, AgentError>;
}

/// What an agent and its executor are used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentPurpose {
    /// It stands in a list. Nothing is started.
    List,
    /// It is shown, and renders requests, which needs no API key.
    Show,
    /// It runs turns.
    Run,
}

/// Why an agent cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct AgentError {
    /// What is wrong.
    pub message: String,
    /// What can be done about it.
    pub hint: Option<String>,
}

impl AgentError {
    /// An error with a message.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Adds what can be done about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<AgentError> for ApiError {
    fn from(error: AgentError) -> Self {
        let AgentError { message, hint } = error;
        let error = Self::new(StatusCode::CONFLICT, "E_API_AGENT_NOT_AVAILABLE", message);
        Self { hint, ..error }
    }
}
