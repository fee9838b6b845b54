//! The forge turns artifacts into tools that query them.
//!
//! An [`ArtifactFormat`] defines the queries of a kind of artifact. [`Formats`] collects the formats and makes the
//! tools for the artifacts of a turn.

mod format;
mod formats;
mod list_tool;

pub use self::format::{ArtifactFormat, Query, QueryContext};
pub use self::formats::{Formats, InvalidFormat};
