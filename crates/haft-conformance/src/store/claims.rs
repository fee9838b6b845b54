//! Which turn is claimed next.

use std::time::Duration;

use haft_core::store::{
    CancelOutcome, CancelRequest, ClaimFilter, Lease, NewTurn, StoreWrite, TurnQuery, TurnStatus,
    TurnStore, TurnStoreExt as _, TurnSummary,
};

use super::{
    ContractViolation, begin_turn, brief_request, commit_writes, end_turn, expect_ok, expire_lease,
    gate_id, lease_request, run_all, turn_id,
};

pub(super) async fn check(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    queued_turns_are_claimed_in_order(store).await?;
    delayed_and_running_turns_are_left_alone(store).await?;
    turns_of_dead_processes_are_taken_over(store).await?;
    processes_that_come_back_did_not_die(store).await?;
    waiting_turns_are_claimed_after_a_settlement(store).await?;
    turns_of_a_conversation_run_one_at_a_time(store).await?;
    filters_select(store).await?;
    cancellation_reaches_the_holder_or_the_next(store).await?;
    no_two_get_the_same(store).await
}

async fn queued_turns_are_claimed_in_order(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    for (id, priority) in [("a", 0), ("b", 5), ("c", 0), ("d", -1), ("e", 5)] {
        enqueue(store, NewTurn::new(turn_id(id)?).priority(priority)).await?;
    }
    let summary = summary_of(store, "a").await?;
    let got = (summary.status, summary.holder, summary.held_until);
    ContractViolation::ensure_equal(
        "a queued turn has no holder",
        &got,
        &(TurnStatus::Queued, None, None),
    )?;
    let mut leases = Vec::new();
    for (id, count) in [("b", 5), ("e", 4), ("a", 3), ("c", 2), ("d", 1)] {
        expect_count(store, ClaimFilter::default(), count).await?;
        let lease = claim_next(store, ClaimFilter::default(), Some(id)).await?;
        let promise = "a queued turn that is claimed runs, with epoch 1";
        let status = summary_of(store, id).await?.status;
        let got = (lease.epoch, lease.take_overs, status);
        ContractViolation::ensure_equal(promise, &got, &(1, 0, TurnStatus::Running))?;
        leases.push(lease);
    }
    expect_no_work(store).await?;
    expect_count(store, ClaimFilter::default(), 0).await?;
    for lease in leases {
        end_turn(store, lease).await?;
    }
    Ok(())
}

async fn delayed_and_running_turns_are_left_alone(
    store: &dyn TurnStore,
) -> Result<(), ContractViolation> {
    let later = Duration::from_secs(100_000);
    enqueue(store, NewTurn::new(turn_id("later")?).start_after(later)).await?;
    let running = begin_turn(store, "running", Vec::new()).await?;
    let interrupted = begin_turn(store, "interrupted", Vec::new()).await?;
    commit_writes(store, &interrupted, vec![StoreWrite::Interrupt { delay: later }]).await?;
    expect_ok("a lease can be given back", store.release(interrupted.clone()).await)?;
    let ended = begin_turn(store, "ended", vec![StoreWrite::Status(TurnStatus::Completed)]).await?;
    expect_ok("a lease can be given back", store.release(ended).await)?;
    expect_no_work(store).await?;
    let status = summary_of(store, "interrupted").await?.status;
    ContractViolation::ensure_equal(
        "a turn can be interrupted",
        &status,
        &TurnStatus::Interrupted,
    )?;

    // A turn can also be claimed by its name, whatever it waits for.
    let lease = store.claim(interrupted.turn, lease_request("b")).await;
    let lease = expect_ok("a turn without a lease can be claimed by its name", lease)?;
    let due = vec![StoreWrite::Interrupt { delay: Duration::ZERO }];
    commit_writes(store, &lease, due).await?;
    expect_no_work(store).await?;
    expect_ok("a lease can be given back", store.release(lease).await)?;
    let lease = claim_next(store, ClaimFilter::default(), Some("interrupted")).await?;
    let promise = "an outage is no take-over";
    ContractViolation::ensure_equal(promise, &lease.take_overs, &0)?;
    end_turn(store, lease).await?;
    end_turn(store, running).await?;
    for id in ["later", "ended"] {
        expect_ok("a turn can be removed", store.remove(turn_id(id)?).await)?;
    }
    Ok(())
}

async fn turns_of_dead_processes_are_taken_over(
    store: &dyn TurnStore,
) -> Result<(), ContractViolation> {
    let lease = begin_turn(store, "dead", Vec::new()).await?;
    expect_no_work(store).await?;
    let mut last = expire_lease(store, &lease).await?;
    for count in 1..4 {
        let promise = "each claim of a dead holder's turn counts";
        let lease = claim_brief(store, "dead").await?;
        let got = (lease.epoch, lease.take_overs);
        ContractViolation::ensure_equal(promise, &got, &(last.epoch + 1, count))?;
        last = lease;
    }
    let counted = summary_of(store, "dead").await?.take_overs;
    ContractViolation::ensure_equal("summaries show take-overs", &counted, &3)?;
    expect_ok("a lease can be given back", store.release(last).await)?;
    let lease = claim_next(store, ClaimFilter::default(), Some("dead")).await?;
    let promise = "a turn that was given back is not taken over";
    ContractViolation::ensure_equal(promise, &lease.take_overs, &3)?;
    commit_writes(store, &lease, vec![StoreWrite::Progress]).await?;
    let expired = expire_lease(store, &lease).await?;
    let promise = "progress forgets earlier take-overs";
    ContractViolation::ensure_equal(promise, &expired.take_overs, &0)?;
    let lease = claim_next(store, ClaimFilter::default(), Some("dead")).await?;
    ContractViolation::ensure_equal(promise, &lease.take_overs, &1)?;
    end_turn(store, lease).await
}

async fn processes_that_come_back_did_not_die(
    store: &dyn TurnStore,
) -> Result<(), ContractViolation> {
    let first = begin_turn(store, "stopped", Vec::new()).await?;
    expire_lease(store, &first).await?;
    let second = claim_brief(store, "stopped").await?;
    let third = claim_next(store, ClaimFilter::default(), Some("stopped")).await?;
    let promise = "a process that gives a lost lease back was not dead";
    for (lease, count) in [(&first, 1), (&second, 0), (&second, 0)] {
        expect_ok("a lost lease can be given back", store.release(lease.clone()).await)?;
        let summary = summary_of(store, "stopped").await?;
        let got = (summary.take_overs, summary.holder.as_deref(), summary.held_until);
        let expected = (count, Some(&*third.holder), Some(third.until));
        ContractViolation::ensure_equal(promise, &got, &expected)?;
    }
    let renewed = expect_ok("a lease can be renewed", store.renew(third.clone()).await)?;
    ContractViolation::ensure_equal(promise, &renewed.take_overs, &0)?;
    // One that was returned twice was not taken over.
    let expired = expire_lease(store, &renewed).await?;
    expect_ok("a lease can be given back", store.release(expired.clone()).await)?;
    expect_ok("a lease can be given back", store.release(expired).await)?;
    end_turn(store, claim_next(store, ClaimFilter::default(), Some("stopped")).await?).await
}

async fn waiting_turns_are_claimed_after_a_settlement(
    store: &dyn TurnStore,
) -> Result<(), ContractViolation> {
    let open = |id: &str| gate_id(id).map(|id| StoreWrite::open_gate(id, "{}"));
    let wait = StoreWrite::Status(TurnStatus::Waiting);
    let lease = begin_turn(store, "waiting", vec![open("1")?, open("2")?, wait.clone()]).await?;
    expect_ok("a gate can be settled", store.settle(gate_id("1")?, "yes".into()).await)?;
    // Its holder lives.
    expect_no_work(store).await?;
    expect_ok("a lease can be given back", store.release(lease).await)?;
    let lease = claim_next(store, ClaimFilter::default(), Some("waiting")).await?;
    ContractViolation::ensure_equal("waiting is no take-over", &lease.take_overs, &0)?;
    // It read the settlement, and waits at the other gate.
    commit_writes(store, &lease, vec![open("2")?, wait.clone()]).await?;
    expect_ok("a lease can be given back", store.release(lease).await)?;
    expect_no_work(store).await?;
    expect_ok("a gate can be settled", store.settle(gate_id("2")?, "yes".into()).await)?;
    let lease = claim_next(store, ClaimFilter::default(), Some("waiting")).await?;

    // A settlement that comes while another gate is opened is not forgotten.
    commit_writes(store, &lease, vec![open("3")?, wait.clone()]).await?;
    expect_ok("a gate can be settled", store.settle(gate_id("3")?, "yes".into()).await)?;
    commit_writes(store, &lease, vec![open("4")?, wait.clone()]).await?;
    let lease = expire_lease(store, &lease).await?;
    expect_ok("a lease can be given back", store.release(lease).await)?;
    let lease = claim_next(store, ClaimFilter::default(), Some("waiting")).await?;

    // A gate that expires wakes its turn, too: at the time that the store's clock has.
    let expires_at = Some(lease.granted_at());
    let id = gate_id("5")?;
    let json = "{}".to_owned();
    let expiring = StoreWrite::OpenGate { id, json, expires_at };
    commit_writes(store, &lease, vec![expiring, wait]).await?;
    expect_ok("a lease can be given back", store.release(lease).await)?;
    let lease = claim_next(store, ClaimFilter::default(), Some("waiting")).await?;
    end_turn(store, lease).await
}

async fn turns_of_a_conversation_run_one_at_a_time(
    store: &dyn TurnStore,
) -> Result<(), ContractViolation> {
    let of_talk = |id: &str| turn_id(id).map(|id| NewTurn::new(id).conversation("talk"));
    enqueue(store, of_talk("first")?).await?;
    enqueue(store, of_talk("second")?.priority(9)).await?;
    enqueue(store, of_talk("elsewhere")?.tenant("other")).await?;
    enqueue(store, NewTurn::new(turn_id("alone")?)).await?;
    let first = claim_next(store, ClaimFilter::default(), Some("first")).await?;
    let elsewhere = claim_next(store, ClaimFilter::default(), Some("elsewhere")).await?;
    let alone = claim_next(store, ClaimFilter::default(), Some("alone")).await?;
    expect_no_work(store).await?;
    // A turn that was left in the middle comes before the queued one, also while it waits.
    let wait = StoreWrite::Status(TurnStatus::Waiting);
    commit_writes(store, &first, vec![StoreWrite::open_gate(gate_id("g")?, "{}"), wait]).await?;
    expect_ok("a lease can be given back", store.release(first).await)?;
    expect_no_work(store).await?;
    expect_ok("a gate can be settled", store.settle(gate_id("g")?, "yes".into()).await)?;
    let first = claim_next(store, ClaimFilter::default(), Some("first")).await?;
    commit_writes(store, &first, vec![StoreWrite::Status(TurnStatus::Completed)]).await?;
    expect_ok("a lease can be given back", store.release(first.clone()).await)?;
    let second = claim_next(store, ClaimFilter::default(), Some("second")).await?;
    for lease in [first, second, elsewhere, alone] {
        end_turn(store, lease).await?;
    }
    Ok(())
}

async fn filters_select(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    for (id, agent, tenant) in [("1", "a", ""), ("2", "b", "shop"), ("3", "c", "")] {
        enqueue(store, NewTurn::new(turn_id(id)?).agent(agent).tenant(tenant)).await?;
    }
    enqueue(store, NewTurn::new(turn_id("4")?)).await?;
    let all = ClaimFilter::default;
    let mut leases = Vec::new();
    for (filter, count, expected) in [
        (all().agent("none"), 0, None),
        (all().tenant("shop").agent("a"), 0, None),
        (all().tenant("shop"), 1, Some("2")),
        (all().agent("c").agent("x"), 1, Some("3")),
        (all().tenant(""), 2, Some("1")),
        (all(), 1, Some("4")),
    ] {
        expect_count(store, filter.clone(), count).await?;
        match expected {
            Some(id) => leases.push(claim_next(store, filter, Some(id)).await?),
            None => expect_no_work_of(store, filter).await?,
        }
    }
    for lease in leases {
        end_turn(store, lease).await?;
    }
    Ok(())
}

async fn cancellation_reaches_the_holder_or_the_next(
    store: &dyn TurnStore,
) -> Result<(), ContractViolation> {
    let request = || CancelRequest::new("ada", "not needed");
    let ask = async |id: &str, expected: CancelOutcome| {
        let outcome = store.request_cancel(turn_id(id)?, request()).await;
        let outcome = expect_ok("the end of a turn can be asked for", outcome)?;
        let promise = "a request to cancel says what came of it";
        ContractViolation::ensure_equal(promise, &outcome, &expected)
    };
    let lease = begin_turn(store, "held", Vec::new()).await?;
    ask("held", CancelOutcome::Requested).await?;
    ask("held", CancelOutcome::AlreadyRequested).await?;
    expect_no_work(store).await?;
    let lease = expect_ok("a lease can be renewed", store.renew(lease).await)?;
    let got = lease.cancel.as_ref().map(|it| (it.by.as_str(), it.reason.as_str(), it.at.is_some()));
    let promise = "the holder learns who cancels its turn when it renews its lease";
    ContractViolation::ensure_equal(promise, &got, &Some(("ada", "not needed", true)))?;
    // What the holder writes meanwhile does not hide the request.
    for status in [TurnStatus::Waiting, TurnStatus::Running] {
        commit_writes(store, &lease, vec![StoreWrite::Status(status)]).await?;
    }
    let status = summary_of(store, "held").await?.status;
    let promise = "a turn that is to be cancelled stays so until it ends";
    ContractViolation::ensure_equal(promise, &status, &TurnStatus::CancelRequested)?;
    commit_writes(store, &lease, vec![StoreWrite::Status(TurnStatus::Cancelled)]).await?;
    ask("held", CancelOutcome::Ended).await?;
    end_turn(store, lease).await?;

    enqueue(store, NewTurn::new(turn_id("queued")?)).await?;
    let waiting =
        begin_turn(store, "waiting", vec![StoreWrite::Status(TurnStatus::Waiting)]).await?;
    expect_ok("a lease can be given back", store.release(waiting).await)?;
    for id in ["waiting", "queued"] {
        ask(id, CancelOutcome::Requested).await?;
    }
    let mut leases = Vec::new();
    for _ in 0..2 {
        let lease = store.claim_next(ClaimFilter::default(), lease_request("w")).await;
        let lease = expect_ok("any process can look for work", lease)?;
        let promise = "a turn that nobody has is cancelled by the next process";
        let got = lease.as_ref().and_then(|it| it.cancel.as_ref()).map(|it| it.by.as_str());
        ContractViolation::ensure_equal(promise, &got, &Some("ada"))?;
        leases.extend(lease);
    }
    for lease in leases {
        end_turn(store, lease).await?;
    }
    Ok(())
}

async fn no_two_get_the_same(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    // Every fourth turn stands alone; the others belong to ten conversations.
    for number in 0..MANY {
        let new = NewTurn::new(turn_id(&format!("turn {number}"))?);
        let new = match number % 4 {
            0 => new,
            _ => new.conversation(format!("talk {}", number % 10)),
        };
        enqueue(store, new).await?;
    }
    let mut done = 0;
    while done < MANY {
        let claims = (0..MANY).map(|number| {
            store.claim_next(ClaimFilter::default(), lease_request(&format!("worker {number}")))
        });
        let mut leases = Vec::new();
        let mut talks = Vec::new();
        for claimed in run_all(claims).await {
            leases.extend(expect_ok("many can look for work at once", claimed)?);
        }
        let mut turns: Vec<_> = leases.iter().map(|it| it.turn.clone()).collect();
        turns.sort();
        turns.dedup();
        let promise = "no two processes get the same turn";
        ContractViolation::ensure_equal(promise, &turns.len(), &leases.len())?;
        for lease in &leases {
            talks.extend(summary_of(store, lease.turn.as_str()).await?.conversation);
        }
        let all = talks.len();
        talks.sort();
        talks.dedup();
        let promise = "no two processes get turns of one conversation";
        ContractViolation::ensure_equal(promise, &talks.len(), &all)?;
        if leases.is_empty() {
            return Err(ContractViolation::new("a turn that can run is claimed", "none was"));
        }
        done += leases.len();
        for lease in leases {
            end_turn(store, lease).await?;
        }
    }
    Ok(())
}

async fn enqueue(store: &dyn TurnStore, new: NewTurn) -> Result<(), ContractViolation> {
    expect_ok("a turn can be enqueued", store.enqueue(new).await)
}

/// Claims the next turn, which must be this one.
async fn claim_next(
    store: &dyn TurnStore,
    filter: ClaimFilter,
    expected: Option<&str>,
) -> Result<Lease, ContractViolation> {
    let claimed = store.claim_next(filter, lease_request("w")).await;
    let claimed = expect_ok("any process can look for work", claimed)?;
    let got = claimed.as_ref().map(|it| it.turn.as_str());
    let promise = "of the turns that can run, the one with the highest priority that waits longest is claimed";
    ContractViolation::ensure_equal(promise, &got, &expected)?;
    claimed.ok_or_else(|| ContractViolation::new(promise, "none"))
}

/// Claims the next turn for a process that dies at once.
async fn claim_brief(store: &dyn TurnStore, expected: &str) -> Result<Lease, ContractViolation> {
    let claimed = store.claim_next(ClaimFilter::default(), brief_request("w")).await;
    let claimed = expect_ok("any process can look for work", claimed)?;
    let promise = "a turn whose holder died can be claimed";
    match claimed {
        Some(lease) if lease.turn.as_str() == expected => Ok(lease),
        other => Err(ContractViolation::new(promise, format_args!("{other:?}"))),
    }
}

async fn expect_no_work(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    expect_no_work_of(store, ClaimFilter::default()).await
}

async fn expect_no_work_of(
    store: &dyn TurnStore,
    filter: ClaimFilter,
) -> Result<(), ContractViolation> {
    let claimed = store.claim_next(filter, lease_request("w")).await;
    let claimed = expect_ok("any process can look for work", claimed)?;
    ContractViolation::ensure_equal("turns that cannot run are not claimed", &claimed, &None)
}

async fn expect_count(
    store: &dyn TurnStore,
    filter: ClaimFilter,
    expected: u64,
) -> Result<(), ContractViolation> {
    let mut query = TurnQuery::default().claimable();
    query.tenant = filter.tenant;
    let mut count = 0;
    let agents = filter.agents.into_iter().map(Some);
    for agent in if agents.len() == 0 { vec![None] } else { agents.collect() } {
        query.agent = agent;
        let listed = expect_ok("turns can be listed", store.turns(query.clone()).await)?;
        count += listed.len() as u64;
    }
    let promise = "the turns that can be claimed are counted";
    ContractViolation::ensure_equal(promise, &count, &expected)
}

async fn summary_of(store: &dyn TurnStore, id: &str) -> Result<TurnSummary, ContractViolation> {
    let summary = expect_ok("a turn can be asked for", store.summary(turn_id(id)?).await)?;
    summary.ok_or_else(|| ContractViolation::new("a turn that exists has a summary", id))
}

/// How many turns are enqueued, and how many processes claim at once.
const MANY: usize = 40;
