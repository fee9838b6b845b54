//! Stores: where the bytes of large results are kept.
//!
//! [`FolderSpoolStore`] is the default, and the one for results of any size; [`MemorySpoolStore`] forgets
//! everything with the process. Both keep the contract of [`SpoolStore`](crate::spool::SpoolStore).

mod folder;
mod memory;
mod pump;
mod resolve;

pub use self::folder::FolderSpoolStore;
pub use self::memory::MemorySpoolStore;
pub(crate) use self::pump::blocking;
