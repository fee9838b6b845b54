//! The forge: artifacts become tools that query them.
//!
//! An [`ArtifactFormat`] says which queries a kind of artifact answers. [`Formats`] gathers them and makes the
//! tools for the artifacts of a turn.

mod format;
mod formats;
mod list_tool;

pub use self::format::{ArtifactFormat, HandleSchema, Query, QueryContext};
pub use self::formats::{Formats, InvalidFormat};
