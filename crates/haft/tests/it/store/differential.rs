//! Both stores do the same.

use std::sync::Arc;
use std::time::Duration;

use haft::stores::{
    CancelRequest, ClaimFilter, Lease, LeaseRequest, NewTurn, Row, RowKind, StoreWrite,
    SummaryUpdate, TurnId, TurnQuery, TurnStatus, TurnStore, TurnStoreExt as _,
};
use haft::stores::{MemoryStore, SqliteOptions, SqliteStore, Synchronous};
use haft::turn::{ManualClock, Timestamp};
use proptest::prelude::*;
use proptest::sample::select;

use super::run;

#[derive(Clone, Debug)]
enum Step {
    Create {
        turn: TurnId,
        conversation: Option<String>,
        holder: LeaseRequest,
        writes: Vec<StoreWrite>,
    },
    Enqueue(TurnId, Option<String>, i32, u64),
    Claim(TurnId, LeaseRequest),
    ClaimNext(LeaseRequest),
    /// With the lease of this number of those that were given out, and so with most of the rest.
    Renew(usize),
    Release(usize),
    Commit(usize, Vec<StoreWrite>),
    Settle(String, String),
    RequestCancel(TurnId),
    Remove(TurnId),
    RemoveTurns(TurnQuery),
    Turns(TurnQuery),
    Wait(u64),
}

/// Does a step and tells everything that came of it.
async fn take(
    store: &dyn TurnStore,
    clock: &ManualClock,
    leases: &mut Vec<Lease>,
    step: Step,
) -> String {
    let lease = |number: usize| leases.get(number % leases.len().max(1)).cloned();
    match step {
        Step::Create { turn, conversation, holder, writes } => {
            let mut new = NewTurn::new(turn).writes(writes);
            new.conversation = conversation;
            let created = store.create(new, holder).await;
            leases.extend(created.as_ref().ok().cloned());
            format!("{created:?}")
        }
        Step::Claim(turn, holder) => {
            let claimed = store.claim(turn, holder).await;
            leases.extend(claimed.as_ref().ok().cloned());
            format!("{claimed:?}")
        }
        Step::Enqueue(turn, conversation, priority, delay) => {
            let new = NewTurn::new(turn).priority(priority).start_after(Duration::from_secs(delay));
            let new = match conversation {
                Some(conversation) => new.said(&conversation).conversation(conversation),
                None => new,
            };
            format!("{:?}", store.enqueue(new).await)
        }
        Step::ClaimNext(holder) => {
            let claimed = store.claim_next(ClaimFilter::default(), holder).await;
            leases.extend(claimed.as_ref().ok().cloned().flatten());
            format!("{claimed:?}")
        }
        Step::RequestCancel(turn) => {
            format!("{:?}", store.request_cancel(turn, CancelRequest::new("a", "b")).await)
        }
        Step::RemoveTurns(query) => format!("{:?}", store.remove_turns(query).await),
        Step::Wait(seconds) => {
            clock.advance(Duration::from_secs(seconds));
            String::new()
        }
        Step::Renew(number) => match lease(number) {
            Some(lease) => format!("{:?}", store.renew(lease).await),
            None => String::new(),
        },
        Step::Release(number) => match lease(number) {
            Some(lease) => format!("{:?}", store.release(lease).await),
            None => String::new(),
        },
        Step::Commit(number, writes) => match lease(number) {
            Some(lease) => format!("{:?}", store.commit(lease, writes).await),
            None => String::new(),
        },
        Step::Settle(gate, settlement) => {
            format!("{:?}", store.settle(gate.parse().unwrap(), settlement).await)
        }
        Step::Remove(turn) => format!("{:?}", store.remove(turn).await),
        Step::Turns(query) => format!("{:?}", store.turns(query).await),
    }
}

/// Everything that is kept.
async fn everything(store: &dyn TurnStore) -> String {
    let turns = store.turns(TurnQuery::default()).await.unwrap();
    let mut text = format!("{turns:?}\n{:?}\n", store.open_gates(None).await);
    for turn in turns {
        text.push_str(&format!("{:?}\n", store.open_gates(Some(turn.id.clone())).await));
        text.push_str(&format!("{:?}\n", store.load(turn.id).await));
    }
    for gate in GATES {
        text.push_str(&format!("{:?}\n", store.gate(gate.parse().unwrap()).await));
    }
    text
}

const GATES: &[&str] = &["g1", "g2", "g3"];

fn turn() -> impl Strategy<Value = TurnId> {
    select(vec!["a", "b", "c", "d"]).prop_map(|it| it.parse().unwrap())
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![6 => "[xy]", 2 => any::<String>(), 1 => Just("\0".to_owned())]
}

fn holder() -> impl Strategy<Value = LeaseRequest> {
    let ttl = prop_oneof![8 => 0_u64..20, 1 => Just(u64::MAX)];
    (select(vec!["p", "q"]), ttl)
        .prop_map(|(name, ttl)| LeaseRequest::new(name, Duration::from_secs(ttl)))
}

fn write() -> impl Strategy<Value = StoreWrite> {
    let kind = || select(&RowKind::ALL[..2]);
    let gate = || select(GATES).prop_map(|it| it.parse().unwrap());
    prop_oneof![
        4 => (kind(), text(), text()).prop_map(|(kind, id, json)| StoreWrite::Put(Row::new(kind, id, json))),
        2 => (kind(), text()).prop_map(|(kind, id)| StoreWrite::Delete { kind, id }),
        2 => text().prop_map(StoreWrite::Journal),
        1 => select(TurnStatus::ALL).prop_map(StoreWrite::Status),
        2 => (gate(), "[xy]", prop::option::of(0_i64..100)).prop_map(|(id, json, at)| {
            let expires_at = at.and_then(|at| Timestamp::from_micros(at * 1_000_000).ok());
            StoreWrite::OpenGate { id, json, expires_at }
        }),
        1 => (0_u64..20).prop_map(|it| StoreWrite::Interrupt { delay: Duration::from_secs(it) }),
        1 => Just(StoreWrite::Progress),
        1 => any::<u32>().prop_map(|it| {
            StoreWrite::Summary(SummaryUpdate::default().tokens(it.into()).model(it.to_string()))
        }),
        1 => (gate(), text()).prop_map(|(id, settlement)| StoreWrite::CloseGate { id, settlement }),
    ]
}

fn writes() -> impl Strategy<Value = Vec<StoreWrite>> {
    prop::collection::vec(write(), 0..6)
}

fn query() -> impl Strategy<Value = TurnQuery> {
    let conversation = prop::option::of(text());
    let words = prop::option::of("[xyz]");
    let limit = prop::option::of(0_usize..5);
    (conversation, any::<bool>(), prop::option::of(turn()), limit, words).prop_map(
        |(conversation, unfinished, before, limit, words)| {
            let mut query = TurnQuery::default();
            query.conversation = conversation;
            query.unfinished = unfinished;
            query.before = before;
            query.limit = limit;
            match words {
                Some(words) => query.matching(&words),
                None => query,
            }
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let number = || any::<usize>();
    prop_oneof![
        3 => (turn(), prop::option::of(text()), holder(), writes()).prop_map(
            |(turn, conversation, holder, writes)| Step::Create { turn, conversation, holder, writes }
        ),
        2 => (turn(), holder()).prop_map(|(turn, holder)| Step::Claim(turn, holder)),
        2 => (turn(), prop::option::of("[xy]( [xy])?"), -1..2, 0_u64..10).prop_map(
            |(turn, conversation, priority, delay)| {
                Step::Enqueue(turn, conversation, priority, delay)
            }
        ),
        3 => holder().prop_map(Step::ClaimNext),
        3 => (0_u64..30).prop_map(Step::Wait),
        1 => turn().prop_map(Step::RequestCancel),
        1 => query().prop_map(Step::RemoveTurns),
        1 => number().prop_map(Step::Renew),
        1 => number().prop_map(Step::Release),
        6 => (number(), writes()).prop_map(|(lease, writes)| Step::Commit(lease, writes)),
        2 => (select(GATES), text()).prop_map(|(gate, text)| Step::Settle(gate.to_owned(), text)),
        1 => turn().prop_map(Step::Remove),
        2 => query().prop_map(Step::Turns),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(64)))]

    #[test]
    fn both_stores_do_the_same(steps in prop::collection::vec(step(), 1..40)) {
        let folder = tempfile::tempdir().unwrap();
        run(async {
            let options = SqliteOptions::default().synchronous(Synchronous::Normal);
            let clocks = [(); 2].map(|()| Arc::new(ManualClock::new(Timestamp::EPOCH)));
            let [ours, theirs] = &clocks;
            let memory = MemoryStore::with_clock(Arc::clone(ours) as _);
            let file = SqliteStore::open_with(folder.path(), options).unwrap();
            let file = file.with_clock(Arc::clone(theirs) as _);
            let (mut leases, mut same) = (Vec::new(), Vec::new());
            for step in steps {
                let told = take(&memory, ours, &mut leases, step.clone()).await;
                assert_eq!(take(&file, theirs, &mut same, step.clone()).await, told, "{step:?}");
                assert_eq!(everything(&file).await, everything(&memory).await, "{step:?}");
            }
        });
    }
}
