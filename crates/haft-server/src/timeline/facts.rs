//! What a turn did, in numbers.

use haft::records::{MessageRole, ToolCall};

use super::ReadTurn;
use crate::stored::{one_line, token_usage};
use crate::wire::TurnFacts;

/// How much of a reply stands in lists, in bytes.
const MAX_REPLY: usize = 600;

impl ReadTurn {
    pub(super) fn count_facts(&self) -> TurnFacts {
        let count = |test: &dyn Fn(&ToolCall) -> bool| {
            self.calls().filter(|call| test(call)).count() as u32
        };
        let mut replies = self.last_words_of(MessageRole::Assistant);
        let reply = replies.find(|it| !it.trim().is_empty());
        let mut costs = self.steps.iter().filter(|step| step.usage.prompt > 0).map(|it| it.cost);
        TurnFacts {
            steps: self.step_count(),
            calls: count(&|_| true),
            failed_calls: count(&|call| call.error.is_some()),
            coerced_calls: count(&|call| !call.changes.is_empty()),
            repeated_calls: self.attempts.iter().filter(|it| **it > 1).count() as u32,
            artifact_bytes: self.artifacts().iter().map(|it| it.bytes).sum(),
            usage: token_usage(self.history.steps.iter().map(|step| step.usage).sum()),
            // A turn with a step whose price is not known has no price.
            cost: costs.try_fold(0.0, |sum, cost| Some(sum + cost?)).filter(|it| *it > 0.0),
            open_gates: self.gates.iter().filter(|(_, it)| it.is_none()).count() as u32,
            reply: reply.map(|text| one_line(text, MAX_REPLY)),
            error: self.error().map(|error| one_line(&error.message, 200)),
        }
    }
}
