//! Windows of long turns.

use haft_core::store::{OutlineRow, Row, RowKind, StoreWrite, TurnId, TurnOutline, TurnStore};

use super::{
    ContractViolation, begin_turn, commit_writes, end_turn, expect_ok, gate_id, load_turn, turn_id,
};

pub(super) async fn check(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    nothing_is_read_of_nothing(store).await?;
    windows_are_the_turn(store).await
}

async fn nothing_is_read_of_nothing(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let turn = turn_id("nothing")?;
    let promise = "a turn that was not begun has no parts";
    let outline = expect_ok("any outline can be read", store.outline(turn.clone()).await)?;
    ContractViolation::ensure_equal(promise, &outline, &None)?;
    let rows = expect_ok("any rows can be read", store.read_rows(turn, 0, 10).await)?;
    ContractViolation::ensure_equal(promise, &rows, &Vec::new())
}

async fn windows_are_the_turn(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let put = |number: usize, text: &str| {
        let kind = RowKind::ALL.get(number % RowKind::ALL.len()).copied();
        StoreWrite::Put(Row::new(kind.unwrap_or(RowKind::Message), number.to_string(), text))
    };
    let entry = || StoreWrite::Journal("entry".into());
    let open = StoreWrite::open_gate(gate_id("window")?, "{}");
    let lease = begin_turn(store, "window", vec![put(0, "0"), entry(), open]).await?;
    let other = begin_turn(store, "other", vec![put(0, "other"), entry()]).await?;
    for number in 1..12 {
        commit_writes(store, &lease, vec![put(number, "new"), entry()]).await?;
        commit_writes(store, &other, vec![put(number, "other"), entry()]).await?;
    }
    check_windows(store, &lease.turn).await?;
    // Rows keep their places when they change, and the rest closes up when one goes.
    commit_writes(store, &lease, vec![put(3, "changed"), put(12, "new")]).await?;
    check_windows(store, &lease.turn).await?;
    let kind = RowKind::ALL.get(4).copied().unwrap_or(RowKind::Message);
    commit_writes(store, &lease, vec![StoreWrite::Delete { kind, id: "4".to_owned() }]).await?;
    check_windows(store, &lease.turn).await?;
    end_turn(store, lease).await?;
    end_turn(store, other).await
}

/// Compares the outline and all windows of a turn with the whole.
async fn check_windows(store: &dyn TurnStore, turn: &TurnId) -> Result<(), ContractViolation> {
    let whole = load_turn(store, turn).await?;
    let outline = expect_ok("an outline can be read", store.outline(turn.clone()).await)?;
    let Some(TurnOutline { summary, rows, journal, gates, .. }) = outline else {
        return Err(ContractViolation::new("a turn that began has an outline", "there is none"));
    };
    let promise = "an outline has the parts of the turn, in order";
    let found = expect_ok("a turn can be asked for", store.summary(turn.clone()).await)?;
    ContractViolation::ensure_equal(promise, &Some(summary), &found)?;
    ContractViolation::ensure_equal(promise, &gates, &whole.gates)?;
    let names: Vec<_> = rows.iter().map(|row| (row.kind, row.id.as_str())).collect();
    let expected: Vec<_> = whole.rows.iter().map(|row| (row.kind, row.id.as_str())).collect();
    ContractViolation::ensure_equal(promise, &names, &expected)?;
    let entries = store.read_journal(turn.clone(), 0, usize::MAX).await;
    let entries = expect_ok("a journal can be read", entries)?;
    let numbers: Vec<u64> = entries.iter().map(|it| it.number).collect();
    ContractViolation::ensure_equal(promise, &journal, &numbers)?;
    let mut starts: Vec<u64> = vec![0];
    starts.extend(rows.iter().map(|row| row.number));
    for (place, after) in starts.into_iter().enumerate() {
        for limit in [0, 1, 5, usize::MAX] {
            let window = store.read_rows(turn.clone(), after, limit).await;
            let window = expect_ok("a window of rows can be read", window)?;
            let promise =
                "a window has the rows behind its number, with the numbers of the outline";
            let found: Vec<_> = window
                .iter()
                .map(|it| OutlineRow::new(it.number, it.row.kind, it.row.id.clone()))
                .collect();
            let expected: Vec<_> = rows.iter().skip(place).take(limit).cloned().collect();
            ContractViolation::ensure_equal(promise, &found, &expected)?;
            let texts: Vec<_> = window.into_iter().map(|it| it.row).collect();
            let expected: Vec<_> = whole.rows.iter().skip(place).take(limit).cloned().collect();
            ContractViolation::ensure_equal(
                "a window has the rows of the turn",
                &texts,
                &expected,
            )?;
        }
    }
    Ok(())
}
