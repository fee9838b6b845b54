//! Stores for turns.

mod changes;
mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use self::memory::MemoryStore;
#[cfg(feature = "sqlite")]
pub use self::sqlite::{SqliteOptions, SqliteStore, Synchronous};
