//! Turns: from what the user says to what the assistant answers, with everything in between.
//!
//! A [`TurnRunner`] runs turns. A turn goes through its input pipeline, a dispatch, and its output pipeline.
//! The dispatch is a loop: in every iteration the [`Executor`](haft_core::step::Executor) takes a step, the
//! calls it asks for are made, and their results are there in the next iteration, until a step says that
//! it is done. Every step is written down before its effect, so that [`TurnRunner::resume`] goes on where a
//! process stopped.

mod calls;
mod garbage;
mod gates;
mod input;
mod journal;
mod lease;
mod limits;
mod live;
mod report;
mod runner;
mod timed;
mod watch;

pub use self::gates::{AnswerError, Gatekeeper};
pub use self::input::TurnInput;
pub use self::limits::{Deadlines, Limit, Limits};
pub use self::report::{Outcome, TurnError, TurnReport};
pub use self::runner::{InvalidRunner, TurnRunner, TurnRunnerBuilder};
