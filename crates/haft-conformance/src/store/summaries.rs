//! Summaries: what they show, how they are searched and removed, and the journal as observers read it.

use haft_core::clock::Timestamp;
use haft_core::spool::SpoolKey;
use haft_core::store::{
    Lease, NewTurn, Row, RowKind, StopReason, StoreWrite, SummaryUpdate, TurnId, TurnQuery,
    TurnStatus, TurnStore, TurnStoreExt as _, TurnSummary,
};

use super::{
    ContractViolation, begin_turn, commit_writes, end_turn, expect_ok, lease_request, load_turn,
    turn_id,
};

pub(super) async fn check(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    summaries_are_shown(store).await?;
    a_bounded_number_of_tools_is_shown(store).await?;
    turns_are_found(store).await?;
    ended_turns_are_removed_by_pages(store).await?;
    journals_are_read_by_pages(store).await?;
    used_content_is_known(store).await
}

async fn summaries_are_shown(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let new = NewTurn::new(turn_id("summary")?).agent("support").model("small").said("Hello  you");
    let new = new.priority(-3).tenant("shop").conversation("talk");
    let lease = expect_ok("a turn can begin", store.create(new, lease_request("a")).await)?;
    let update = SummaryUpdate::default().model("large").tokens(1234).tool("write").tool("read");
    commit_writes(store, &lease, vec![StoreWrite::Summary(update)]).await?;
    let update = SummaryUpdate::default().tool("read").tool("append");
    commit_writes(store, &lease, vec![StoreWrite::Summary(update)]).await?;
    let update = SummaryUpdate::default().stop(StopReason::new("the store failed"));
    let end = vec![StoreWrite::Summary(update), StoreWrite::Status(TurnStatus::Failed)];
    commit_writes(store, &lease, end).await?;
    let summary = expect_ok("a turn can be asked for", store.summary(lease.turn.clone()).await)?;
    let Some(summary) = summary else {
        return Err(ContractViolation::new("a turn that began has a summary", "there is none"));
    };
    let stop = summary.stop.as_ref().map(|it| it.message.clone());
    let texts = [&summary.agent, &summary.model, &summary.first_words, &stop];
    let texts = texts.map(|it| it.clone().unwrap_or_default());
    let expected = ["support", "large", "Hello you", "the store failed"].map(str::to_owned);
    let promise = "a summary shows what was written of the turn";
    ContractViolation::ensure_equal(promise, &texts, &expected)?;
    let numbers = (summary.tokens, summary.priority, summary.tenant.as_str());
    ContractViolation::ensure_equal(promise, &numbers, &(Some(1234), -3, "shop"))?;
    let tools: Vec<&str> = summary.tools.iter().map(String::as_str).collect();
    ContractViolation::ensure_equal(promise, &tools, &vec!["append", "read", "write"])?;
    let is_ordered = Some(summary.created_at) <= summary.updated_at
        && summary.ended_at.is_some()
        && summary.ended_at <= summary.updated_at;
    ContractViolation::ensure_equal("the times of a turn are in order", &is_ordered, &true)?;
    let listed = expect_ok("turns can be listed", store.turns(TurnQuery::default()).await)?;
    let promise = "lists show the same summary";
    ContractViolation::ensure_equal(promise, &listed.first(), &Some(&summary))?;
    end_turn(store, lease).await
}

async fn a_bounded_number_of_tools_is_shown(
    store: &dyn TurnStore,
) -> Result<(), ContractViolation> {
    let lease = begin_turn(store, "tools", Vec::new()).await?;
    for number in 0..TurnSummary::MAX_TOOLS + 8 {
        let update = SummaryUpdate::default().tool(&format!("tool {number:03}"));
        commit_writes(store, &lease, vec![StoreWrite::Summary(update)]).await?;
    }
    let summary = expect_ok("a turn can be asked for", store.summary(lease.turn.clone()).await)?;
    let tools: Vec<String> = summary.into_iter().flat_map(|it| it.tools).collect();
    let expected: Vec<String> =
        (0..TurnSummary::MAX_TOOLS).map(|number| format!("tool {number:03}")).collect();
    let promise = "a summary shows the tools that were called first";
    ContractViolation::ensure_equal(promise, &tools, &expected)?;
    end_turn(store, lease).await
}

async fn turns_are_found(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let leases = create_varied_turns(store).await?;
    let all = expect_ok("turns can be listed", store.turns(TurnQuery::default()).await)?;
    let middle = all.get(4).map(|it| it.created_at).unwrap_or(Timestamp::EPOCH);
    for query in varied_queries(middle) {
        let expected: Vec<_> = all.iter().filter(|it| query.selects(it)).cloned().collect();
        let listed = expect_ok("turns can be searched", store.turns(query.clone()).await)?;
        let promise = "a search finds the turns that it selects, newest first";
        ContractViolation::ensure_equal(promise, &listed, &expected)?;
        let page = expect_ok("turns can be searched", store.turns(query.limit(1)).await)?;
        let first: Vec<_> = expected.into_iter().take(1).collect();
        ContractViolation::ensure_equal(promise, &page, &first)?;
    }
    for lease in leases {
        end_turn(store, lease).await?;
    }
    Ok(())
}

/// Creates turns that differ in everything that a query can select by.
async fn create_varied_turns(store: &dyn TurnStore) -> Result<Vec<Lease>, ContractViolation> {
    let mut leases = Vec::new();
    for (number, text) in (0..).zip(WORDS) {
        let mut new = NewTurn::new(turn_id(&format!("turn {number}"))?).said(text);
        new = if number % 2 == 0 { new.agent("even") } else { new.agent("odd agent") };
        new = if number % 3 == 0 { new.model("small") } else { new };
        new = if number % 4 == 0 { new.tenant("shop").conversation("Büro") } else { new };
        let status = TurnStatus::ALL.get(number % 9).copied().unwrap_or(TurnStatus::Running);
        let mut update = SummaryUpdate::default();
        if number > 1 {
            update =
                update.tokens(100 * number as u64).tool("read").tool(&format!("tool_{number}"));
        }
        let new = new.writes(vec![StoreWrite::Status(status), StoreWrite::Summary(update)]);
        leases.push(expect_ok("a turn can begin", store.create(new, lease_request("a")).await)?);
    }
    Ok(leases)
}

/// Queries by each property of a turn, and by several of them.
fn varied_queries(middle: Timestamp) -> Vec<TurnQuery> {
    let query = TurnQuery::default;
    vec![
        query().agent("even"),
        query().agent("EVEN"),
        query().model("small").tenant("shop"),
        query().tenant(""),
        query().status(TurnStatus::Queued).status(TurnStatus::Failed),
        query().ended(),
        query().unfinished().agent("odd agent"),
        query().matching("deploy"),
        query().matching("DEPL sho"),
        query().matching("sho agent"),
        query().matching("eploy"),
        query().matching("büro"),
        query().matching("100%"),
        query().matching("ünï").unfinished(),
        query().conversation("Büro").matching("deploy"),
        query().tool("read"),
        query().tool("tool_3").matching("ünï"),
        query().tool("tool"),
        query().matching("tool"),
        query().matching("read"),
        query().min_tokens(0).max_tokens(0),
        query().min_tokens(300).max_tokens(600),
        query().min_tokens(u64::MAX),
        query().tool("read").min_tokens(500).agent("even"),
        query().created_from(middle),
        query().created_before(middle),
    ]
}

async fn ended_turns_are_removed_by_pages(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let mut leases = Vec::new();
    for number in 0..6 {
        let status = if number == 2 { TurnStatus::Waiting } else { TurnStatus::Completed };
        let name = format!("turn {number}");
        leases.push(begin_turn(store, &name, vec![StoreWrite::Status(status)]).await?);
    }
    // The last one ended, but a process still has it.
    let held = leases.pop();
    for lease in &leases {
        expect_ok("a lease can be given back", store.release(lease.clone()).await)?;
    }
    let mut removed: Vec<TurnId> = Vec::new();
    for expected in [2, 2, 0] {
        let page = store.remove_turns(TurnQuery::default().limit(2)).await;
        let page = expect_ok("turns can be removed by pages", page)?;
        let promise = "a page has as many turns as were asked for and are left";
        ContractViolation::ensure_equal(promise, &page.len(), &expected)?;
        removed.extend(page);
    }
    removed.sort();
    let expected = [0, 1, 3, 4].map(|number| turn_id(&format!("turn {number}")));
    let expected = expected.into_iter().collect::<Result<Vec<_>, _>>()?;
    let promise = "turns that have ended and that nobody has are removed, and no others";
    ContractViolation::ensure_equal(promise, &removed, &expected)?;
    let left = expect_ok("turns can be listed", store.turns(TurnQuery::default()).await)?;
    let left: Vec<&str> = left.iter().map(|it| it.id.as_str()).collect();
    ContractViolation::ensure_equal(promise, &left, &vec!["turn 5", "turn 2"])?;
    let waiting = expect_ok("a turn can be removed", store.remove(turn_id("turn 2")?).await)?;
    ContractViolation::ensure_equal("remove says whether there was a turn", &waiting, &true)?;
    match held {
        Some(lease) => end_turn(store, lease).await,
        None => Ok(()),
    }
}

async fn journals_are_read_by_pages(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let entry = |number: usize| StoreWrite::Journal(format!("entry {number}"));
    let lease = begin_turn(store, "journal", vec![entry(0)]).await?;
    let other = begin_turn(store, "other", vec![entry(9)]).await?;
    for number in 1..7 {
        commit_writes(store, &lease, vec![entry(number)]).await?;
        commit_writes(store, &other, vec![entry(9)]).await?;
    }
    let mut after = 0;
    let mut read = Vec::new();
    loop {
        let page = store.read_journal(lease.turn.clone(), after, 3).await;
        let page = expect_ok("a journal can be read by pages", page)?;
        let Some(last) = page.last() else { break };
        let numbers: Vec<u64> = page.iter().map(|row| row.number).collect();
        let grows = numbers.iter().zip(numbers.iter().skip(1)).all(|(it, next)| it < next);
        let is_behind = page.iter().all(|row| row.number > after) && page.len() <= 3;
        let promise = "the numbers of entries grow, and a page begins behind the one before";
        ContractViolation::ensure_equal(promise, &(grows, is_behind), &(true, true))?;
        after = last.number;
        read.extend(page.into_iter().map(|row| row.json));
    }
    let whole = load_turn(store, &lease.turn).await?.journal;
    ContractViolation::ensure_equal("the pages are the whole journal", &read, &whole)?;
    commit_writes(store, &lease, vec![entry(7)]).await?;
    let page = store.read_journal(lease.turn.clone(), after, 100).await;
    let page = expect_ok("a journal can be read by pages", page)?;
    let texts: Vec<String> = page.iter().map(|row| row.json.to_string()).collect();
    let promise = "an observer reads on where it stopped";
    ContractViolation::ensure_equal(promise, &texts, &vec!["entry 7".to_owned()])?;
    end_turn(store, lease).await?;
    end_turn(store, other).await
}

async fn used_content_is_known(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let row = |id: &str, keys: &[&str]| {
        let readers = keys.iter().map(|key| format!(r#"{{"locator":{{"key":"{key}"}}}}"#));
        let readers = readers.collect::<Vec<_>>().join(",");
        StoreWrite::Put(Row::new(RowKind::ToolCall, id, format!(r#"{{"results":[{readers}]}}"#)))
    };
    let first = begin_turn(store, "first", vec![row("1", &["a", "b"]), row("2", &["c"])]).await?;
    let second = begin_turn(store, "second", vec![row("1", &["a"])]).await?;
    check_unused(store, &["d", "e"]).await?;
    commit_writes(store, &first, vec![row("1", &["d"])]).await?;
    check_unused(store, &["b", "e"]).await?;
    let delete = StoreWrite::Delete { kind: RowKind::ToolCall, id: "2".to_owned() };
    commit_writes(store, &first, vec![delete]).await?;
    check_unused(store, &["b", "c", "e"]).await?;
    end_turn(store, first).await?;
    check_unused(store, &["b", "c", "d", "e"]).await?;
    end_turn(store, second).await?;
    check_unused(store, &["a", "b", "c", "d", "e"]).await
}

async fn check_unused(store: &dyn TurnStore, expected: &[&str]) -> Result<(), ContractViolation> {
    let keys = ["a", "b", "c", "d", "e"].map(SpoolKey::from).to_vec();
    let mut unused = expect_ok("content can be looked up", store.unreferenced_keys(keys).await)?;
    unused.sort();
    let expected: Vec<SpoolKey> = expected.iter().map(|key| SpoolKey::from(*key)).collect();
    let promise = "content is used while a record refers to it";
    ContractViolation::ensure_equal(promise, &unused, &expected)
}

const WORDS: &[&str] = &[
    "Deploy the shop, please",
    "deployment of the agent",
    "shop: 100% off",
    "Ünïcode wörds",
    "",
    "redeploy",
    "the shop",
    "ship it",
    "DEPLOY SHOPS",
];
