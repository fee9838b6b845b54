//! Dispatch of one tool call: JSON text in, typed handler out.
//!
//! The floor is `serde_json::from_str::<T>` and a function call; a ratio is to that.

mod payload;
#[cfg(feature = "peers")]
mod peers;

use serde::de::DeserializeOwned;

use crate::{
    Sink,
    measure::{self, Plan, UNIT, Variant},
    node::{self, Case, Outcome},
    ours,
    report::{Entry, FLOOR, Row},
};
use payload::{Forecast, LARGE, Order, SMALL};

/// A tool's arguments together with what its handler does with them.
trait Call: DeserializeOwned + Send + 'static {
    /// The tool's name.
    #[cfg_attr(
        not(feature = "peers"),
        expect(dead_code, reason = "the floor calls the handler without a name")
    )]
    const TOOL: &'static str;
    /// The handler.
    fn handle(self) -> String;
}

/// Measures both payloads.
///
/// # Errors
///
/// When a variant gives a wrong answer or a row cannot be printed.
pub(crate) fn run(plan: Plan, print: Sink<'_>) -> Result<(), String> {
    let cases =
        [("small", SMALL), ("large", LARGE)].map(|(name, it)| Case { name, text: it.to_owned() });
    let node = node::measure("dispatch", &cases, plan);
    print(row::<Forecast>("small", SMALL, ours::dispatch_small(SMALL), &node, plan)?)?;
    print(row::<Order>("large", LARGE, ours::dispatch_large(LARGE), &node, plan)?)
}

#[cfg(feature = "peers")]
trait Measured: Call + schemars::JsonSchema + Sync {}
#[cfg(feature = "peers")]
impl<T: Call + schemars::JsonSchema + Sync> Measured for T {}
#[cfg(not(feature = "peers"))]
trait Measured: Call {}
#[cfg(not(feature = "peers"))]
impl<T: Call> Measured for T {}

fn row<T: Measured>(
    size: &str,
    text: &'static str,
    ours: Option<Variant>,
    node: &[Outcome],
    plan: Plan,
) -> Result<Row, String> {
    crate::note(&format!("dispatch/{size}: {} bytes", text.len()));
    let expected = direct::<T>(text)?;
    let floor = Variant::new(FLOOR, move || direct::<T>(text), flatten);
    let mut variants = vec![floor];
    variants.extend(ours);
    #[cfg(feature = "peers")]
    variants.extend(peers::variants::<T>(text)?);

    let figures = measure::compare(&expected, variants, plan)?;
    let mut entries: Vec<Entry> = figures.iter().map(Entry::from).collect();
    entries.extend(node_entry(node, size, &expected, entries.first())?);
    Ok(Row { name: format!("dispatch/{size}"), unit: UNIT, entries })
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
