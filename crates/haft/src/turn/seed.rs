//! What a turn starts with: made from an input, or from what is stored.

use std::collections::HashSet;
use std::sync::Arc;

use haft_core::context::{DispatchContextBuilder, Hydration};
use haft_core::record::Text;
use haft_core::stash::Stash;
use haft_core::store::{GateRow, MemoryScope, StoreError, StoredTurn, TurnId};
use haft_core::tool::ToolChanges;

use super::agent::AgentShared;
use super::envelopes::{NonceOrigin, derive_envelope_key};
use super::log::{StoredLog, TurnLog};
use crate::events::current_traceparent;

/// What a turn starts with, whether it runs or is only shown.
#[derive(Debug)]
pub(super) struct TurnSeed {
    pub(super) id: TurnId,
    /// Where it stands.
    pub(super) log: TurnLog,
    pub(super) conversation: Option<String>,
    /// The agent that it belongs to.
    pub(super) agent: Option<String>,
    /// The span in which it was created, as other processes know it.
    pub(super) traceparent: Option<String>,
    /// From what the names of its envelopes are derived.
    pub(super) nonce: Option<NonceOrigin>,
    /// What its memories belong to.
    pub(super) memory_scope: Option<MemoryScope>,
    pub(super) system_prompt: Text,
    pub(super) stash: Stash,
    /// How its tools have changed since it was created.
    pub(super) tools: Vec<ToolChanges>,
    /// The tools that its requests have offered.
    pub(super) offered: HashSet<String>,
    /// What it shows of earlier turns.
    pub(super) hydrations: Vec<Hydration>,
    /// The gates that earlier processes opened for it.
    pub(super) gates: Vec<GateRow>,
    pub(super) is_resumed: bool,
}

impl TurnSeed {
    /// The seed of a turn that goes on where its journal ends.
    ///
    /// # Errors
    ///
    /// The stored stash is damaged.
    pub(super) fn of_stored(turn: &StoredTurn, stored: StoredLog) -> Result<Self, StoreError> {
        let id = turn.summary.id.clone();
        let stash = Stash::from_value(stored.stash).map_err(|error| StoreError::Damaged {
            what: format!("turn `{id}`"),
            reason: error.to_string(),
        })?;
        Ok(Self {
            id,
            log: stored.log,
            conversation: turn.summary.conversation.clone(),
            agent: turn.summary.agent.clone(),
            traceparent: stored.traceparent,
            nonce: stored.nonce,
            memory_scope: stored.memory_scope,
            system_prompt: Text::from(stored.system_prompt),
            stash,
            tools: stored.tools,
            offered: stored.offered,
            hydrations: stored.hydrations,
            gates: turn.gates.clone(),
            is_resumed: true,
        })
    }
}

impl AgentShared {
    /// Starts the context of a turn that runs, or whose requests are rendered: it has the key of its envelopes and what
    /// the agent says about them.
    pub(super) fn keyed_context_builder(&self, seed: &TurnSeed) -> DispatchContextBuilder {
        let builder = self.context_builder(seed).traceparent(current_traceparent);
        let builder = match self.preview_tokens {
            Some(tokens) => builder.preview_tokens(tokens),
            None => builder,
        };
        let builder = match &self.content_notice {
            Some(text) => builder.content_notice(Arc::clone(text)),
            None => builder,
        };
        match &self.envelope_secret {
            Some(secret) => {
                let (nonce, conversation) = (seed.nonce.as_ref(), seed.conversation.as_deref());
                builder.envelope_key(derive_envelope_key(secret, nonce, &seed.id, conversation))
            }
            None => builder,
        }
    }
}
