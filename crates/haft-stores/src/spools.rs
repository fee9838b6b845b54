//! Stores of large results.

mod dir;
mod memory;
mod pump;
mod resolve;

pub use self::dir::{FileSpoolReader, FolderSpoolStore};
pub use self::memory::MemorySpoolStore;
