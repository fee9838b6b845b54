//! Reasoning that went back as it came and was refused.

use haft_core::event::EventKind;
use haft_core::step::StepContext;
use serde_json::json;

use super::{Provider, ProviderError};
use crate::dialect::Dialect;
use crate::retry::ClientError;

/// Where in the stash of a turn it is kept which reasoning was refused, by dialect, so that it is not sent again in every
/// iteration.
const STASH_KEY: &str = "haftReplaysBefore";

impl<D: Dialect> Provider<D> {
    /// The number of the first thought that may go back as it came.
    pub(super) fn replays_before(&self, cx: &StepContext) -> u64 {
        cx.dispatch().stash().get_as(self.replays_key()).ok().flatten().unwrap_or(0)
    }

    pub(super) fn is_replay_rejected(&self, error: &ProviderError) -> bool {
        let ProviderError::Request { source, .. } = error else { return false };
        let ClientError::Status(answer) = &**source else { return false };
        self.shared.dialect.is_replay_rejected(answer.status, &answer.body)
    }

    /// Leaves all reasoning out that went back so far; says whether there was any.
    pub(super) fn leave_replays_out(&self, cx: &StepContext, error: &ProviderError) -> bool {
        let known = self.replays_before(cx);
        let replays = self.shared.dialect.replays();
        let thoughts = cx.dispatch().turn().thoughts().numbered();
        let sent = thoughts.iter().filter(|(number, thought)| {
            let tag = thought.replay_compatibility();
            let is_ours = tag.is_some_and(|tag| replays.contains(&tag));
            *number >= known && thought.payload().is_some() && is_ours
        });
        let Some(last) = sent.map(|(number, _)| *number).max() else { return false };
        if cx.dispatch().stash().set(self.replays_key(), last + 1).is_err() {
            return false;
        }
        cx.dispatch().emit_with(|| EventKind::Warning {
            source: self.shared.dialect.name().into(),
            topic: "reasoning-replay-rejected".into(),
            message: "the provider refused reasoning of earlier answers; it is asked once more without it"
                .into(),
            payload: Some(json!({ "answer": error.to_string() }).into()),
        });
        true
    }

    fn replays_key(&self) -> String {
        format!("{STASH_KEY}.{}", self.shared.dialect.stash_key())
    }
}
