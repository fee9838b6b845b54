//! The summary of a turn: where it is stored, how it is rendered, and how far it can be trusted.

use std::ops::Range;

use haft_core::call::{ToolCall, ToolResults};
use haft_core::context::DispatchContext;
use haft_core::record::{Identity, Message, MessageRole, Thought};
use haft_core::stash::StashError;
use haft_core::trust::{MemoryPart, PromptRenderer, PromptText, TrustLabel, TrustTier};
use serde::{Deserialize, Serialize};

/// The key of the stash under which the summary of a turn is stored: an object with the text, its trust label, and the
/// first record that it does not cover. Copy it to the next turn of a conversation to continue with it.
pub const STASH_KEY: &str = "haftSummary";

/// A summary as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StoredSummary {
    pub(super) text: String,
    pub(super) trust: TrustLabel,
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
        let part = MemoryPart::new("summary", self.trust, &self.text);
        renderer.memories(&[part.kind("summary").source("summary of what was said before")])
    }
}

/// The number of the record with an id.
pub(crate) fn record_number(ctx: &DispatchContext, id: &str) -> Option<u64> {
    let messages = ctx.turn().messages().numbered().into_iter();
    let found = messages.rev().find(|(_, it)| it.id().as_str() == id).map(|(number, _)| number);
    found.or_else(|| {
        let thoughts = ctx.turn().thoughts().numbered().into_iter();
        thoughts.rev().find(|(_, it)| it.id().as_str() == id).map(|(number, _)| number)
    })
}

/// The id of the record with a number, by which another process finds it.
pub(crate) fn record_id(ctx: &DispatchContext, number: u64) -> Option<String> {
    let messages = ctx.turn().messages().numbered();
    let found =
        messages.iter().find(|it| it.0 == number).map(|(_, it)| it.id().as_str().to_owned());
    found.or_else(|| {
        let thoughts = ctx.turn().thoughts().numbered();
        thoughts.iter().find(|it| it.0 == number).map(|(_, it)| it.id().as_str().to_owned())
    })
}

/// The lowest trust of the records with these numbers, and of the summary before.
pub(super) fn covered_trust(
    ctx: &DispatchContext,
    is_self: &dyn Fn(&Identity) -> bool,
    numbers: &Range<u64>,
    before: Option<TrustLabel>,
) -> TrustLabel {
    let ours = TrustLabel::declared(TrustTier::FirstParty);
    let (messages, thoughts) = (ctx.turn().messages().numbered(), ctx.turn().thoughts().numbered());
    let calls = ctx.turn().tool_calls().numbered();
    let messages = messages.iter().filter(|it| numbers.contains(&it.0));
    let messages = messages.map(|it| message_trust(&it.1, is_self));
    let thought_trust =
        |it: &Thought| if is_self(it.identity()) { ours } else { TrustLabel::UNTRUSTED };
    let thoughts = thoughts.iter().filter(|it| numbers.contains(&it.0));
    let thoughts = thoughts.map(|it| thought_trust(&it.1));
    let calls = calls.iter().filter(|it| numbers.contains(&it.0)).map(|it| call_trust(&it.1));
    TrustLabel::join(messages.chain(thoughts).chain(calls).chain(before))
}

/// Messages of users and of the agent itself have the tier of their role; attachments have labels of their own, and
/// messages of other agents are untrusted.
fn message_trust(message: &Message, is_self: &dyn Fn(&Identity) -> bool) -> TrustLabel {
    let is_peer = message.role() == MessageRole::Assistant && !is_self(message.identity());
    let said = match is_peer {
        true => TrustLabel::UNTRUSTED,
        false => TrustLabel::declared(message.role().trust_tier()),
    };
    message.attachments().iter().map(TrustLabel::of_media).fold(said, TrustLabel::floor)
}

/// The label with which the result is shown: handles and errors are always untrusted.
fn call_trust(call: &ToolCall) -> TrustLabel {
    match &call.results {
        Some(ToolResults::Text(_)) => call.label(),
        Some(ToolResults::Media(all)) => TrustLabel::join(all.iter().map(TrustLabel::of_media)),
        _ => TrustLabel::UNTRUSTED,
    }
}
