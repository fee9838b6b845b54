//! The tables.

/// The version of the tables. A file of another one is refused.
pub(super) const VERSION: u32 = 8;

/// The tables. Times are microseconds since 1970.
///
/// Marks are those of `turns/sql/marks.rs`. The numbers of rows give their order in time. SQLite may assign the number of a deleted row again, which changes
/// no order.
pub(super) const TABLES: &str = "
CREATE TABLE turns (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    conversation TEXT,
    tenant TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    holder TEXT,
    process TEXT, -- the mark of the holder's process
    held_until INTEGER,
    priority INTEGER NOT NULL,
    runnable_at INTEGER, -- NULL while it cannot be claimed
    take_overs INTEGER NOT NULL DEFAULT 0,
    cancel TEXT, -- who asked for its end, as JSON
    agent TEXT,
    model TEXT,
    first_words TEXT,
    tokens INTEGER,
    updated_at INTEGER,
    ended_at INTEGER,
    stop TEXT, -- why it stopped, as JSON
    tools TEXT NOT NULL, -- one name per line
    entries INTEGER NOT NULL, -- how many entries the journal has
    last_entry BLOB NOT NULL, -- the mark of the last one
    row_sum BLOB NOT NULL, -- of the marks of the records and gates at their places
    mark BLOB NOT NULL
) STRICT;
CREATE INDEX turns_by_conversation ON turns (conversation) WHERE conversation IS NOT NULL;
CREATE INDEX turns_unfinished ON turns (number)
    WHERE status IN ('queued', 'running', 'waiting', 'interrupted', 'cancel-requested');
CREATE INDEX turns_unfinished_by_conversation ON turns (conversation, number)
    WHERE conversation IS NOT NULL
        AND status IN ('queued', 'running', 'waiting', 'interrupted', 'cancel-requested');
CREATE INDEX turns_runnable ON turns (priority DESC, runnable_at, number)
    WHERE runnable_at IS NOT NULL;
CREATE INDEX turns_by_process ON turns (process) WHERE process IS NOT NULL;
CREATE INDEX turns_by_agent ON turns (agent) WHERE agent IS NOT NULL;

CREATE TABLE turn_words ( -- a word that begins with `=` is the name of a tool that the turn has called
    word TEXT NOT NULL,
    turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
    PRIMARY KEY (word, turn)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_words_by_turn ON turn_words (turn);

CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    json TEXT NOT NULL,
    mark BLOB NOT NULL,
    UNIQUE (turn, kind, id)
) STRICT;

CREATE TABLE content ( -- which stored content a record refers to
    key TEXT NOT NULL,
    record INTEGER NOT NULL REFERENCES records (number) ON DELETE CASCADE,
    PRIMARY KEY (key, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX content_by_record ON content (record);

CREATE TABLE journal (
    number INTEGER PRIMARY KEY,
    turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
    json TEXT NOT NULL,
    mark BLOB NOT NULL
) STRICT;
CREATE INDEX journal_by_turn ON journal (turn);

CREATE TABLE gates (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
    json TEXT NOT NULL,
    expires_at INTEGER,
    mark BLOB NOT NULL,
    settlement TEXT,
    settlement_mark BLOB
) STRICT;
CREATE INDEX gates_by_turn ON gates (turn);
CREATE INDEX gates_open ON gates (turn) WHERE settlement IS NULL;

CREATE TABLE memories (
    scope_kind TEXT NOT NULL,
    scope_digest BLOB NOT NULL, -- of the id of the scope
    digest BLOB NOT NULL, -- of the id
    number INTEGER NOT NULL DEFAULT 0, -- the place in the scope
    id TEXT NOT NULL,
    json TEXT NOT NULL,
    version INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    mark BLOB NOT NULL,
    PRIMARY KEY (scope_kind, scope_digest, digest)
) STRICT;
CREATE INDEX memories_by_number ON memories (scope_kind, scope_digest, number);

CREATE TABLE conversations (
    digest BLOB NOT NULL PRIMARY KEY, -- of the tenant and the id
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    mark BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE store ( -- facts of the store as a whole
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
";
