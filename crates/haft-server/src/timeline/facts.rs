//! What a turn did, in numbers.

use haft::records::{MessageRole, ToolCall};

use super::{ReadTurn, as_milliseconds};
use crate::stored::{one_line, shorten, token_usage};
use crate::wire::{TurnFacts, TurnTimes};

/// How much of what was said stands in a conversation, in bytes.
const MAX_SAID: usize = 4000;

impl ReadTurn {
    pub(super) fn count_facts(&self) -> TurnFacts {
        let count = |test: &dyn Fn(&ToolCall) -> bool| {
            self.calls().filter(|call| test(call)).count() as u32
        };
        let mut replies = self.last_words_of(MessageRole::Assistant);
        let reply = replies.find(|it| !it.trim().is_empty());
        let mut costs = self.steps.iter().filter(|step| step.usage.prompt > 0).map(|it| it.cost);
        let time = self.history.time(self.calls());
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
            duration_ms: self.history.duration().map(as_milliseconds),
            times: TurnTimes {
                model_wait: as_milliseconds(time.model_wait),
                model_write: as_milliseconds(time.model_write),
                tools: as_milliseconds(time.tools),
                storing: as_milliseconds(time.storing),
                people: as_milliseconds(time.people),
            },
            open_gates: self.gates.iter().filter(|(_, it)| it.is_none()).count() as u32,
            said: self.last_words_of(MessageRole::User).next().map(beginning),
            reply: reply.map(beginning),
            error: self.error().map(|error| one_line(&error.message, 200)),
        }
    }
}

/// The beginning of a text, with its line breaks.
fn beginning(text: &str) -> String {
    let (cut, left) = shorten(text.trim(), MAX_SAID);
    if left > 0 { format!("{cut}…") } else { cut }
}
