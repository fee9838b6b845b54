//! The tables, and the migrations of older files.

/// The steps from each version to the next; the first one creates the tables. A released step is never changed,
/// because files exist that it has migrated.
///
/// The numbers of rows give their order in time. SQLite may assign the number of a deleted row again, which changes
/// no order.
pub(super) const MIGRATIONS: &[&str] = &[VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5];

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

/// Memories become rows of their scope, and conversations a list.
///
/// In version 1 a memory was a record of a turn. A turn began with the memories of the newest turn of its agent, so that
/// several turns have the same id: the newest one holds, unless a later turn deleted the memory. The agent is the path
/// that the command line wrote into the first journal entry; memories of other turns stay records of their turns.
const VERSION_2: &str = r#"
CREATE TABLE conversations (
    id TEXT NOT NULL,
    tenant TEXT NOT NULL DEFAULT '',
    title TEXT,
    agent TEXT,
    floor TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, -- when its newest turn began
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
INSERT INTO conversations (id, created_at, updated_at)
    SELECT conversation, min(created_at), max(created_at) FROM turns
    WHERE conversation IS NOT NULL GROUP BY conversation;

CREATE TABLE memories (
    number INTEGER PRIMARY KEY,
    scope_kind TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    id TEXT NOT NULL,
    json TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    deleted INTEGER NOT NULL DEFAULT 0,
    UNIQUE (scope_kind, scope_id, id)
) STRICT;

CREATE TEMP TABLE agent_turns AS
    SELECT turns.number AS turn, json_extract(first.json, '$.stash."haft-run".agent') AS agent
    FROM turns JOIN journal AS first
        ON first.number = (SELECT min(number) FROM journal WHERE journal.turn = turns.number)
    WHERE iif(json_valid(first.json), json_type(first.json, '$.stash."haft-run".agent'), '') = 'text';
CREATE TEMP TABLE newest_memories AS
    SELECT agent_turns.agent AS agent, records.id AS id, max(records.turn) AS turn
    FROM records JOIN agent_turns ON agent_turns.turn = records.turn
    WHERE records.kind = 'memory' GROUP BY agent_turns.agent, records.id;
CREATE TEMP TABLE deleted_memories AS
    SELECT agent_turns.agent AS agent, max(records.turn) AS turn,
        json_extract(json_extract(records.json, '$.accepted'), '$.id') AS id
    FROM records JOIN agent_turns ON agent_turns.turn = records.turn
    WHERE records.kind = 'tool-call'
        AND iif(json_valid(records.json),
            json_extract(records.json, '$.tool') = 'delete_memory'
                AND json_extract(records.json, '$.state') = 'succeeded'
                AND json_valid(json_extract(records.json, '$.accepted')),
            0)
    GROUP BY 1, 3;
INSERT INTO memories (scope_kind, scope_id, id, json)
    SELECT 'agent', newest.agent, newest.id, records.json
    FROM newest_memories AS newest
        JOIN records ON records.turn = newest.turn AND records.kind = 'memory'
            AND records.id = newest.id
        LEFT JOIN deleted_memories AS deleted
            ON deleted.agent = newest.agent AND deleted.id = newest.id
    WHERE coalesce(deleted.turn, 0) <= newest.turn
    ORDER BY records.number;
DROP TABLE deleted_memories;
DROP TABLE newest_memories;
DROP TABLE agent_turns;
"#;

/// Rows get checksums. Those that exist have none and are not checked until they are written again.
const VERSION_3: &str = "
ALTER TABLE records ADD COLUMN checksum INTEGER;
ALTER TABLE journal ADD COLUMN checksum INTEGER;
ALTER TABLE gates ADD COLUMN checksum INTEGER;
";

/// A turn says when it can be claimed, and has a summary that can be listed and searched. Memories get checksums. The list of
/// conversations goes: nothing read it, and the turns of a conversation are found by their index.
///
/// [`index_turns`](super::indexing::index_turns) fills the new columns and tables.
const VERSION_4: &str = "
DROP TABLE conversations;
ALTER TABLE memories ADD COLUMN checksum INTEGER;
ALTER TABLE gates ADD COLUMN expires_at INTEGER;

ALTER TABLE turns ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN runnable_at INTEGER; -- NULL while it cannot be claimed
ALTER TABLE turns ADD COLUMN take_overs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN cancel TEXT; -- who asked for its end, as JSON
ALTER TABLE turns ADD COLUMN agent TEXT;
ALTER TABLE turns ADD COLUMN model TEXT;
ALTER TABLE turns ADD COLUMN first_words TEXT;
ALTER TABLE turns ADD COLUMN tokens INTEGER;
ALTER TABLE turns ADD COLUMN updated_at INTEGER;
ALTER TABLE turns ADD COLUMN ended_at INTEGER;
ALTER TABLE turns ADD COLUMN error_code TEXT;
UPDATE turns SET runnable_at = coalesce(held_until, created_at)
    WHERE status = 'running' OR (status = 'waiting' AND NOT EXISTS (
        SELECT 1 FROM gates WHERE gates.turn = turns.number AND gates.settlement IS NULL));

DROP INDEX turns_unfinished;
CREATE INDEX turns_unfinished ON turns (number)
    WHERE status IN ('queued', 'running', 'waiting', 'suspended', 'cancel-requested');
CREATE INDEX turns_unfinished_by_conversation ON turns (conversation, number)
    WHERE conversation IS NOT NULL
        AND status IN ('queued', 'running', 'waiting', 'suspended', 'cancel-requested');
CREATE INDEX turns_runnable ON turns (priority DESC, runnable_at, number)
    WHERE runnable_at IS NOT NULL;
CREATE INDEX turns_by_agent ON turns (agent) WHERE agent IS NOT NULL;

CREATE TABLE turn_words (
    word TEXT NOT NULL,
    turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
    PRIMARY KEY (word, turn)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_words_by_turn ON turn_words (turn);

CREATE TABLE content ( -- which stored content a record refers to
    key TEXT NOT NULL,
    record INTEGER NOT NULL REFERENCES records (number) ON DELETE CASCADE,
    PRIMARY KEY (key, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX content_by_record ON content (record);

CREATE TABLE store ( -- facts of the store as a whole
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Conversations have titles, and turns are found by the tools that they called: words that begin with `=`.
const VERSION_5: &str = r#"
CREATE TABLE conversations (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO turn_words (word, turn)
    SELECT '=' || json_extract(json, '$.tool'), turn FROM records
    WHERE kind = 'tool-call' AND iif(json_valid(json), json_type(json, '$.tool'), '') = 'text'
        AND length(json_extract(json, '$.tool')) <= 64;
"#;

/// The condition of a turn that has not ended, as the indexes have it.
pub(super) const UNFINISHED: &str =
    "status IN ('queued', 'running', 'waiting', 'suspended', 'cancel-requested')";
pub(super) const UNFINISHED_WORDS: &str =
    "'queued', 'running', 'waiting', 'suspended', 'cancel-requested'";

/// The first version whose turns have summaries and a schedule.
pub(super) const SUMMARY_VERSION: usize = 4;
/// The first version that has memories of scopes.
pub(super) const MEMORIES_VERSION: usize = 2;
/// The first version whose rows have checksums.
pub(super) const CHECKSUM_VERSION: usize = 3;
/// The first version whose conversations have titles.
pub(super) const TITLES_VERSION: usize = 5;
