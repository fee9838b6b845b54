//! Stores for turns.

mod changes;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use self::memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use self::postgres::{PostgresApprovals, PostgresOptions, PostgresStore};
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

/// A number as the signed integers of the databases have it. No limit and no count of tokens reaches the largest one.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
fn saturating_i64(value: u64) -> i64 {
    value.min(i64::MAX as u64) as i64
}

/// The names of tools in the list that a query has joined, sorted.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
fn split_tools(list: Option<&str>) -> Vec<String> {
    let mut names: Vec<String> =
        list.into_iter().flat_map(|it| it.split('\n')).map(str::to_owned).collect();
    names.sort_unstable();
    names
}
