//! The forge: artifacts become tools that query them.
//!
//! An [`ArtifactFormat`] says which queries a kind of artifact answers. [`Formats`] gathers them and makes the
//! tools for the artifacts of a turn.

mod forging;
mod format;

pub use self::forging::{Formats, InvalidFormat};
pub use self::format::{ArtifactFormat, Query, QueryContext};
