//! Dispatch of one tool call: JSON text in, typed handler out.
//!
//! The floor is `serde_json::from_str::<T>` and a function call; a ratio is to that.

mod payload;
#[cfg(feature = "peers")]
mod peers;

#[cfg(feature = "peers")]
pub(crate) use self::peers::rig::rig_tool;
use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use haft::ToolArgs;
use serde::de::DeserializeOwned;

use crate::{
    Sink,
    measure::{self, Plan, UNIT, Variant},
    node::{self, Case, Outcome},
    ours,
    report::{Entry, FLOOR, OURS, Row},
};
pub(crate) use payload::{Forecast, Order};

/// A tool's arguments together with what its handler does with them.
pub(crate) trait Call: DeserializeOwned + ToolArgs + Send + 'static {
    /// The tool's name.
    const TOOL: &'static str;
    /// The arguments of the call.
    const TEXT: &'static str;
    /// Edits of [`Call::TEXT`] that a number as a string and a word in the wrong case come from.
    const NEAR_MISSES: Edits;
    /// Edits of [`Call::TEXT`] that a number out of bounds and an unknown word come from.
    const MISTAKES: Edits;
    /// The handler.
    fn handle(self) -> String;
}

/// What to replace, and by what.
pub(crate) type Edits = [(&'static str, &'static str); 2];

/// [`Call::TEXT`] with edits.
pub(crate) fn edited<T: Call>(edits: Edits) -> String {
    edits.iter().fold(T::TEXT.to_owned(), |text, (from, to)| text.replacen(from, to, 1))
}

/// Measures both payloads.
///
/// # Errors
///
/// When a variant gives a wrong answer or a row cannot be printed.
pub(crate) fn run(plan: Plan, print: Sink<'_>) -> Result<(), String> {
    let cases = [("small", Forecast::TEXT), ("large", Order::TEXT)]
        .map(|(name, it)| Case { name, text: it.to_owned() });
    let node = node::measure("dispatch", &cases, plan);
    print(&row::<Forecast>("small", &node, plan)?.aims([(OURS, 4.0)]))?;
    print(&row::<Order>("large", &node, plan)?.aims([(OURS, 2.4)]))
}

#[cfg(feature = "peers")]
trait Measured: Call + schemars::JsonSchema + Sync {}
#[cfg(feature = "peers")]
impl<T: Call + schemars::JsonSchema + Sync> Measured for T {}
#[cfg(not(feature = "peers"))]
trait Measured: Call {}
#[cfg(not(feature = "peers"))]
impl<T: Call> Measured for T {}

fn row<T: Measured>(size: &str, node: &[Outcome], plan: Plan) -> Result<Row, String> {
    crate::note(&format!("dispatch/{size}: {} bytes", T::TEXT.len()));
    let expected = direct::<T>(T::TEXT)?;
    let floor = Variant::new(FLOOR, || direct::<T>(T::TEXT), flatten);
    let mut variants = vec![floor];
    variants.extend(ours::dispatch::<T>()?);
    #[cfg(feature = "peers")]
    variants.extend(peers::variants::<T>(T::TEXT)?);

    let figures = measure::compare(&expected, variants, plan)?;
    let mut entries: Vec<Entry> = figures.iter().map(Entry::from).collect();
    entries.extend(node_entry(node, size, &expected, entries.first())?);
    Ok(Row { name: format!("dispatch/{size}"), unit: UNIT, entries })
}

/// Polls once: what is not ready then is an error. No runtime is measured.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> Result<T, String> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(it) => Ok(it),
        Poll::Pending => Err("the future is not ready at once".to_owned()),
    }
}

fn direct<T: Call>(text: &str) -> Result<String, String> {
    serde_json::from_str::<T>(text).map(T::handle).map_err(|error| error.to_string())
}

/// The text to compare: an error never equals a right answer.
fn flatten(result: Result<String, String>) -> String {
    result.unwrap_or_else(|error| format!("error: {error}"))
}

/// The node row, once its answer is found to be the right one. It ran in a process of its own, so
/// that its ratio is one of medians.
///
/// # Errors
///
/// When node answered something else.
pub(crate) fn node_entry(
    outcomes: &[Outcome],
    case: &str,
    expected: &str,
    floor: Option<&Entry>,
) -> Result<Option<Entry>, String> {
    let Some(outcome) = outcomes.iter().find(|it| it.name == case) else { return Ok(None) };
    if outcome.answer != expected {
        let answer = &outcome.answer;
        return Err(format!("node answers `{answer}` where `{expected}` is expected"));
    }
    let ratio = floor.map(|floor| outcome.ns / floor.value);
    Ok(Some(Entry { name: node::NAME, value: outcome.ns, ratio }))
}
