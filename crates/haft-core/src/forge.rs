//! The forge turns artifacts into tools that query them.
//!
//! Every artifact has the same four tools, which ask a [`Question`]. An [`ArtifactFormat`] answers for a kind of
//! artifact. [`Formats`] collects the formats and makes the tools for the artifacts of a turn.

mod facts;
mod format;
mod formats;
mod question;

pub use self::format::{ArtifactFormat, Query, QueryAnswer, QueryContext};
pub use self::formats::{Formats, InvalidFormat};
pub use self::question::Question;
