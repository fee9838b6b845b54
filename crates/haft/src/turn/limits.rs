//! The limits of a turn, and the deadlines within it.

#[cfg(test)]
mod tests;

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use haft_core::usage::Usage;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::prices::CostLimit;

/// A limit that ended a turn. It is stored and displayed by its name, such as `wall-time`.
///
/// ```
/// use haft::turn::Limit;
///
/// assert_eq!(Limit::from("wall-time"), Limit::WallTime);
/// assert_eq!(Limit::ToolCalls.to_string(), "tool-calls");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::iterations`].
    Iterations,
    /// [`Limits::identical_calls`].
    IdenticalCalls,
    /// [`Limits::tool_calls`].
    ToolCalls,
    /// [`Limits::tokens`].
    Tokens,
    /// [`Limits::cost`].
    Cost,
    /// [`Limits::wall_time`].
    WallTime,
    /// A limit that a newer version of the program stored.
    Other(Arc<str>),
}

impl Limit {
    /// The name under which the limit is stored and displayed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Iterations => "iterations",
            Self::IdenticalCalls => "identical-calls",
            Self::ToolCalls => "tool-calls",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::WallTime => "wall-time",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for Limit {
    fn from(word: &str) -> Self {
        let known = [
            Self::Iterations,
            Self::IdenticalCalls,
            Self::ToolCalls,
            Self::Tokens,
            Self::Cost,
            Self::WallTime,
        ];
        known.into_iter().find(|it| it.as_str() == word).unwrap_or_else(|| Self::Other(word.into()))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Ok(Self::from(word.as_str()))
    }
}

/// The resources that one turn may use. Every limit has a safe default; a turn that reaches one ends, and its records
/// stay stored.
///
/// ```
/// use haft::executors::{Step, StepContext, StepError};
/// use haft::turn::{Limit, Limits, TurnOutcome};
/// use haft::Agent;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let executor = async |_: StepContext| Ok::<_, StepError>(Step::new());
/// let limits = Limits::new().iterations(3).tokens(Some(10_000));
/// let agent = Agent::builder(executor).limits(limits).build()?;
/// let report = agent.turn([]).system("Never stop.").report().await?;
/// assert_eq!(report.outcome, TurnOutcome::LimitReached { limit: Limit::Iterations });
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How many iterations: 50.
    pub iterations: u32,
    /// How often the same call may be made, arguments included: 5.
    pub identical_calls: u32,
    /// How many calls: 500.
    pub tool_calls: u32,
    /// How many tokens, as executors count them: unlimited.
    pub tokens: Option<u64>,
    /// How much it may cost: unlimited. All tokens of the turn are counted by the same prices, and tokens that no
    /// executor reports cost nothing. The step that reaches the limit is the last one.
    pub cost: Option<CostLimit>,
    /// How long it may work: an hour. Time spent at gates does not count. A turn that is resumed has this time again: the
    /// limit bounds each attempt to run the turn, and [`iterations`](Self::iterations) bounds the turn.
    pub wall_time: Duration,
    /// How many calls of one step run in parallel: 8.
    pub fan_out: NonZeroUsize,
    /// How often [`Agent::run_next`](super::Agent::run_next) takes a turn over from a process that died, without
    /// a step or a call in between: 5. A turn that has killed more processes ends as failed.
    pub take_overs: u32,
}

impl Limits {
    /// The limit that a turn has come to before an iteration.
    pub(super) fn before_iteration(
        &self,
        iteration: u32,
        spent: Usage,
        is_late: bool,
    ) -> Option<Limit> {
        if iteration >= self.iterations {
            Some(Limit::Iterations)
        } else if self.tokens.is_some_and(|limit| spent.total >= limit) {
            Some(Limit::Tokens)
        } else if self.cost.is_some_and(|limit| limit.is_reached(spent)) {
            Some(Limit::Cost)
        } else {
            is_late.then_some(Limit::WallTime)
        }
    }

    /// The limit that a turn with so many calls exceeds, one of which is made so often.
    pub(super) fn of_calls(&self, calls_made: usize, most_repeated: u32) -> Option<Limit> {
        if calls_made as u64 > u64::from(self.tool_calls) {
            Some(Limit::ToolCalls)
        } else {
            (most_repeated > self.identical_calls).then_some(Limit::IdenticalCalls)
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            iterations: 50,
            identical_calls: 5,
            tool_calls: 500,
            tokens: None,
            cost: None,
            wall_time: Duration::from_secs(3600),
            fan_out: NonZeroUsize::MIN.saturating_add(7),
            take_overs: 5,
        }
    }
}

/// How long single operations may take.
///
/// ```
/// use std::time::Duration;
/// use haft::turn::Deadlines;
///
/// let deadlines = Deadlines::new().call(Duration::from_secs(5));
/// assert_eq!(deadlines.call, Duration::from_secs(5));
/// assert_eq!(deadlines.lease, Duration::from_secs(30));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlines {
    /// A step of the executor: ten minutes.
    pub step: Duration,
    /// A call, unless its tool sets its own: two minutes. Time spent at gates does not count.
    pub call: Duration,
    /// A pipeline: two minutes, not counting gates.
    pub pipeline: Duration,
    /// An operation of the store: thirty seconds.
    pub store: Duration,
    /// How long cancelled work may take to end by itself: one second.
    pub grace: Duration,
    /// How long a lease on a turn is valid unless it is renewed: thirty seconds. After a crash, another process can
    /// resume the turn once the lease has expired.
    pub lease: Duration,
    /// How often the store is polled for gates that another process settled, although it has reported none: every half
    /// second, or less often if the query takes long.
    pub gate_poll: Duration,
    /// How long workers wait before they resume a turn after a temporary failure, such as an outage of the provider:
    /// ten seconds.
    pub outage: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            step: Duration::from_secs(600),
            call: Duration::from_secs(120),
            pipeline: Duration::from_secs(120),
            store: Duration::from_secs(30),
            grace: Duration::from_secs(1),
            lease: Duration::from_secs(30),
            gate_poll: Duration::from_millis(500),
            outage: Duration::from_secs(10),
        }
    }
}

macro_rules! settings {
    ($($type:ident { $($(#[$doc:meta])* $name:ident: $of:ty;)* })*) => {$(
        impl $type {
            /// The defaults.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(mut self, value: $of) -> Self {
                    self.$name = value;
                    self
                }
            )*
        }
    )*};
}

settings! {
    Limits {
        /// How many iterations.
        iterations: u32;
        /// How often the same call may be made.
        identical_calls: u32;
        /// How many calls.
        tool_calls: u32;
        /// How many tokens.
        tokens: Option<u64>;
        /// How much it may cost.
        cost: Option<CostLimit>;
        /// How long it may work.
        wall_time: Duration;
        /// How many calls of one step run at the same time.
        fan_out: NonZeroUsize;
        /// How often a turn is taken over from a process that died.
        take_overs: u32;
    }
    Deadlines {
        /// A step of the executor.
        step: Duration;
        /// A call.
        call: Duration;
        /// A pipeline.
        pipeline: Duration;
        /// An operation of the store.
        store: Duration;
        /// How long cancelled work may take to end.
        grace: Duration;
        /// How long a lease is valid.
        lease: Duration;
        /// How often the store is polled for settled gates.
        gate_poll: Duration;
        /// How long workers wait before they resume a turn after a temporary failure.
        outage: Duration;
    }
}
