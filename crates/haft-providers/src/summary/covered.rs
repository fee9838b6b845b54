//! How far a summary can be trusted.

use std::ops::Range;

use haft_core::call::{ToolCall, ToolResults};
use haft_core::context::DispatchContext;
use haft_core::record::{Identity, Message, MessageRole, Thought};
use haft_core::trust::{TrustLabel, TrustTier};

/// The lowest trust of the records with these numbers, and of the summary before.
pub(super) fn label(
    ctx: &DispatchContext,
    is_self: &dyn Fn(&Identity) -> bool,
    numbers: &Range<u64>,
    before: Option<TrustLabel>,
) -> TrustLabel {
    let ours = TrustLabel::declared(TrustTier::FirstParty);
    let (messages, thoughts) = (ctx.turn().messages().numbered(), ctx.turn().thoughts().numbered());
    let calls = ctx.turn().tool_calls().numbered();
    let messages = messages.iter().filter(|it| numbers.contains(&it.0));
    let messages = messages.map(|it| of_message(&it.1, is_self));
    let of_thought =
        |it: &Thought| if is_self(it.identity()) { ours } else { TrustLabel::UNTRUSTED };
    let thoughts = thoughts.iter().filter(|it| numbers.contains(&it.0));
    let thoughts = thoughts.map(|it| of_thought(&it.1));
    let calls = calls.iter().filter(|it| numbers.contains(&it.0)).map(|it| of_call(&it.1));
    TrustLabel::join(messages.chain(thoughts).chain(calls).chain(before))
}

/// What users and the agent itself say is first-party; of what is attached the medium knows, and other agents may say
/// anything.
fn of_message(message: &Message, is_self: &dyn Fn(&Identity) -> bool) -> TrustLabel {
    let is_peer = message.role() == MessageRole::Assistant && !is_self(message.identity());
    let said =
        if is_peer { TrustLabel::UNTRUSTED } else { TrustLabel::declared(TrustTier::FirstParty) };
    message.attachments().iter().map(TrustLabel::of_media).fold(said, TrustLabel::floor)
}

/// As its result is shown: handles and errors are untrusted, whoever made them.
fn of_call(call: &ToolCall) -> TrustLabel {
    match &call.results {
        Some(ToolResults::Text(_)) => call.label(),
        Some(ToolResults::Media(all)) => TrustLabel::join(all.iter().map(TrustLabel::of_media)),
        _ => TrustLabel::UNTRUSTED,
    }
}
