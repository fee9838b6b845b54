//! The transitions of a turn.

use std::sync::Arc;

use haft_core::context::Signal;
use haft_core::pipeline::Stage;
use haft_core::step::NextAction;

use super::super::journal::JournalEntry;
use super::super::limits::Limit;
use super::super::report::{Conclusion, TurnOutcome};
use super::effect::{Effect, Effects, StepVerdict};
use super::entry::{Interruption, StepFacts, TurnEntry};
use super::state::{Phase, ResumePoint, StoredStep, TurnState};
use super::{TurnMachine, TurnTotals};

/// The effects that follow from an entry; `None` if the state does not allow the entry.
type Transition = Option<Effects>;

impl TurnMachine {
    pub(super) fn transition(&mut self, entry: TurnEntry) -> Transition {
        match entry {
            TurnEntry::Journal(entry) => self.take_journal_entry(&entry),
            TurnEntry::Begun => self.begin(),
            TurnEntry::InputSpooled => self.run_turn_input(),
            TurnEntry::StagePassed { signal, pending } => self.pass_stage(signal, pending),
            TurnEntry::IterationReady { wall_time_reached } => self.check_limits(wall_time_reached),
            TurnEntry::IterationOpened => self.run_iteration(),
            TurnEntry::StepProposed(facts) => self.decide_step(&facts),
            TurnEntry::CallsFinished => self.finish_calls(),
            TurnEntry::Signalled(signal) => self.settle_dispatch(signal),
            TurnEntry::EndNotStored(error) => {
                let TurnState::Ending { conclusion } = &self.state else { return None };
                let conclusion = Conclusion::clone(conclusion).not_stored(error.clone());
                Some(self.suspend_with(Effect::ReportError(error).into(), conclusion))
            }
            TurnEntry::Interrupted(interruption) => self.interrupt(interruption),
            TurnEntry::WallTimeReached => {
                if !self.is_working() {
                    return None;
                }
                self.wall_time_reached = true;
                Some(Effect::CancelWork.into())
            }
        }
    }

    fn take_journal_entry(&mut self, entry: &JournalEntry) -> Transition {
        match entry {
            JournalEntry::Started { .. } => {
                if self.state != TurnState::New {
                    return None;
                }
                Some(
                    self.enter(
                        TurnState::Stored { resume_at: ResumePoint::START },
                        Effects::none(),
                    ),
                )
            }
            // None of the three changes where a turn stands.
            JournalEntry::Resumed { .. } => {
                let is_legal = matches!(&self.state, TurnState::Stored { .. });
                is_legal.then(Effects::none)
            }
            JournalEntry::Stash { .. }
            | JournalEntry::StashDelta(_)
            | JournalEntry::Hydrated(_)
            | JournalEntry::Tools(_) => (self.state != TurnState::New).then(Effects::none),
            JournalEntry::Pending { iteration, then } => {
                if !matches!(self.state, TurnState::Stored { .. }) {
                    return None;
                }
                self.pending = Some((*iteration, then.clone()));
                Some(Effects::none())
            }
            JournalEntry::Step { iteration, messages, calls, then, usage, limit, .. } => {
                let step = StoredStep { next: then.clone(), limit: limit.clone() };
                let effects = self.take_step(*iteration, step, !calls.is_empty())?;
                self.totals.usage += *usage;
                self.messages.extend_from_slice(messages);
                Some(effects)
            }
            JournalEntry::Iterated { iteration, done, .. } => {
                self.take_iteration(*iteration, *done)
            }
            JournalEntry::Ended { outcome, error, iterations, usage, .. } => {
                let totals = TurnTotals { iterations: *iterations, usage: *usage };
                self.take_end(Conclusion::stored(outcome.clone(), error.clone()), totals)
            }
        }
    }

    fn begin(&mut self) -> Transition {
        let TurnState::Stored { resume_at } = &self.state else { return None };
        let opening = TurnState::Opening { resume_at: resume_at.clone() };
        Some(self.enter(opening, [Effect::AnnounceTurn, Effect::SpoolInput].into()))
    }

    fn run_turn_input(&mut self) -> Transition {
        let TurnState::Opening { resume_at } = &self.state else { return None };
        let input = TurnState::Input { resume_at: resume_at.clone() };
        Some(self.enter(input, Effect::RunStage(Stage::TurnInput).into()))
    }

    fn pass_stage(&mut self, signal: Option<Signal>, pending: Option<Signal>) -> Transition {
        match &self.state {
            TurnState::Input { resume_at } => {
                let resume_at = resume_at.clone();
                Some(self.start_dispatch(resume_at))
            }
            TurnState::Dispatch { iteration, phase: Phase::Input } => {
                let iteration = *iteration;
                match signal {
                    Some(signal) => Some(self.close_iteration(iteration, Some(signal.into()))),
                    None => Some(self.enter_phase(iteration, Phase::Asking, Effect::AskExecutor)),
                }
            }
            TurnState::Dispatch { iteration, phase: Phase::Output } => {
                let iteration = *iteration;
                match (signal, pending) {
                    (Some(signal), _) => Some(self.close_iteration(iteration, Some(signal.into()))),
                    (None, Some(pending)) => {
                        let signal = Effect::SignalDispatch(pending);
                        Some(self.enter_phase(iteration, Phase::Signalling, signal))
                    }
                    (None, None) => Some(self.close_iteration(iteration, None)),
                }
            }
            TurnState::Output => Some(self.end_with(Effects::none(), Conclusion::completed())),
            _ => None,
        }
    }

    fn start_dispatch(&mut self, resume_at: ResumePoint) -> Effects {
        let mut effects = Effects::from(Effect::AnnounceDispatch);
        let (iteration, step) = match resume_at {
            ResumePoint::Iteration { iteration } => (iteration, None),
            ResumePoint::Calls { iteration, step } => (iteration, Some(step)),
            ResumePoint::Output => {
                effects.push(Effect::SignalDispatch(Signal::Ack));
                return self.enter(TurnState::Acknowledging, effects);
            }
        };
        effects.push(Effect::BindTools);
        effects.push(Effect::CheckIteration);
        self.enter(TurnState::Dispatch { iteration, phase: Phase::Checking { step } }, effects)
    }

    /// Opens an iteration unless a limit forbids it. The step of an iteration that was stored before the turn was
    /// resumed is completed as if the turn had not been interrupted.
    fn check_limits(&mut self, wall_time_reached: bool) -> Transition {
        let TurnState::Dispatch { iteration, phase: Phase::Checking { step } } = &self.state else {
            return None;
        };
        let (iteration, step) = (*iteration, step.clone());
        if step.is_none()
            && let Some(limit) = self.reached_limit(iteration, wall_time_reached)
        {
            return Some(self.end_dispatch(Effects::none(), limit.into()));
        }
        let open = Effect::OpenIteration { iteration };
        Some(self.enter_phase(iteration, Phase::Opening { step }, open))
    }

    fn reached_limit(&self, iteration: u32, wall_time_reached: bool) -> Option<Limit> {
        let limits = &self.rules.limits;
        if iteration >= limits.iterations {
            Some(Limit::Iterations)
        } else if limits.tokens.is_some_and(|limit| self.totals.usage.total >= limit) {
            Some(Limit::Tokens)
        } else if limits.cost.is_some_and(|limit| limit.is_reached(self.totals.usage)) {
            Some(Limit::Cost)
        } else {
            wall_time_reached.then_some(Limit::WallTime)
        }
    }

    fn run_iteration(&mut self) -> Transition {
        let TurnState::Dispatch { iteration, phase: Phase::Opening { step } } = &self.state else {
            return None;
        };
        let (iteration, step) = (*iteration, step.clone());
        Some(match step {
            Some(step) => {
                // The calls that are left can still take back what an earlier one asked for.
                let stored = self.pending.take().filter(|(decided, _)| *decided == iteration);
                let signal = stored.and_then(|(_, then)| wanted_signal(then));
                let restore = signal.map(|signal| Effect::SetPendingSignal(Some(signal)));
                let effects = restore.into_iter().chain([Effect::FinishCalls]).collect();
                self.enter(TurnState::Dispatch { iteration, phase: Phase::Calls { step } }, effects)
            }
            None => {
                let run = Effect::RunStage(Stage::DispatchInput);
                self.enter_phase(iteration, Phase::Input, run)
            }
        })
    }

    /// Decides what becomes of a step, before it is stored.
    fn decide_step(&mut self, facts: &StepFacts) -> Transition {
        let TurnState::Dispatch { iteration, phase: Phase::Asking } = self.state else {
            return None;
        };
        let limits = &self.rules.limits;
        let verdict = if facts.calls_made as u64 > u64::from(limits.tool_calls) {
            StepVerdict::LimitReached(Limit::ToolCalls)
        } else if facts.most_repeated > limits.identical_calls {
            StepVerdict::LimitReached(Limit::IdenticalCalls)
        } else if facts.next == NextAction::Done
            && !facts.has_calls
            && facts.can_end
            && !self.rules.has_output
        {
            StepVerdict::EndsTurn { iterations: iteration.saturating_add(1) }
        } else {
            StepVerdict::Accepted
        };
        let ends_turn = matches!(verdict, StepVerdict::EndsTurn { .. });
        let store = Effect::StoreStep(verdict);
        Some(self.enter_phase(iteration, Phase::Storing { ends_turn }, store))
    }

    fn take_step(&mut self, stored: u32, step: StoredStep, has_calls: bool) -> Transition {
        match &self.state {
            TurnState::Stored { resume_at } => {
                let resume_at = resume_at.clone().after_step(stored, step)?;
                Some(self.enter(TurnState::Stored { resume_at }, Effects::none()))
            }
            TurnState::Dispatch { iteration, phase: Phase::Storing { ends_turn } }
                if *iteration == stored =>
            {
                if *ends_turn {
                    let is_last = step.next == NextAction::Done && step.limit.is_none();
                    let phase = Phase::Completing;
                    let state = TurnState::Dispatch { iteration: stored, phase };
                    return (is_last && !has_calls).then(|| self.enter(state, Effects::none()));
                }
                if has_calls && step.limit.is_none() {
                    let calls = Phase::Calls { step };
                    return Some(self.enter_phase(stored, calls, Effect::ExecuteCalls));
                }
                Some(self.follow_step(stored, step))
            }
            _ => None,
        }
    }

    fn finish_calls(&mut self) -> Transition {
        let TurnState::Dispatch { iteration, phase: Phase::Calls { step } } = &self.state else {
            return None;
        };
        let (iteration, step) = (*iteration, step.clone());
        Some(self.follow_step(iteration, step))
    }

    /// What follows a step whose calls have ended.
    fn follow_step(&mut self, iteration: u32, step: StoredStep) -> Effects {
        if let Some(limit) = step.limit {
            return self.close_iteration(iteration, Some(limit.into()));
        }
        let pending = Effect::SetPendingSignal(wanted_signal(step.next));
        let effects = [pending, Effect::RunStage(Stage::DispatchOutput)].into();
        self.enter(TurnState::Dispatch { iteration, phase: Phase::Output }, effects)
    }

    fn settle_dispatch(&mut self, signal: Signal) -> Transition {
        match self.state {
            TurnState::Acknowledging => Some(self.end_dispatch(Effects::none(), signal.into())),
            TurnState::Dispatch { iteration, phase: Phase::Signalling } => {
                Some(self.close_iteration(iteration, Some(signal.into())))
            }
            _ => None,
        }
    }

    fn close_iteration(&mut self, iteration: u32, conclusion: Option<Conclusion>) -> Effects {
        let done = is_done(conclusion.as_ref());
        let journal = Effect::JournalIteration { iteration, done };
        self.enter_phase(iteration, Phase::Closing { conclusion }, journal)
    }

    fn take_iteration(&mut self, ended: u32, done: bool) -> Transition {
        let next = ended.checked_add(1)?;
        match &self.state {
            TurnState::Stored { resume_at } => {
                let resume_at = resume_at.clone().after_iteration(ended, done)?;
                (self.totals.iterations, self.pending) = (next, None);
                Some(self.enter(TurnState::Stored { resume_at }, Effects::none()))
            }
            TurnState::Dispatch { iteration, phase: Phase::Closing { conclusion } }
                if *iteration == ended && is_done(conclusion.as_ref()) == done =>
            {
                let conclusion = conclusion.clone();
                self.totals.iterations = next;
                let close = Effect::CloseIteration;
                if let Some(conclusion) = conclusion {
                    return Some(self.end_dispatch(close.into(), conclusion));
                }
                let effects = [close, Effect::CheckIteration].into();
                let phase = Phase::Checking { step: None };
                Some(self.enter(TurnState::Dispatch { iteration: next, phase }, effects))
            }
            _ => None,
        }
    }

    fn end_dispatch(&mut self, mut effects: Effects, conclusion: Conclusion) -> Effects {
        effects.push(Effect::CloseDispatch { conclusion: Arc::new(conclusion.clone()) });
        if conclusion.is_completed() {
            effects.push(Effect::RunStage(Stage::TurnOutput));
            return self.enter(TurnState::Output, effects);
        }
        self.end_with(effects, conclusion)
    }

    fn interrupt(&mut self, interruption: Interruption) -> Transition {
        let conclusion = Conclusion::from(interruption);
        match &self.state {
            TurnState::Opening { .. } | TurnState::Input { .. } | TurnState::Output => {
                let report = conclusion.error.clone().map(Effect::ReportError);
                Some(self.end_with(report.into_iter().collect(), conclusion))
            }
            TurnState::Dispatch { iteration, phase } => match phase {
                Phase::Checking { .. } | Phase::Opening { .. } => {
                    Some(self.end_dispatch(Effects::none(), conclusion))
                }
                Phase::Input
                | Phase::Asking
                | Phase::Storing { .. }
                | Phase::Calls { .. }
                | Phase::Output => {
                    let iteration = *iteration;
                    if conclusion.is_final {
                        return Some(self.close_iteration(iteration, Some(conclusion)));
                    }
                    // The iteration goes on when the turn is resumed: its end is not journaled.
                    let effects = Effects::from(Effect::CloseIteration);
                    Some(self.end_dispatch(effects, conclusion))
                }
                Phase::Completing | Phase::Signalling | Phase::Closing { .. } => None,
            },
            _ => None,
        }
    }

    /// Ends the turn, or only this attempt to run it if another one may get further.
    fn end_with(&mut self, mut effects: Effects, conclusion: Conclusion) -> Effects {
        // What was cancelled because of the working time has reached a limit.
        let conclusion = match conclusion.outcome {
            TurnOutcome::Cancelled { .. } if self.wall_time_reached => Limit::WallTime.into(),
            _ => conclusion,
        };
        if !conclusion.is_final {
            return self.suspend_with(effects, conclusion);
        }
        let conclusion = Arc::new(conclusion);
        let (stored, totals) = (Arc::clone(&conclusion), Box::new(self.totals));
        effects.push(Effect::StoreEnd { conclusion: stored, totals });
        self.enter(TurnState::Ending { conclusion }, effects)
    }

    fn take_end(&mut self, conclusion: Conclusion, totals: TurnTotals) -> Transition {
        let conclusion = Arc::new(conclusion);
        let mut effects = match &self.state {
            TurnState::Stored { .. } => {
                (self.totals, self.pending) = (totals, None);
                return Some(self.enter(TurnState::Ended { conclusion }, Effects::none()));
            }
            TurnState::Dispatch { phase: Phase::Completing, .. } => Effects::from([
                Effect::Acknowledge,
                Effect::CloseIteration,
                Effect::CloseDispatch { conclusion: Arc::clone(&conclusion) },
                Effect::FlushDeferred,
            ]),
            TurnState::Ending { .. } => Effects::none(),
            _ => return None,
        };
        self.totals = totals;
        effects.push(Effect::ReleaseLease);
        effects.push(Effect::AnnounceEnd { conclusion: Arc::clone(&conclusion) });
        Some(self.enter(TurnState::Ended { conclusion }, effects))
    }

    pub(super) fn suspend_with(&mut self, mut effects: Effects, conclusion: Conclusion) -> Effects {
        let conclusion = Arc::new(conclusion);
        effects.push(Effect::ReleaseLease);
        effects.push(Effect::AnnounceEnd { conclusion: Arc::clone(&conclusion) });
        self.enter(TurnState::Suspended { conclusion }, effects)
    }

    fn enter(&mut self, state: TurnState, effects: Effects) -> Effects {
        self.state = state;
        effects
    }

    fn enter_phase(&mut self, iteration: u32, phase: Phase, effect: Effect) -> Effects {
        self.enter(TurnState::Dispatch { iteration, phase }, effect.into())
    }
}

/// The signal that a dispatch gets once output middleware has run, or `None` if another iteration follows.
fn wanted_signal(next: NextAction) -> Option<Signal> {
    match next {
        NextAction::Done => Some(Signal::Ack),
        NextAction::Fail(error) => Some(Signal::Nack { error }),
        _ => None,
    }
}

/// Whether an iteration that ends like this ends a dispatch that was acknowledged.
fn is_done(conclusion: Option<&Conclusion>) -> bool {
    conclusion.is_some_and(Conclusion::is_completed)
}
