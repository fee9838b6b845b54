//! Messages and reasoning: of users, of this agent, of other agents.

use super::envelope::Attributes;
use super::nonce::Slot;
use super::prompt::family;
use super::sanitize::Clean;
use super::{PromptRenderer, PromptText};
use crate::record::{Message, MessageRole, Thought};

impl PromptRenderer {
    /// Text whose author follows from its role: the one user, or this agent itself. It has no envelope, because the
    /// role frames it on the wire.
    #[must_use]
    pub fn spoken_text(&self, text: &str) -> PromptText {
        PromptText::sealed(self.clean(text).into_string())
    }

    /// A message of one user among several, or of another agent, with the name that the model sees.
    #[must_use]
    pub fn named_message(&self, message: &Message) -> PromptText {
        let attributes = Attributes::default().text("from", message.identity().representation());
        let (family, attributes) = match message.role() {
            MessageRole::User => (family::MESSAGE, attributes.text("role", "user")),
            MessageRole::Assistant => (family::PEER, attributes),
        };
        let slot = Slot { family, scope: "message", record: message.id().as_str(), part: 0 };
        let text = message.content().map_or("", |text| text.as_str());
        self.seal(&slot, attributes.shown("createdAt", &message.created_at()), &self.clean(text))
    }

    /// Reasoning of this agent.
    #[must_use]
    pub fn own_thought(&self, thought: &Thought) -> PromptText {
        self.thought(thought, "self-reasoning")
    }

    /// Reasoning of another agent: a thought within that agent's output.
    #[must_use]
    pub fn peer_thought(&self, thought: &Thought) -> PromptText {
        let inner = self.thought(thought, "peer-reasoning");
        let slot = thought_slot(thought, family::PEER);
        let attributes = Attributes::default().text("kind", "reasoning");
        let attributes = attributes
            .text("from", thought.identity().representation())
            .shown("createdAt", &thought.created_at());
        self.seal(&slot, attributes, &Clean::nested(inner.into_string()))
    }

    fn thought(&self, thought: &Thought, kind: &'static str) -> PromptText {
        let slot = thought_slot(thought, family::THOUGHT);
        let attributes = Attributes::default().text("kind", kind);
        let attributes = attributes
            .text("from", thought.identity().representation())
            .shown("createdAt", &thought.created_at());
        self.seal(&slot, attributes, &self.clean(thought.content().as_str()))
    }
}

fn thought_slot<'a>(thought: &'a Thought, family: &'static str) -> Slot<'a> {
    Slot { family, scope: "thought", record: thought.id().as_str(), part: 0 }
}
