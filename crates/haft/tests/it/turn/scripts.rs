//! Random turns, interrupted after any entry of the journal and resumed by another agent: they come to the same
//! records and effects as without the interruption.

mod plan;
mod probe;

use std::sync::Arc;
use std::time::Duration;

use haft::stores::{MemorySpoolStore, MemoryStore};
use haft::stores::{TurnStore as _, TurnStoreExt as _};
use haft::turn::{Agent, TurnReport};
use haft::turn::{ManualClock, Timestamp};
use proptest::prelude::*;

use self::plan::{Plan, plans};
use self::probe::Probe;
use super::block_on;
use super::errand::{self, Errand, Ledger};

/// What outlives the agents of a turn.
struct World {
    store: Arc<MemoryStore>,
    spools: Arc<MemorySpoolStore>,
    clock: Arc<ManualClock>,
    ledger: Ledger,
}

/// One agent's attempt to run the turn.
struct Attempt {
    /// Nothing if the attempt was stopped.
    report: Option<TurnReport>,
    /// How many entries it journaled.
    entries: usize,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
        let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
        Self { store, spools: Arc::default(), clock, ledger: Ledger::memory() }
    }

    /// Runs or resumes the turn, and approves what requires approval. The attempt stops after so many entries.
    async fn attempt(&self, plan: &Plan, stop_after: Option<usize>) -> Attempt {
        // The leases of earlier attempts have expired.
        self.clock.advance(Duration::from_secs(3600));
        let probe = Probe::new(Arc::clone(&self.store), stop_after);
        let (doors, observer) = errand::doors();
        let agent: Agent = plan
            .agent(&self.ledger)
            .store(Arc::clone(&probe) as _)
            .spools(Arc::clone(&self.spools) as _)
            .clock(Arc::clone(&self.clock) as _)
            .secret([7; 32])
            .name("scripted")
            .observer(observer)
            .build()
            .unwrap();
        let report = tokio::select! {
            biased;
            () = probe.stopped() => None,
            report = errand::run(&agent, doors) => Some(report.unwrap()),
        };
        Attempt { report, entries: probe.entries() }
    }

    /// The records of the turn and how it ended, without times.
    async fn records(&self, report: &TurnReport) -> Vec<String> {
        let stored = self.store.load(Errand::id()).await.unwrap().unwrap();
        let mut lines = errand::transcript(&stored);
        lines.push(format!("{:?} {:?}", stored.summary.status, report.outcome));
        lines.push(format!("{:?} {:?}", report.iterations, report.usage));
        lines.push(format!("{:?}", report.error));
        lines.push(format!("{:?}", errand::steps(&stored)));
        let said: Vec<_> = report.messages.iter().map(|it| it.id().clone()).collect();
        lines.push(format!("{said:?}"));
        lines.push(format!("{} gates are open", self.store.open_gates(None).await.unwrap().len()));
        lines
    }

    /// What the tools did to the outside, each effect once.
    fn effects(&self) -> Vec<String> {
        let lines = self.ledger.lines().into_iter();
        let mut effects: Vec<String> = lines.filter(|it| it.starts_with("effect")).collect();
        effects.sort();
        effects
    }
}

/// Runs the plan without interruption, and then stopped after every entry of the journal.
async fn check(plan: &Plan) {
    let world = World::new();
    let whole = world.attempt(plan, None).await;
    let report = whole.report.unwrap();
    let (records, effects) = (world.records(&report).await, world.effects());
    for entries in 1..=whole.entries {
        let world = World::new();
        let first = world.attempt(plan, Some(entries)).await;
        // The entries that come last are written by a commit after which the turn may be over.
        let report = match first.report {
            Some(report) => report,
            None => world.attempt(plan, None).await.report.unwrap(),
        };
        assert_eq!(world.records(&report).await, records, "stopped after {entries}: {plan:#?}");
        assert_eq!(world.effects(), effects, "stopped after {entries}: {plan:#?}");
        let again = world.attempt(plan, None).await.report.unwrap();
        assert_eq!(world.records(&again).await, records, "reported again: {plan:#?}");
        assert_eq!(world.effects(), effects, "a turn that has ended does nothing: {plan:#?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_turn_stopped_after_any_entry_comes_to_the_same(plan in plans()) {
        block_on(async {
            tokio::time::pause();
            check(&plan).await;
        });
    }
}
