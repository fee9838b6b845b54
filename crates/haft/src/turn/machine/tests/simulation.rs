//! Whole turns against a simulated world: a journal that is cut anywhere leads to the same end.

use std::collections::VecDeque;

use haft_core::context::Signal;
use haft_core::pipeline::Stage;
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::super::report::Conclusion;
use super::super::{Effect, Effects, Interruption, StepFacts, StepVerdict, TurnEntry, TurnTotals};
use super::*;

/// What happens in a turn. It depends on the iteration only, so that a resumed turn meets the same world.
#[derive(Clone, Debug)]
struct World {
    limits: (u32, u64),
    has_output: bool,
    iterations: Vec<Iteration>,
    turn_output: Passage,
}

#[derive(Clone, Debug)]
struct Iteration {
    input: Passage,
    step: Option<Proposal>,
    /// What a handler of its calls asks for, one call after the other.
    handlers: Vec<NextAction>,
    output: Passage,
}

#[derive(Clone, Debug)]
struct Proposal {
    next: NextAction,
    calls: usize,
    is_repeated: bool,
}

/// How a pipeline passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passage {
    Passes,
    Acks,
    Nacks,
    Withholds,
    Fails,
    IsCancelled,
}

fn passage() -> impl Strategy<Value = Passage> {
    prop_oneof![
        12 => Just(Passage::Passes),
        1 => Just(Passage::Acks),
        1 => Just(Passage::Nacks),
        2 => Just(Passage::Withholds),
        1 => Just(Passage::Fails),
        1 => Just(Passage::IsCancelled),
    ]
}

fn worlds() -> impl Strategy<Value = World> {
    let next = prop_oneof![
        4 => Just(NextAction::Continue),
        2 => Just(NextAction::Done),
        1 => Just(NextAction::failed("it is closed")),
    ];
    let proposal = (next, 0..3_usize, prop::bool::weighted(0.1))
        .prop_map(|(next, calls, is_repeated)| Proposal { next, calls, is_repeated });
    let wanted = prop_oneof![
        2 => Just(NextAction::Done),
        1 => Just(NextAction::failed("it is enough")),
        1 => Just(NextAction::Continue),
    ];
    let handlers = prop_oneof![3 => Just(Vec::new()), 1 => vec(wanted, 1..3)];
    let step = prop::option::weighted(0.9, proposal);
    let iteration = (passage(), step, handlers, passage())
        .prop_map(|(input, step, handlers, output)| Iteration { input, step, handlers, output });
    ((1..6_u32, 20..100_u64), any::<bool>(), vec(iteration, 1..6), passage()).prop_map(
        |(limits, has_output, iterations, turn_output)| World {
            limits,
            has_output,
            iterations,
            turn_output,
        },
    )
}

/// A run of a turn, from the first entry or from the middle.
struct Run<'w> {
    world: &'w World,
    machine: TurnMachine,
    /// The entries of each commit.
    commits: Vec<Vec<JournalEntry>>,
    /// Entries that wait for the next commit.
    deferred: Vec<JournalEntry>,
    effects: Vec<Effect>,
    iteration: usize,
    step: Option<Proposal>,
    pending: Option<Signal>,
}

impl<'w> Run<'w> {
    fn new(world: &'w World) -> Self {
        let limits = Limits::new().iterations(world.limits.0).tokens(Some(world.limits.1));
        let machine = machine(limits.identical_calls(1), world.has_output);
        Self {
            world,
            machine,
            commits: Vec::new(),
            deferred: Vec::new(),
            effects: Vec::new(),
            iteration: 0,
            step: None,
            pending: None,
        }
    }

    /// Replays commits, and runs the turn from there to its end.
    fn resume(world: &'w World, commits: &[Vec<JournalEntry>]) -> Self {
        let mut run = Self::new(world);
        for entry in commits.iter().flatten() {
            run.machine.apply(entry.clone().into()).unwrap();
        }
        run.commits = commits.to_vec();
        if run.machine.end().is_none() {
            run.drive();
        }
        run
    }

    fn drive(&mut self) {
        let mut effects = VecDeque::from_iter(self.machine.apply(TurnEntry::Begun).unwrap());
        while let Some(effect) = effects.pop_front() {
            for entry in self.perform(&effect) {
                effects.extend(self.machine.apply(entry).unwrap());
            }
            self.effects.push(effect);
            assert!(self.effects.len() < 1000, "the turn does not end");
        }
    }

    fn perform(&mut self, effect: &Effect) -> Vec<TurnEntry> {
        match effect {
            Effect::SpoolInput => vec![TurnEntry::InputSpooled],
            Effect::RunStage(stage) => vec![self.pass(*stage)],
            Effect::CheckIteration => vec![TurnEntry::IterationReady { wall_time_reached: false }],
            Effect::OpenIteration { iteration, .. } => {
                self.iteration = *iteration as usize;
                vec![TurnEntry::IterationOpened]
            }
            Effect::AskExecutor => vec![self.propose()],
            Effect::StoreStep(verdict) => self.store_step(verdict),
            Effect::ExecuteCalls | Effect::FinishCalls => {
                self.run_handlers();
                vec![TurnEntry::CallsFinished]
            }
            Effect::SignalDispatch(signal) => vec![TurnEntry::Signalled(signal.clone())],
            // As the driver does it.
            Effect::SetPendingSignal(signal) => {
                if self.pending.is_none() || matches!(signal, Some(Signal::Nack { .. })) {
                    self.pending.clone_from(signal);
                }
                Vec::new()
            }
            Effect::JournalIteration { iteration, done } => {
                let entry = iterated(*iteration, *done);
                self.deferred.push(entry.clone());
                vec![entry.into()]
            }
            Effect::StoreEnd { conclusion, totals } => self.commit(vec![end(conclusion, **totals)]),
            _ => Vec::new(),
        }
    }

    fn commit(&mut self, entries: Vec<JournalEntry>) -> Vec<TurnEntry> {
        let mut written = std::mem::take(&mut self.deferred);
        written.extend(entries.clone());
        self.commits.push(written);
        entries.into_iter().map(TurnEntry::from).collect()
    }

    /// Runs the calls that have not ended. The result of each is a commit, with the signal that its handler has set.
    fn run_handlers(&mut self) {
        let iteration = u32::try_from(self.iteration).unwrap();
        let is_ended = |it: &&JournalEntry| matches!(it, JournalEntry::Pending { iteration: at, .. } if *at == iteration);
        let ended = self.commits.iter().flatten().filter(is_ended).count();
        // Calls that would exceed a limit are stored as cancelled.
        let runs = |step: &Proposal| step.calls > 0 && !step.is_repeated;
        let planned = self.world.iterations.get(self.iteration);
        let planned = planned.filter(|it| it.step.as_ref().is_some_and(runs));
        let handlers = planned.map(|it| it.handlers.as_slice());
        for then in handlers.unwrap_or_default().iter().skip(ended) {
            self.pending = match then {
                NextAction::Done => Some(Signal::Ack),
                NextAction::Fail(error) => Some(Signal::Nack { error: error.clone() }),
                _ => None,
            };
            self.commit(vec![JournalEntry::Pending { iteration, then: then.clone() }]);
        }
    }

    fn pass(&mut self, stage: Stage) -> TurnEntry {
        let iteration = self.world.iterations.get(self.iteration);
        let passage = match stage {
            Stage::TurnInput => Passage::Passes,
            Stage::DispatchInput => iteration.map_or(Passage::Passes, |it| it.input),
            Stage::DispatchOutput => iteration.map_or(Passage::Passes, |it| it.output),
            Stage::TurnOutput => self.world.turn_output,
        };
        let nack = || Signal::nack("no");
        let (signal, pending) = match passage {
            Passage::Passes => (None, self.pending.clone()),
            Passage::Acks => (Some(Signal::Ack), None),
            Passage::Nacks => (Some(nack()), None),
            Passage::Withholds => {
                self.pending = None;
                (None, None)
            }
            Passage::Fails => {
                let error = ErrorReport::reason("it broke");
                return TurnEntry::Interrupted(Interruption::failed(error));
            }
            Passage::IsCancelled => {
                return TurnEntry::Interrupted(Interruption::cancelled("enough"));
            }
        };
        TurnEntry::StagePassed { signal, pending }
    }

    fn propose(&mut self) -> TurnEntry {
        let proposal = match self.world.iterations.get(self.iteration) {
            Some(Iteration { step: Some(step), .. }) => step.clone(),
            Some(_) => {
                let error = ErrorReport::reason("there is no model");
                return TurnEntry::Interrupted(Interruption::failed(error));
            }
            None => Proposal { next: NextAction::Done, calls: 0, is_repeated: false },
        };
        let facts = StepFacts {
            next: proposal.next.clone(),
            has_calls: proposal.calls > 0,
            calls_made: proposal.calls,
            most_repeated: if proposal.is_repeated && proposal.calls > 0 { 2 } else { 0 },
            can_end: true,
        };
        self.step = Some(proposal);
        TurnEntry::StepProposed(facts)
    }

    fn store_step(&mut self, verdict: &StepVerdict) -> Vec<TurnEntry> {
        let Proposal { next, calls, .. } = self.step.take().unwrap();
        let iteration = u32::try_from(self.iteration).unwrap();
        match verdict {
            StepVerdict::Accepted => self.commit(vec![step(iteration, next, calls, None)]),
            StepVerdict::LimitReached(limit) => {
                self.commit(vec![step(iteration, next, calls, Some(limit.clone()))])
            }
            StepVerdict::EndsTurn { iterations } => {
                let usage = self.machine.totals().usage + Usage::new(8, 2);
                let totals = TurnTotals { iterations: *iterations, usage };
                let last = end(&Conclusion::completed(), totals);
                self.commit(vec![step(iteration, next, calls, None), last])
            }
        }
    }

    /// The effects on the outside: steps that were asked for, and stored ends.
    fn asked(&self) -> usize {
        self.effects.iter().filter(|it| matches!(it, Effect::AskExecutor)).count()
    }
}

fn end(conclusion: &Conclusion, totals: TurnTotals) -> JournalEntry {
    let TurnTotals { iterations, usage } = totals;
    let (outcome, error) = (conclusion.outcome.clone(), conclusion.error.as_deref().cloned());
    JournalEntry::Ended { outcome, error, iterations, usage, at: Timestamp::EPOCH }
}

fn stored_steps(commits: &[Vec<JournalEntry>]) -> usize {
    let entries = commits.iter().flatten();
    entries.filter(|it| matches!(it, JournalEntry::Step { .. })).count()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Resuming after any commit writes exactly the commits that were still missing, and asks the executor only for
    /// the steps that were not stored.
    #[test]
    fn a_journal_that_is_cut_anywhere_comes_to_the_same_end(world in worlds()) {
        let mut whole = Run::new(&world);
        let created = whole.commit(vec![started()]);
        for entry in created {
            prop_assert_eq!(whole.machine.apply(entry), Ok(Effects::default()));
        }
        whole.drive();
        prop_assert!(whole.machine.end().is_some());
        for cut in 1..=whole.commits.len() {
            let resumed = Run::resume(&world, &whole.commits[..cut]);
            prop_assert_eq!(&resumed.commits, &whole.commits, "cut after {}", cut);
            prop_assert_eq!(&resumed.machine, &whole.machine, "cut after {}", cut);
            let missing = whole.asked() - stored_steps(&whole.commits[..cut]);
            let is_over = resumed.effects.is_empty();
            prop_assert_eq!(resumed.asked(), if is_over { 0 } else { missing }, "cut after {}", cut);
        }
    }

    /// A turn announces its start and its end once, and everything that it opens is closed.
    #[test]
    fn what_a_turn_opens_it_closes(world in worlds()) {
        let mut run = Run::new(&world);
        for entry in run.commit(vec![started()]) {
            run.machine.apply(entry).unwrap();
        }
        run.drive();
        let count = |wanted: fn(&Effect) -> bool| run.effects.iter().filter(|it| wanted(it)).count();
        prop_assert_eq!(count(|it| matches!(it, Effect::AnnounceTurn)), 1);
        prop_assert_eq!(count(|it| matches!(it, Effect::ReleaseLease)), 1);
        prop_assert_eq!(count(|it| matches!(it, Effect::AnnounceDispatch)), 1);
        prop_assert_eq!(count(|it| matches!(it, Effect::CloseDispatch { .. })), 1);
        let opened = count(|it| matches!(it, Effect::OpenIteration { .. }));
        prop_assert_eq!(count(|it| matches!(it, Effect::CloseIteration)), opened);
        let is_end = matches!(run.effects.last(), Some(Effect::AnnounceEnd { .. }));
        prop_assert!(is_end, "the end comes last");
    }
}
