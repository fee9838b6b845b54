//! Results that stay outside the prompt, and how the model asks about them.
//!
//! A large result is stored by a [`Spooler`](crate::tool::Spooler) and becomes a [`SpooledArtifact`]. The artifacts of a turn
//! form an [`ArtifactSet`](crate::tool::ArtifactSet), where each has a short handle. [`Formats`](crate::forge::Formats) forges tools that query them: what
//! can be asked depends on the [`ArtifactKind`], and is said by an [`ArtifactFormat`](crate::forge::ArtifactFormat). Every [`QueryOutput`]
//! keeps to a [`Budget`] and says what it left out; it is trusted as far as its artifact is.

mod budget;
mod kind;
mod output;
mod spooled;

#[cfg(test)]
mod tests;

pub use self::budget::Budget;
pub use self::kind::{ArtifactKind, InvalidArtifactKind};
pub(crate) use self::output::cut_to_budget;
pub use self::output::{QueryListBuilder, QueryOutput};
pub(crate) use self::spooled::DraftContent;
pub use self::spooled::{ArtifactDraft, ArtifactRecord, NotDescribable, SpooledArtifact};
