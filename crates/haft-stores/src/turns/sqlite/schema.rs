//! The tables, and the migrations of older files.

/// The steps from each version to the next; the first one creates the tables. A released step is never changed,
/// because files exist that it has migrated.
///
/// The numbers of rows give their order in time. SQLite may assign the number of a deleted row again, which changes
/// no order.
pub(super) const MIGRATIONS: &[&str] = &[VERSION_1];

const VERSION_1: &str = "
CREATE TABLE turns (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation TEXT,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL, -- microseconds since 1970, as all times
    epoch INTEGER NOT NULL,
    holder TEXT,
    held_until INTEGER
) STRICT;
CREATE INDEX turns_by_conversation ON turns (conversation) WHERE conversation IS NOT NULL;
CREATE INDEX turns_unfinished ON turns (number) WHERE status IN ('running', 'waiting');

CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (turn, kind, id)
) STRICT;

CREATE TABLE journal (
    number INTEGER PRIMARY KEY,
    turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
    json TEXT NOT NULL
) STRICT;
CREATE INDEX journal_by_turn ON journal (turn);

CREATE TABLE gates (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
    json TEXT NOT NULL,
    settlement TEXT
) STRICT;
CREATE INDEX gates_by_turn ON gates (turn);
CREATE INDEX gates_open ON gates (turn) WHERE settlement IS NULL;
";
