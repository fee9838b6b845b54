//! Lists of turns.

use haft_core::clock::Timestamp;
use haft_core::store::{
    NewTurn, StoreWrite, TurnId, TurnQuery, TurnStatus, TurnStore, TurnStoreExt as _, TurnSummary,
};

use super::{
    ContractViolation, begin_turn, end_turn, expect_ok, expect_unknown_turn, hide_times,
    lease_request, turn_id,
};

pub(super) async fn check(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    turns_are_listed(store).await?;
    a_hundred_are_listed_if_nothing_is_said(store).await
}

async fn turns_are_listed(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let mut leases = Vec::new();
    let mut kept = Vec::new();
    for number in 0..30_usize {
        // The names are in no order: turns are in the order of their begin.
        let id = turn_id(&format!("turn {}", number * 7 % 30))?;
        let holder = lease_request("a");
        let status = TurnStatus::ALL.get(number % 10).copied().unwrap_or(TurnStatus::Running);
        let mut new = NewTurn::new(id.clone()).writes(vec![StoreWrite::Status(status)]);
        new.conversation =
            [None, Some("one"), Some("two")].get(number % 3).copied().flatten().map(str::to_owned);
        let mut summary = TurnSummary::new(id, Timestamp::EPOCH);
        summary.conversation.clone_from(&new.conversation);
        summary.status = status;
        let lease = expect_ok("a turn can begin", store.create(new, holder.clone()).await)?;
        summary.holder = Some(holder.name);
        summary.held_until = Some(lease.until);
        leases.push(lease);
        kept.push(summary);
    }
    kept.reverse();
    for conversation in [None, Some("one"), Some("two"), Some("three")] {
        for unfinished in [false, true] {
            for limit in [None, Some(0), Some(1), Some(7), Some(usize::MAX)] {
                let mut query = TurnQuery::default();
                query.conversation = conversation.map(str::to_owned);
                query.unfinished = unfinished;
                query.limit = limit;
                check_pages(store, query, &kept).await?;
            }
        }
    }
    // One that is not in the list can still say where the list is to go on.
    let from = kept.get(9).map(|it| it.id.clone());
    for conversation in ["one", "two"] {
        let mut query = TurnQuery::default().conversation(conversation);
        query.before.clone_from(&from);
        check_page(store, query, &kept).await?;
    }
    for lease in leases {
        end_turn(store, lease).await?;
    }
    let promise = "a list cannot go on behind a turn that is not there";
    let before = from.map_or_else(|| turn_id("nothing"), Ok)?;
    expect_unknown_turn(promise, store.turns(TurnQuery::default().before(before)).await)
}

/// Goes through a list, page by page.
async fn check_pages(
    store: &dyn TurnStore,
    mut query: TurnQuery,
    kept: &[TurnSummary],
) -> Result<(), ContractViolation> {
    while let Some(last) = check_page(store, query.clone(), kept).await? {
        query.before = Some(last);
    }
    Ok(())
}

/// Checks a page and says which turn is the last on it.
async fn check_page(
    store: &dyn TurnStore,
    query: TurnQuery,
    kept: &[TurnSummary],
) -> Result<Option<TurnId>, ContractViolation> {
    let start = query.before.as_ref().and_then(|id| kept.iter().position(|it| it.id == *id));
    let expected = kept.iter().skip(start.map_or(0, |start| start + 1));
    let expected = expected
        .filter(|it| query.conversation.is_none() || it.conversation == query.conversation)
        .filter(|it| !query.unfinished || !it.status.is_final())
        .take(query.limit.unwrap_or(100));
    let expected: Vec<_> = expected.cloned().collect();
    let mut listed = expect_ok("turns can be listed", store.turns(query).await)?;
    listed.iter_mut().for_each(hide_times);
    ContractViolation::ensure_equal(
        "the turns that were asked for are listed, newest first",
        &listed,
        &expected,
    )?;
    Ok(listed.last().map(|it| it.id.clone()))
}

async fn a_hundred_are_listed_if_nothing_is_said(
    store: &dyn TurnStore,
) -> Result<(), ContractViolation> {
    let mut leases = Vec::new();
    for number in 0..101 {
        leases.push(begin_turn(store, &format!("turn {number}"), Vec::new()).await?);
    }
    for (query, expected) in [
        (TurnQuery::default(), 100),
        (TurnQuery::default().before(turn_id("turn 100")?), 100),
        (TurnQuery::default().before(turn_id("turn 99")?), 99),
        (TurnQuery::default().limit(1000), 101),
    ] {
        let listed = expect_ok("turns can be listed", store.turns(query).await)?.len();
        ContractViolation::ensure_equal(
            "a hundred turns are listed if nothing is said",
            &listed,
            &expected,
        )?;
    }
    for lease in leases {
        end_turn(store, lease).await?;
    }
    Ok(())
}
