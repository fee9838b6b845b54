//! The tables.

use haft_core::store::{StoreError, StoreKey};

use super::connection::Database;
use super::error::PostgresError;

/// The version of the tables. A schema of another one is refused.
const VERSION: u32 = 5;

/// The tables. `{s}` stands for the schema.
///
/// Times are microseconds since 1970. Ids of records can have any length, which an index cannot: they are found by their
/// beginnings, and others by their SHA-256. Conversations, agents and keys are found by hash indexes for the same reason.
/// Marks are those of `turns/sql/marks.rs`.
const TABLES: &str = r#"
CREATE TABLE {s}.turns (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    conversation text COLLATE "C",
    tenant text COLLATE "C" NOT NULL,
    status text NOT NULL,
    created_at bigint NOT NULL,
    epoch bigint NOT NULL,
    holder text,
    process text,
    held_until bigint,
    priority bigint NOT NULL,
    runnable_at bigint,
    take_overs bigint NOT NULL,
    cancel text,
    agent text COLLATE "C",
    model text COLLATE "C",
    first_words text,
    tokens bigint,
    updated_at bigint,
    ended_at bigint,
    stop text, -- why it stopped, as JSON
    tools text NOT NULL, -- one name per line
    entries bigint NOT NULL, -- how many entries the journal has
    last_entry bytea NOT NULL, -- the mark of the last one
    row_sum bytea NOT NULL, -- of the marks of the records and gates at their places
    mark bytea NOT NULL
);
CREATE INDEX turns_runnable ON {s}.turns (priority DESC, runnable_at, number) WHERE runnable_at IS NOT NULL;
CREATE INDEX turns_unfinished ON {s}.turns (number)
    WHERE status IN ('queued', 'running', 'waiting', 'interrupted', 'cancel-requested');
CREATE INDEX turns_unfinished_by_conversation ON {s}.turns USING hash (conversation)
    WHERE status IN ('queued', 'running', 'waiting', 'interrupted', 'cancel-requested');
CREATE INDEX turns_by_conversation ON {s}.turns USING hash (conversation);
CREATE INDEX turns_by_agent ON {s}.turns USING hash (agent);
CREATE INDEX turns_by_time ON {s}.turns (created_at);

CREATE TABLE {s}.turn_words ( -- a word that begins with `=` is the name of a tool that the turn has called
    word text COLLATE "C" NOT NULL,
    turn bigint NOT NULL REFERENCES {s}.turns ON DELETE CASCADE,
    PRIMARY KEY (word, turn)
);
CREATE INDEX turn_words_by_turn ON {s}.turn_words (turn);

CREATE TABLE {s}.records (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    turn bigint NOT NULL REFERENCES {s}.turns ON DELETE CASCADE,
    kind text NOT NULL,
    id text COLLATE "C" NOT NULL,
    json text NOT NULL,
    mark bytea NOT NULL
);
CREATE INDEX records_by_id ON {s}.records (turn, kind, substr(id, 1, 500));
CREATE INDEX records_by_turn ON {s}.records (turn, number);

CREATE TABLE {s}.content ( -- which stored content a record refers to
    key text COLLATE "C" NOT NULL,
    record bigint NOT NULL REFERENCES {s}.records ON DELETE CASCADE
);
CREATE INDEX content_by_key ON {s}.content USING hash (key);
CREATE INDEX content_by_record ON {s}.content (record);

CREATE TABLE {s}.journal (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    turn bigint NOT NULL REFERENCES {s}.turns ON DELETE CASCADE,
    json text NOT NULL,
    mark bytea NOT NULL
);
CREATE INDEX journal_by_turn ON {s}.journal (turn, number);

CREATE TABLE {s}.gates (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    turn bigint NOT NULL REFERENCES {s}.turns ON DELETE CASCADE,
    json text NOT NULL,
    expires_at bigint,
    mark bytea NOT NULL,
    settlement text,
    settlement_mark bytea
);
CREATE INDEX gates_by_turn ON {s}.gates (turn, number);
CREATE INDEX gates_open ON {s}.gates (number) WHERE settlement IS NULL;

CREATE TABLE {s}.memories (
    scope_kind text NOT NULL,
    scope_digest bytea NOT NULL, -- of the id of the scope
    digest bytea NOT NULL, -- of the id
    number bigint NOT NULL DEFAULT 0, -- the place in the scope
    id text NOT NULL,
    json text NOT NULL,
    version bigint NOT NULL,
    deleted bigint NOT NULL,
    mark bytea NOT NULL,
    PRIMARY KEY (scope_kind, scope_digest, digest)
);
CREATE INDEX memories_by_number ON {s}.memories (scope_kind, scope_digest, number);

CREATE TABLE {s}.conversations (
    digest bytea PRIMARY KEY, -- of the tenant and the id
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    title text NOT NULL,
    mark bytea NOT NULL
);
"#;

/// Creates the schema and its tables, unless they exist, and refuses tables that belong to another key. Processes that do it at the same time wait for each other.
pub(super) async fn create_tables(
    database: &Database,
    key: &StoreKey,
) -> Result<(), PostgresError> {
    let fingerprint = hex::encode(key.fingerprint());
    let mut client = database.acquire_client().await?;
    let transaction = client.transaction().await?;
    let lock = database
        .qualify_tables("SELECT pg_advisory_xact_lock(hashtextextended('haft schema {s}', 0))");
    transaction.execute(&lock, &[]).await?;
    let create = "CREATE SCHEMA IF NOT EXISTS {s};
                  CREATE TABLE IF NOT EXISTS {s}.store (key text PRIMARY KEY, value text NOT NULL);";
    transaction.batch_execute(&database.qualify_tables(create)).await?;
    let read = database.qualify_tables("SELECT value FROM {s}.store WHERE key = 'version'");
    let found = transaction.query_opt(&read, &[]).await?;
    if let Some(found) = found {
        let found: String = found.try_get(0)?;
        return match found.parse().unwrap_or(u32::MAX) {
            VERSION => {
                let read = database.qualify_tables("SELECT value FROM {s}.store WHERE key = 'key'");
                let found = transaction.query_opt(&read, &[]).await?;
                let found = found.map(|row| row.try_get::<_, String>(0)).transpose()?;
                match found == Some(fingerprint) {
                    true => Ok(()),
                    false => Err(StoreError::OtherSecret.into()),
                }
            }
            found => Err(StoreError::OtherVersion { found, known: VERSION }.into()),
        };
    }
    transaction.batch_execute(&database.qualify_tables(TABLES)).await?;
    let write = "INSERT INTO {s}.store (key, value) VALUES ('version', $1)";
    transaction.execute(&database.qualify_tables(write), &[&VERSION.to_string()]).await?;
    let write = "INSERT INTO {s}.store (key, value) VALUES ('key', $1)";
    transaction.execute(&database.qualify_tables(write), &[&fingerprint]).await?;
    transaction.commit().await?;
    Ok(())
}
