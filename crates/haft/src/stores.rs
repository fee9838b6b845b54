//! Stores: where turns, and the bytes of large results, are kept.
//!
//! Turns: `SqliteStore` (feature `sqlite`) is the default; [`MemoryStore`] forgets everything with the
//! process. Both keep the contract of [`Store`](crate::store::Store).
//!
//! Results: [`FolderSpoolStore`] is the default, and the one for results of any size; [`MemorySpoolStore`]
//! forgets everything with the process. Both keep the contract of [`SpoolStore`](crate::spool::SpoolStore).

mod folder;
mod memory;
mod memory_store;
mod pump;
mod resolve;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use self::folder::FolderSpoolStore;
pub use self::memory::MemorySpoolStore;
pub use self::memory_store::MemoryStore;
pub(crate) use self::pump::blocking;
#[cfg(feature = "sqlite")]
pub use self::sqlite::{SqliteOptions, SqliteStore, Synchronous};
