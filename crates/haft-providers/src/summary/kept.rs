//! The summary of a turn, where it is kept and how it is shown.

use haft_core::context::DispatchContext;
use haft_core::stash::StashError;
use haft_core::trust::{MemoryPart, PromptRenderer, PromptText, TrustLabel};
use serde::{Deserialize, Serialize};

/// Where in the stash of a turn its summary is kept: an object with the text, the trust that it has, and the
/// first record that it does not cover. Give it to the next turn of a conversation, and that turn goes on with it.
pub const STASH_KEY: &str = "haftSummary";

/// A summary as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Recalled {
    pub(super) text: String,
    pub(super) trust: TrustLabel,
    /// The first record that it does not cover: the id of a message or a thought.
    pub(super) until: String,
}

impl Recalled {
    /// The summary of a turn, and the number from which on records are shown as they are. One whose next record is not
    /// there covers nothing that is.
    pub(crate) fn of(ctx: &DispatchContext) -> Option<(Self, u64)> {
        let kept: Self = ctx.stash().get_as(STASH_KEY).ok().flatten()?;
        let until = number_of(ctx, &kept.until).unwrap_or(0);
        Some((kept, until))
    }

    pub(super) fn keep(&self, ctx: &DispatchContext) -> Result<(), StashError> {
        ctx.stash().set(STASH_KEY, self)
    }

    /// The summary as the model sees it: in the envelope of its trust.
    pub(crate) fn shown(&self, renderer: &PromptRenderer) -> PromptText {
        let part = MemoryPart::new("summary", self.trust, &self.text);
        renderer.memories(&[part.kind("summary").source("summary of what was said before")])
    }
}

fn number_of(ctx: &DispatchContext, id: &str) -> Option<u64> {
    let messages = ctx.turn().messages().numbered().into_iter();
    let found = messages.rev().find(|(_, it)| it.id().as_str() == id).map(|(number, _)| number);
    found.or_else(|| {
        let thoughts = ctx.turn().thoughts().numbered().into_iter();
        thoughts.rev().find(|(_, it)| it.id().as_str() == id).map(|(number, _)| number)
    })
}

/// The id of the record with a number, by which it is found again in another process.
pub(super) fn id_of(ctx: &DispatchContext, number: u64) -> Option<String> {
    let messages = ctx.turn().messages().numbered();
    let found =
        messages.iter().find(|it| it.0 == number).map(|(_, it)| it.id().as_str().to_owned());
    found.or_else(|| {
        let thoughts = ctx.turn().thoughts().numbered();
        thoughts.iter().find(|it| it.0 == number).map(|(_, it)| it.id().as_str().to_owned())
    })
}
