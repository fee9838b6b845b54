//! Stores for turns.

mod changes;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use self::memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use self::postgres::{PostgresLedger, PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use self::sqlite::{SqliteOptions, SqliteStore, Synchronous};
