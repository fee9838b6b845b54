//! Turns: everything from the input of the user to the reply of the assistant.
//!
//! A [`Agent`] runs turns. A turn goes through its input pipeline, a dispatch, and its output pipeline. The
//! dispatch is a loop: in every iteration the [`DispatchExecutor`](haft_core::step::DispatchExecutor) takes a step, the
//! tool calls of the step are executed, and the next iteration sees their results, until a step ends the dispatch.
//! Every step is journaled before its effects, so that [`Agent::resume`] continues where a process stopped.
//!
//! Internally, `driver` runs a turn, in the order that `driver/order` says, and `log` knows where the turn stands.

mod agent;
mod answers;
mod calls;
mod cancellable;
mod deadline;
mod driver;
mod earlier_turns;
mod envelopes;
mod follower;
mod garbage;
mod gates;
mod history;
mod input;
mod journal;
mod lease;
mod limits;
mod log;
mod prices;
mod query_tools;
mod recorder;
mod rendering;
mod report;
mod request;
mod running;
mod seed;
mod shared_turn;
mod spans;
mod stopped;
mod stored_turns;
mod task;
mod timed;
mod turn_record;

#[doc(inline)]
pub use haft_core::answer::{AcceptedAnswer, AnswerError, AnswerFormat, InvalidAnswerFormat};
#[doc(inline)]
pub use haft_core::cancel::{CancelReason, Cancellation, CancelledFuture};
#[doc(inline)]
pub use haft_core::clock::{
    Clock, ClockReading, InvalidTimestamp, ManualClock, SystemClock, Timestamp,
};
#[doc(inline)]
pub use haft_core::context::{
    AckSubscription, DispatchContext, DispatchContextBuilder, EarlierRecord, EarlierTurn, Gates,
    HistoryError, HistoryReader, HydratedRange, HydratedTurn, Hydration, Instruction, RecordError,
    RecordWriter, RemovedRecord, Signal, SignalError, ToolSource, TurnContext, UnknownMedia,
};
#[doc(inline)]
pub use haft_core::gate::{
    ApprovalStore, BoundCall, Gate, GateDecision, GateError, GateKey, GateRequest, GateSettlement,
    GateSignature, Grant, GrantId, GrantRefusal, GrantRow, GrantScope, GrantSubject, InvalidEdit,
    InvalidGate, InvalidSignature, Spending, StandingApproval,
};
#[doc(inline)]
pub use haft_core::stash::{Stash, StashError, StashPath};

pub use self::agent::{Agent, AgentBuilder, InvalidAgent};
pub(crate) use self::cancellable::run_cancellable;
#[cfg(feature = "tokio-util")]
pub use self::cancellable::with_cancellation_token;
pub use self::follower::TurnFollower;
pub use self::garbage::{GarbageOptions, GarbageReport};
pub use self::gates::{
    Approver, GatePolicy, Gatekeeper, IntoGateDecision, ListedGrant, SettleError,
};
pub use self::history::{AttemptEnd, SentRequest, StepHistory, TurnEnd, TurnHistory, TurnTime};
pub use self::input::TurnMessages;
pub use self::limits::{Deadlines, Limit, Limits};
pub use self::prices::{CostLimit, PriceTable, TokenPrices};
pub(crate) use self::rendering::OpenedTurn;
pub use self::rendering::{RenderedRequest, TurnArtifact};
pub use self::report::{TurnError, TurnOutcome, TurnReport};
pub use self::request::Turn;
pub use self::running::RunningTurn;
pub use self::stopped::TurnStopped;
pub use self::stored_turns::StoredTurns;
pub(crate) use self::timed::TimedStore;
pub use self::turn_record::TurnRecord;
