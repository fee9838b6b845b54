//! Messages and reasoning: of users, of this agent, of other agents.

use crate::clock::Timestamp;
use crate::trust::envelope::Attributes;
use crate::trust::nonce::Slot;
use crate::trust::prompt::family;
use crate::trust::sanitize::Clean;
use crate::trust::{PromptRenderer, PromptText};

/// What stands for reasoning that only its vendor can read.
const OPAQUE: &str = "Reasoning that is kept for the provider and has no text.";

/// A message of a user or of this agent.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct MessagePart<'a> {
    id: &'a str,
    from: Option<&'a str>,
    created_at: Option<Timestamp>,
    body: &'a str,
}

impl<'a> MessagePart<'a> {
    /// A message whose author follows from its role: the one user, or this agent itself. It has no
    /// envelope, because the role frames it on the wire.
    pub fn new(id: &'a str, body: &'a str) -> Self {
        Self { id, from: None, created_at: None, body }
    }

    /// A message of one user among several, with the name that the model sees.
    pub fn from_user(id: &'a str, name: &'a str, body: &'a str) -> Self {
        Self { from: Some(name), ..Self::new(id, body) }
    }

    /// When it was written.
    pub fn created_at(mut self, at: Timestamp) -> Self {
        self.created_at = Some(at);
        self
    }
}

/// A message of another agent.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct PeerPart<'a> {
    id: &'a str,
    from: &'a str,
    created_at: Option<Timestamp>,
    body: &'a str,
}

impl<'a> PeerPart<'a> {
    /// A message of an agent, with the name that the model sees.
    pub fn new(id: &'a str, from: &'a str, body: &'a str) -> Self {
        Self { id, from, created_at: None, body }
    }

    /// When it was written.
    pub fn created_at(mut self, at: Timestamp) -> Self {
        self.created_at = Some(at);
        self
    }
}

/// Reasoning.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct ThoughtPart<'a> {
    id: &'a str,
    from: &'a str,
    created_at: Option<Timestamp>,
    kind: ThoughtKind<'a>,
}

#[derive(Clone, Copy, Debug)]
enum ThoughtKind<'a> {
    Own { body: &'a str },
    Peer { body: &'a str },
    Opaque { replay_compatibility: &'a str },
}

impl<'a> ThoughtPart<'a> {
    /// Reasoning of this agent.
    pub fn own(id: &'a str, from: &'a str, body: &'a str) -> Self {
        Self { id, from, created_at: None, kind: ThoughtKind::Own { body } }
    }

    /// Reasoning of another agent: a thought within that agent's output.
    pub fn peer(id: &'a str, from: &'a str, body: &'a str) -> Self {
        Self { id, from, created_at: None, kind: ThoughtKind::Peer { body } }
    }

    /// Reasoning that goes back to its vendor as it came; the prompt only says that it is there.
    pub fn opaque(id: &'a str, from: &'a str, replay_compatibility: &'a str) -> Self {
        Self { id, from, created_at: None, kind: ThoughtKind::Opaque { replay_compatibility } }
    }

    /// When it was thought.
    pub fn created_at(mut self, at: Timestamp) -> Self {
        self.created_at = Some(at);
        self
    }
}

impl PromptRenderer {
    /// A message.
    #[must_use]
    pub fn message(&self, part: &MessagePart<'_>) -> PromptText {
        let body = self.clean(part.body);
        let Some(from) = part.from else { return PromptText::sealed(body.into_string()) };
        let slot = Slot { family: family::MESSAGE, scope: "message", record: part.id, part: 0 };
        let attributes = Attributes::default().text("from", from).text("role", "user");
        self.seal(&slot, attributes.shown("createdAt", part.created_at), &body)
    }

    /// A message of another agent.
    #[must_use]
    pub fn peer(&self, part: &PeerPart<'_>) -> PromptText {
        let slot = Slot { family: family::PEER, scope: "message", record: part.id, part: 0 };
        let attributes = Attributes::default().text("from", part.from);
        let attributes = attributes.shown("createdAt", part.created_at);
        self.seal(&slot, attributes, &self.clean(part.body))
    }

    /// Reasoning.
    #[must_use]
    pub fn thought(&self, part: &ThoughtPart<'_>) -> PromptText {
        let slot = |family| Slot { family, scope: "thought", record: part.id, part: 0 };
        let (kind, body, replay) = match part.kind {
            ThoughtKind::Own { body } => ("self-reasoning", body, None),
            ThoughtKind::Peer { body } => ("peer-reasoning", body, None),
            ThoughtKind::Opaque { replay_compatibility } => {
                ("opaque-reasoning", OPAQUE, Some(replay_compatibility))
            }
        };
        let attributes = Attributes::default().nonce().text("kind", kind).text("from", part.from);
        let attributes = attributes.shown("createdAt", part.created_at);
        let attributes = attributes.optional("replayCompatibility", replay);
        let thought = self.seal(&slot(family::THOUGHT), attributes, &self.clean(body));
        if !matches!(part.kind, ThoughtKind::Peer { .. }) {
            return thought;
        }
        let attributes = Attributes::default().text("kind", "reasoning").text("from", part.from);
        let attributes = attributes.shown("createdAt", part.created_at);
        self.seal(&slot(family::PEER), attributes, &Clean::nested(thought.into_string()))
    }
}
