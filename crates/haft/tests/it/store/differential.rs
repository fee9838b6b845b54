//! Both stores do the same.

use std::time::Duration;

use haft::stores::{
    Lease, LeaseRequest, NewTurn, Row, RowKind, StoreWrite, TurnId, TurnQuery, TurnStatus,
    TurnStore,
};
use haft::stores::{MemoryStore, SqliteOptions, SqliteStore, Synchronous};
use proptest::prelude::*;
use proptest::sample::select;

use super::{at, run};

#[derive(Clone, Debug)]
enum Step {
    Create {
        turn: TurnId,
        conversation: Option<String>,
        holder: LeaseRequest,
        writes: Vec<StoreWrite>,
    },
    Claim(TurnId, LeaseRequest),
    /// With the lease of this number of those that were given out, and so with most of the rest.
    Renew(usize, u64),
    Release(usize),
    Commit(usize, Vec<StoreWrite>),
    Settle(String, String),
    Remove(TurnId, u64),
    Turns(TurnQuery),
}

/// Does a step and tells everything that came of it.
async fn take(store: &dyn TurnStore, leases: &mut Vec<Lease>, step: Step) -> String {
    let lease = |number: usize| leases.get(number % leases.len().max(1)).cloned();
    match step {
        Step::Create { turn, conversation, holder, writes } => {
            let mut new = NewTurn::new(turn, holder).writes(writes);
            new.conversation = conversation;
            let created = store.create(new).await;
            leases.extend(created.as_ref().ok().cloned());
            format!("{created:?}")
        }
        Step::Claim(turn, holder) => {
            let claimed = store.claim(turn, holder).await;
            leases.extend(claimed.as_ref().ok().cloned());
            format!("{claimed:?}")
        }
        Step::Renew(number, second) => match lease(number) {
            Some(lease) => format!("{:?}", store.renew(lease, at(second)).await),
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
        Step::Remove(turn, second) => format!("{:?}", store.remove(turn, at(second)).await),
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
    (select(vec!["p", "q"]), 0_u64..60, ttl)
        .prop_map(|(name, now, ttl)| LeaseRequest::new(name, at(now), Duration::from_secs(ttl)))
}

fn write() -> impl Strategy<Value = StoreWrite> {
    let kind = || select(&RowKind::ALL[..2]);
    let gate = || select(GATES).prop_map(|it| it.parse().unwrap());
    prop_oneof![
        4 => (kind(), text(), text()).prop_map(|(kind, id, json)| StoreWrite::Put(Row::new(kind, id, json))),
        2 => (kind(), text()).prop_map(|(kind, id)| StoreWrite::Delete { kind, id }),
        2 => text().prop_map(|text| StoreWrite::Journal(text.into())),
        1 => select(TurnStatus::ALL).prop_map(StoreWrite::Status),
        2 => (gate(), "[xy]").prop_map(|(id, json)| StoreWrite::OpenGate { id, json }),
        1 => (gate(), text()).prop_map(|(id, settlement)| StoreWrite::CloseGate { id, settlement }),
    ]
}

fn writes() -> impl Strategy<Value = Vec<StoreWrite>> {
    prop::collection::vec(write(), 0..6)
}

fn query() -> impl Strategy<Value = TurnQuery> {
    let conversation = prop::option::of(text());
    (conversation, any::<bool>(), prop::option::of(turn()), prop::option::of(0_usize..5)).prop_map(
        |(conversation, unfinished, before, limit)| {
            let mut query = TurnQuery::default();
            query.conversation = conversation;
            query.unfinished = unfinished;
            query.before = before;
            query.limit = limit;
            query
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
        1 => (number(), 0_u64..60).prop_map(|(lease, now)| Step::Renew(lease, now)),
        1 => number().prop_map(Step::Release),
        6 => (number(), writes()).prop_map(|(lease, writes)| Step::Commit(lease, writes)),
        2 => (select(GATES), text()).prop_map(|(gate, text)| Step::Settle(gate.to_owned(), text)),
        1 => (turn(), 0_u64..60).prop_map(|(turn, now)| Step::Remove(turn, now)),
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
            let memory = MemoryStore::new();
            let file = SqliteStore::open_with(folder.path(), options).unwrap();
            let (mut leases, mut same) = (Vec::new(), Vec::new());
            for step in steps {
                let told = take(&memory, &mut leases, step.clone()).await;
                assert_eq!(take(&file, &mut same, step.clone()).await, told, "{step:?}");
                assert_eq!(everything(&file).await, everything(&memory).await, "{step:?}");
            }
        });
    }
}
