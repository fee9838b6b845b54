//! Results that stay outside the prompt, and how the model queries them.
//!
//! A large result is stored by a [`Spooler`](crate::tool::Spooler) and becomes a [`SpooledArtifact`]. The artifacts of
//! a turn form an [`ArtifactSet`](crate::tool::ArtifactSet), where each has a short handle.
//! [`Formats`](crate::forge::Formats) makes tools that query them. The available queries depend on the [`ArtifactKind`]
//! and are defined by an [`ArtifactFormat`](crate::forge::ArtifactFormat). Every [`QueryOutput`] stays within a
//! [`Budget`] and says what it left out; it is trusted as much as its artifact.

mod budget;
mod kind;
mod output;
mod spooled;

#[cfg(test)]
mod tests;

pub use self::budget::Budget;
pub use self::kind::ArtifactKind;
pub(crate) use self::output::cut_to_budget;
pub use self::output::{QueryListBuilder, QueryOutput};
pub(crate) use self::spooled::DraftContent;
pub use self::spooled::{ArtifactDraft, SpooledArtifact};
