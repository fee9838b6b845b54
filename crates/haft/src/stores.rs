//! Stores: where turns, and the bytes of large results, are kept.
//!
//! Turns: `SqliteStore` (feature `sqlite`) is the default; [`MemoryStore`] forgets everything with the
//! process. Both keep the contract of [`Store`](crate::store::Store).
//!
//! Results: [`FolderSpoolStore`] is the default, and the one for results of any size; [`MemorySpoolStore`]
//! forgets everything with the process. Both keep the contract of [`SpoolStore`](crate::spool::SpoolStore).
//!
//! `TurnFolder` (feature `sqlite`) is one folder with both, and the key for answers to gates.

mod folder;
mod memory;
mod memory_store;
mod pump;
mod resolve;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "sqlite")]
mod turn_folder;

pub use self::folder::{FileSpoolReader, FolderSpoolStore};
pub use self::memory::MemorySpoolStore;
pub use self::memory_store::MemoryStore;
pub(crate) use self::pump::blocking;
#[cfg(feature = "sqlite")]
pub use self::sqlite::{SqliteOptions, SqliteStore, Synchronous};
#[cfg(feature = "sqlite")]
pub use self::turn_folder::TurnFolder;
