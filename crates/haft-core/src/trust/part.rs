//! What can be rendered: one type per sort of content.

mod media;
mod record;
mod speech;
mod tool;

pub use media::{MediaFallbackPart, MediaFrame};
pub use record::{MemoryPart, RetrievedPart};
pub use speech::{MessagePart, PeerPart, ThoughtPart};
pub use tool::{HandlePart, PartOrigin, ToolResultPart};
