//! The summary of a turn: where it is stored, how it is rendered, and how much it can be trusted.

use std::ops::Range;

use haft_core::call::{ToolCall, ToolResults};
use haft_core::context::DispatchContext;
use haft_core::media::Media;
use haft_core::record::{Message, MessageRole, Thought};
use haft_core::stash::StashError;
use haft_core::trust::{PromptRenderer, PromptText, TrustTier};
use serde::{Deserialize, Serialize};

use crate::assembly::is_own_identity;
use crate::record_lookup::record_number;

/// The key of the stash under which the summary of a turn is stored: an object with the text, its trust label, and the
/// first record that it does not cover. Copy it to the next turn of a conversation to continue with it.
pub const STASH_KEY: &str = "haftSummary";

/// A summary as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StoredSummary {
    pub(super) text: String,
    pub(super) trust: TrustTier,
    /// The first record that it does not cover: the id of a message or a thought.
    pub(super) until: String,
}

impl StoredSummary {
    /// Loads the summary of a turn, and the number of the first record that it does not cover. If that record is not in
    /// the turn, the summary covers none of its records.
    pub(crate) fn load(ctx: &DispatchContext) -> Option<(Self, u64)> {
        let stored: Self = ctx.stash().get_as(STASH_KEY).ok().flatten()?;
        let until = record_number(ctx, &stored.until).unwrap_or(0);
        Some((stored, until))
    }

    pub(super) fn store(&self, ctx: &DispatchContext) -> Result<(), StashError> {
        ctx.stash().set(STASH_KEY, self)
    }

    /// Renders the summary for the model, in the envelope of its trust.
    pub(crate) fn render(&self, renderer: &PromptRenderer) -> PromptText {
        renderer.summary(&self.text, self.trust)
    }
}

/// The lowest trust of everything that was in the prompts which a summary covers: the records with these numbers, the
/// summary before, and the memories and retrieved records of the turn. The model read the latter whenever it wrote, so that
/// its words may repeat them.
pub(super) fn covered_trust(
    ctx: &DispatchContext,
    numbers: &Range<u64>,
    before: Option<TrustTier>,
) -> TrustTier {
    let ours = TrustTier::FirstParty;
    let (messages, thoughts) = (ctx.turn().messages().numbered(), ctx.turn().thoughts().numbered());
    let calls = ctx.turn().tool_calls().numbered();
    let messages = messages.iter().filter(|it| numbers.contains(&it.0));
    let messages = messages.map(|it| message_trust(ctx, &it.1));
    let thought_trust = |it: &Thought| {
        let is_known = is_own_identity(it.identity()) && is_of_turn(ctx, it.id().as_str());
        if is_known { ours } else { TrustTier::UNTRUSTED }
    };
    let thoughts = thoughts.iter().filter(|it| numbers.contains(&it.0));
    let thoughts = thoughts.map(|it| thought_trust(&it.1));
    let calls = calls.iter().filter(|it| numbers.contains(&it.0)).map(|it| call_trust(&it.1));
    let covered = messages.chain(thoughts).chain(calls).chain(before);
    TrustTier::join(covered.chain(surrounding_trust(ctx)))
}

/// Whether a record was made by a step of this turn: its id begins with that of the turn, as `StepContext::next_id` makes
/// them.
fn is_of_turn(ctx: &DispatchContext, id: &str) -> bool {
    id.strip_prefix(ctx.turn_id()).is_some_and(|rest| rest.starts_with('/'))
}

/// The labels of the content around the timeline in every prompt of the turn.
fn surrounding_trust(ctx: &DispatchContext) -> impl Iterator<Item = TrustTier> {
    let memories = ctx.turn().memories().all().into_iter().map(|memory| memory.trust());
    let retrieved = ctx.turn().retrievables().all().into_iter();
    let retrieved = retrieved.map(|record| record.trust_tier());
    memories.chain(retrieved)
}

/// Messages of users are first-party, and so are those that the agent wrote in this turn: what it read then is covered as
/// well. What it read when it wrote a message of an earlier turn is unknown, and so is all that another agent read: those
/// are untrusted. Attachments have labels of their own.
fn message_trust(ctx: &DispatchContext, message: &Message) -> TrustTier {
    let is_unknown = message.role() == MessageRole::Assistant
        && !(is_own_identity(message.identity()) && is_of_turn(ctx, message.id().as_str()));
    let said = if is_unknown { TrustTier::UNTRUSTED } else { message.role().trust_tier() };
    message.attachments().iter().map(Media::trust_tier).fold(said, TrustTier::floor)
}

/// The label with which the result is shown: handles and errors are always untrusted.
fn call_trust(call: &ToolCall) -> TrustTier {
    match &call.results {
        Some(ToolResults::Text(_)) => call.label(),
        Some(ToolResults::Media(all)) => TrustTier::join(all.iter().map(Media::trust_tier)),
        _ => TrustTier::UNTRUSTED,
    }
}
