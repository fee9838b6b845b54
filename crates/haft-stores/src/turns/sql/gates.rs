//! Gates in a database.

use haft_core::clock::Timestamp;
use haft_core::store::{
    GateId, GateQuery, GateRow, Mark, SettleOutcome, StoreError, StoreKey, TurnId,
};

use super::marks::{NOT_AUTHENTIC, check_mark, gate_mark, place_mark, settlement_mark};
use super::turn::{SqlTurn, turn_sql};
use super::{SqlQuery, SqlRow, SqlTransaction, SqlValue, damaged, query};

/// A gate whose marks fit.
pub(super) struct SqlGate {
    pub(super) number: i64,
    pub(super) mark: Mark,
    pub(super) row: GateRow,
}

impl SqlGate {
    /// Reads the columns of [`COLUMNS`].
    fn read(key: &StoreKey, mut columns: SqlRow) -> Result<Self, StoreError> {
        let number = columns.int()?;
        let (id, turn) = (columns.text()?, columns.text()?);
        let what = || format!("gate `{id}`");
        let gate: GateId = id.parse().map_err(|_| damaged(what(), "an id is none"))?;
        let turn: TurnId = turn.parse().map_err(|_| damaged(what(), "an id is none"))?;
        let json = columns.text()?;
        let expires_at = columns.time(|| damaged(what(), "its expiry is no valid time"))?;
        let mark = columns.mark()?;
        check_mark(&mark, &gate_mark(key, &turn, &gate, &json, expires_at), what)?;
        let settlement = columns.optional_text()?;
        match (&settlement, columns.optional_mark()?) {
            (None, None) => {}
            (Some(text), Some(stored)) => {
                check_mark(&stored, &settlement_mark(key, &mark, text), what)?;
            }
            _ => return Err(damaged(what(), NOT_AUTHENTIC)),
        }
        let mut row = GateRow::open(gate, turn, json);
        row.settlement = settlement;
        Ok(Self { number, mark, row })
    }
}

async fn query_gates<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    condition: &str,
    values: &[SqlValue<'_>],
) -> Result<Vec<SqlGate>, T::Error> {
    let rows = query(tx, &gates_sql(condition), values).await?;
    Ok(read_gates(key, rows)?)
}

/// The query of the gates under a condition, which [`read_gates`] reads.
pub(super) fn gates_sql(condition: &str) -> String {
    format!(
        "SELECT {COLUMNS} FROM {{s}}.gates JOIN {{s}}.turns ON turns.number = gates.turn
         WHERE {condition} ORDER BY gates.number"
    )
}

pub(super) fn read_gates(key: &StoreKey, rows: Vec<SqlRow>) -> Result<Vec<SqlGate>, StoreError> {
    rows.into_iter().map(|row| SqlGate::read(key, row)).collect()
}

async fn find_gate<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    id: &GateId,
) -> Result<Option<SqlGate>, T::Error> {
    let found = query_gates(tx, key, "gates.id = $1", &[id.as_str().into()]).await?;
    Ok(found.into_iter().next())
}

pub(in crate::turns) async fn list_gates<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    query: &GateQuery,
) -> Result<Vec<GateRow>, T::Error> {
    let mut condition = "true".to_owned();
    let mut values: Vec<SqlValue<'_>> = Vec::new();
    let wanted = [
        ("gates.id", query.id.as_ref().map(GateId::as_str)),
        ("turns.id", query.turn.as_ref().map(TurnId::as_str)),
        ("turns.tenant", query.tenant.as_deref()),
    ];
    for (column, value) in wanted {
        if let Some(value) = value {
            values.push(value.into());
            condition.push_str(&format!(" AND {column} = ${}", values.len()));
        }
    }
    if query.open {
        condition.push_str(" AND gates.settlement IS NULL");
    }
    let gates = query_gates(tx, key, &condition, &values).await?;
    Ok(gates.into_iter().map(|it| it.row).collect())
}

/// Opens a gate of a turn, unless it is open.
pub(super) async fn open_gate<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    turn: &mut SqlTurn,
    (id, json, expires_at): (&GateId, &str, Option<Timestamp>),
) -> Result<(), T::Error> {
    let name = &turn.row.summary.id;
    let mark = gate_mark(key, name, id, json, expires_at);
    let sql = "INSERT INTO {s}.gates (id, turn, json, expires_at, mark) VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT (id) DO NOTHING RETURNING number";
    let values =
        [id.as_str().into(), turn.number.into(), json.into(), expires_at.into(), (&mark).into()];
    let mut rows = query(tx, sql, &values).await?;
    if let Some(number) = rows.first_mut().map(SqlRow::int).transpose()? {
        turn.contents.add_row(place_mark(key, number, &mark));
        return Ok(());
    }
    let found = find_gate(tx, key, id).await?;
    match found.is_some_and(|it| it.row.turn == *name && it.row.json == *json) {
        true => Ok(()),
        false => Err(StoreError::gate_exists(id).into()),
    }
}

/// Closes a gate of a turn. One that is settled stays so, and one of another turn changes nothing.
pub(super) async fn close_gate<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    (turn, id): (&TurnId, &GateId),
    settlement: &str,
) -> Result<(), T::Error> {
    match find_gate(tx, key, id).await? {
        Some(gate) if gate.row.turn == *turn && gate.row.settlement.is_none() => {
            store_settlement(tx, key, &gate, settlement).await
        }
        _ => Ok(()),
    }
}

/// Settles a gate, and returns the turn that it belongs to.
pub(in crate::turns) async fn settle<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    id: &GateId,
    settlement: &str,
) -> Result<(SettleOutcome, TurnId), T::Error> {
    let unknown = || StoreError::unknown_gate(id);
    // The turn is locked before the gate is read, as in every other transaction, so that no two wait for each other.
    let lock = turn_sql("number = (SELECT turn FROM {s}.gates WHERE id = $1)", T::LOCK);
    let name: [SqlValue<'_>; 1] = [id.as_str().into()];
    let gates = gates_sql("gates.id = $1");
    let queries = [SqlQuery::new(&lock, name), SqlQuery::new(&gates, name)];
    let (now, rows) = tx.query_with_time(&queries).await?;
    let mut rows = rows.into_iter();
    let turn = rows.next().and_then(|it| it.into_iter().next()).ok_or_else(unknown)?;
    let mut turn = SqlTurn::read(key, turn)?;
    let gate = read_gates(key, rows.next().unwrap_or_default())?.pop().ok_or_else(unknown)?;
    if let Some(existing) = gate.row.settlement {
        return Ok((SettleOutcome::new(existing, false), gate.row.turn));
    }
    store_settlement(tx, key, &gate, settlement).await?;
    turn.row.settle_gate(now);
    turn.store_lease(tx).await?;
    Ok((SettleOutcome::new(settlement, true), gate.row.turn))
}

/// Settles a gate that was read, so that its mark was compared.
async fn store_settlement<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    gate: &SqlGate,
    settlement: &str,
) -> Result<(), T::Error> {
    let mark = settlement_mark(key, &gate.mark, settlement);
    let sql = "UPDATE {s}.gates SET settlement = $2, settlement_mark = $3 WHERE number = $1";
    tx.execute(sql, &[gate.number.into(), settlement.into(), (&mark).into()]).await?;
    Ok(())
}

const COLUMNS: &str = "gates.number, gates.id, turns.id, gates.json, gates.expires_at, gates.mark, \
    gates.settlement, gates.settlement_mark";
