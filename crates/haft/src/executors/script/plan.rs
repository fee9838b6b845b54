//! What a script is going to call, known before it runs.

use std::collections::BTreeSet;

use haft_core::args::RawArgs;

use super::expect::ExpectedEnding;
use super::template::PlaceholderValues;
use super::{Script, ScriptCall};

/// A call that a script makes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlannedCall<'s> {
    /// The number of its step, counted from one.
    pub step: usize,
    /// The tool.
    pub tool: &'s str,
    /// The arguments, or `None` if they have placeholders, which are filled when the script runs.
    pub args: Option<RawArgs>,
    /// Line and column of the call, counted from one, or `None` where no text is known.
    pub place: Option<(usize, usize)>,
    /// Whether the script expects a call of this tool to fail.
    pub may_fail: bool,
}

impl Script {
    /// Every call that it makes, in its order.
    ///
    /// ```
    /// let script = haft::executors::Script::parse(
    ///     r#"{"steps": [
    ///         {"call": {"get": {"id": 7}}},
    ///         {"expect": {"get": {"error": true}}, "call": {"show": {"text": "{{ last.get }}"}}},
    ///         {"say": "Done."}
    ///     ]}"#,
    /// )?;
    /// let [get, show] = script.calls().collect::<Vec<_>>().try_into().unwrap();
    /// assert_eq!((get.step, get.tool, get.may_fail), (1, "get", true));
    /// assert_eq!(get.args.unwrap().to_text(), r#"{"id":7}"#);
    /// assert_eq!((show.step, show.tool, show.may_fail), (2, "show", false));
    /// assert!(show.args.is_none());
    /// # Ok::<(), haft::executors::InvalidScript>(())
    /// ```
    pub fn calls(&self) -> impl Iterator<Item = PlannedCall<'_>> {
        (1..).zip(&self.steps).flat_map(move |(step, it)| {
            it.call.iter().map(move |call| PlannedCall {
                step,
                tool: &call.tool,
                args: call.known_args(),
                place: call.place,
                may_fail: self.expects_failure_of(&call.tool),
            })
        })
    }

    fn expects_failure_of(&self, tool: &str) -> bool {
        let mut expected = self.steps.iter().flat_map(|step| &step.expect);
        expected.any(|it| it.tool == tool && it.ends != ExpectedEnding::Well)
    }
}

impl ScriptCall {
    fn known_args(&self) -> Option<RawArgs> {
        let mut holes = BTreeSet::new();
        self.args.collect_placeholders(&mut holes);
        holes.is_empty().then(|| self.args.fill(&PlaceholderValues::new()))
    }
}
