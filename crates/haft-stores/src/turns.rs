//! Stores for turns.

mod changes;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
mod turn_row;

pub use self::memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use self::postgres::{PostgresApprovals, PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub(crate) use self::sqlite::KEY_FILE;
#[cfg(feature = "sqlite")]
pub use self::sqlite::{SqliteOptions, SqliteStore, Synchronous};

/// The prefix of tool names among the words by which a turn is found. Other words have only letters and digits, so no
/// search for a word finds a tool name.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
const TOOL_MARK: &str = "=";

/// The word by which the turns that have called a tool are found.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
fn tool_word(name: &str) -> String {
    format!("{TOOL_MARK}{name}")
}
