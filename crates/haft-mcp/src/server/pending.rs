//! The calls that clients wait for, by the turns that run them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::store::TurnId;
use rmcp::model::{InputResponses, ProtocolVersion};
use rmcp::service::{Peer, RequestContext};
use rmcp::{RoleServer, model::ClientCapabilities};
use serde_json::Value;

/// The calls that run now.
#[derive(Debug, Default)]
pub(super) struct PendingCalls {
    calls: Mutex<HashMap<TurnId, Arc<PendingCall>>>,
}

/// How questions of a call reach the user of the client.
#[derive(Debug)]
pub(super) struct PendingCall {
    pub(super) channel: QuestionChannel,
    /// Whether the client can show a form to its user.
    pub(super) has_forms: bool,
}

/// The way to the user of the client.
#[derive(Debug)]
pub(super) enum QuestionChannel {
    /// A request to the client while the call runs.
    Elicitation(Box<Peer<RoleServer>>),
    /// The result of the call is a question, and the client repeats the call with the reply.
    InputRequired {
        /// The replies that came with the call.
        replies: Mutex<BTreeMap<String, Value>>,
        /// Whether the call continues one whose questions the client has seen.
        is_continued: bool,
    },
}

impl PendingCall {
    /// The call of a request. `replies` are the answers to earlier questions.
    pub(super) fn new(
        context: &RequestContext<RoleServer>,
        replies: Option<InputResponses>,
        is_continued: bool,
    ) -> Self {
        let version = context.protocol_version();
        let has_forms = context.client_capabilities().is_some_and(|it| supports_forms(&it));
        let is_stateless =
            version.is_some_and(|it| it.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        let channel = if is_stateless {
            let replies = Mutex::new(replies.unwrap_or_default());
            QuestionChannel::InputRequired { replies, is_continued }
        } else {
            QuestionChannel::Elicitation(Box::new(context.peer.clone()))
        };
        Self { channel, has_forms }
    }
}

/// Whether a client shows forms. One that names no mode does.
fn supports_forms(capabilities: &ClientCapabilities) -> bool {
    let elicitation = capabilities.elicitation.as_ref();
    elicitation.is_some_and(|it| it.form.is_some() || it.url.is_none())
}

impl PendingCalls {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Registers a call until the returned guard is dropped. Returns `None` if the call of this turn runs already.
    pub(super) fn register(
        self: &Arc<Self>,
        turn: &TurnId,
        call: PendingCall,
    ) -> Option<PendingGuard> {
        let mut calls = self.lock();
        if calls.contains_key(turn) {
            return None;
        }
        let call = Arc::new(call);
        calls.insert(turn.clone(), Arc::clone(&call));
        Some(PendingGuard { calls: Arc::clone(self), turn: turn.clone(), call })
    }

    pub(super) fn get(&self, turn: &TurnId) -> Option<Arc<PendingCall>> {
        self.lock().get(turn).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnId, Arc<PendingCall>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A registered call.
#[derive(Debug)]
pub(super) struct PendingGuard {
    calls: Arc<PendingCalls>,
    turn: TurnId,
    pub(super) call: Arc<PendingCall>,
}

impl Drop for PendingGuard {
    fn drop(&mut self) {
        self.calls.lock().remove(&self.turn);
    }
}
