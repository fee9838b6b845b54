//! Stores: where turns, and the bytes of large results, are kept.
//!
//! Turns: `SqliteStore` (feature `sqlite`) is the default; [`MemoryStore`] forgets everything with the
//! process. Both keep the contract of [`Store`](haft_core::store::Store).
//!
//! Results: [`FolderSpoolStore`] is the default, and the one for results of any size; [`MemorySpoolStore`]
//! forgets everything with the process. Both keep the contract of [`SpoolStore`](haft_core::spool::SpoolStore).
//!
//! `TurnFolder` (feature `sqlite`) is one folder with both, and the key for answers to gates.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod blocking;
#[cfg(feature = "sqlite")]
mod secret;
mod spools;
#[cfg(feature = "sqlite")]
mod turn_dir;
mod turns;

pub use self::spools::{FileSpoolReader, FolderSpoolStore, MemorySpoolStore};
#[cfg(feature = "sqlite")]
pub use self::turn_dir::TurnFolder;
pub use self::turns::MemoryStore;
#[cfg(feature = "sqlite")]
pub use self::turns::{SqliteOptions, SqliteStore, Synchronous};
