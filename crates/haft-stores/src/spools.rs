//! Stores for the content of large results.

#[cfg(feature = "sqlite")]
mod any;
mod chunk_batches;
mod dir;
mod memory;
#[cfg(feature = "object-store")]
mod object;
mod resolver;

use std::io;

use haft_core::spool::SpoolPayload;

#[cfg(feature = "sqlite")]
pub use self::any::AnySpoolStore;
pub use self::dir::{DirSpoolStore, FileSpoolReader};
pub use self::memory::MemorySpoolStore;
#[cfg(feature = "object-store")]
pub use self::object::{ObjectOptions, ObjectSpoolStore};

/// The error for a payload variant that is newer than this crate.
fn unknown_payload(payload: &SpoolPayload) -> io::Error {
    io::Error::other(format!("unknown kind of payload: {payload:?}"))
}
