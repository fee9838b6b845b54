//! Stores for the content of large results.

mod chunk_batches;
mod descriptor;
mod dir;
mod memory;
#[cfg(feature = "object-store")]
mod object;

use std::io;

use haft_core::spool::SpoolPayload;

pub use self::dir::{DirSpoolStore, FileSpoolReader};
pub use self::memory::MemorySpoolStore;
#[cfg(feature = "object-store")]
pub use self::object::{ObjectOptions, ObjectSpoolStore};

/// The error for a payload variant that is newer than this crate.
fn unknown_payload(payload: &SpoolPayload) -> io::Error {
    io::Error::other(format!("unknown kind of payload: {payload:?}"))
}
