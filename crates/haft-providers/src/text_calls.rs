//! Calls that models write as text.
//!
//! A server that knows the template of its model returns calls as data. Others leave what the model wrote in the text.
//! [`TextCallFilter`] takes calls out of a text that still arrives, and holds back anything that could be the beginning
//! of one; [`ParsedText::of`] does the same for a whole text.
//!
//! ```
//! use haft_providers::internals::ParsedText;
//!
//! let text = "Let me look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";
//! let parsed = ParsedText::of(text);
//! assert_eq!(parsed.text, "Let me look.");
//! assert_eq!(parsed.calls[0].name, "weather");
//! assert_eq!(parsed.calls[0].arguments.to_value(), serde_json::json!({ "city": "Paris" }));
//! ```
//!
//! # What counts as a call
//!
//! Four forms are read. Each begins with a marker that no prose has, so that nobody has to say which one a model uses:
//!
//! | form | models |
//! |---|---|
//! | `<tool_call>{"name": "f", "arguments": {}}</tool_call>` | Hermes, Qwen, many that were trained after them |
//! | `<tool_call><function=f><parameter=a>1</parameter></function></tool_call>` | Qwen3-Coder |
//! | a `<\|tool_calls_section_begin\|>` | Kimi K2 |
//! | a `<｜DSML｜function_calls>` or `<｜DSML｜tool_calls>` | DeepSeek V3.2 and later |
//!
//! - A text without a call is returned unchanged, byte for byte.
//! - Where calls are removed, at most two adjacent line breaks remain, and the text is trimmed.
//! - Markers are matched exactly, upper and lower case included. A candidate that is damaged or cut off is
//!   text, and the search goes on behind its marker.
//! - Names are not checked: whether a tool exists and may be used is decided where calls run.
//! - Inside a fenced code block nothing is a call, because a model that explains a form shows it there.
//! - Arguments that are no object become `{}`; a string that holds an object is read as that object.
//! - The work is linear in the length of the text, whatever the text is.

mod collapsed;
mod cursor;
mod deepseek;
mod fence;
mod filter;
mod json_call;
mod kimi_k2;
mod qwen3_coder;
mod scan;
mod value_ends;

#[cfg(test)]
mod tests;

use haft_core::args::RawArgs;
use haft_core::invariant::OrReport as _;

use self::collapsed::CollapsedText;
pub use self::filter::TextCallFilter;
pub(crate) use self::scan::partial_marker_len;
use self::scan::{CallScan, CallSpan, Input};

/// A call that was found in a text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TextCall {
    /// The tool, as the model named it.
    pub name: String,
    /// The arguments, always an object.
    pub arguments: RawArgs,
}

/// The text of an output, and the calls in it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ParsedText {
    /// The calls in the order of the text.
    pub calls: Vec<TextCall>,
    /// The text without them.
    pub text: String,
}

impl ParsedText {
    /// The calls of a whole output, and its text without them.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut scan = CallScan::default();
        scan.run(text, Input::Whole);
        Self::without(text, scan.spans)
    }

    /// The text without the calls that were found in it.
    fn without(text: &str, spans: Vec<CallSpan>) -> Self {
        if spans.is_empty() {
            return Self { calls: Vec::new(), text: text.to_owned() };
        }
        let mut rest = CollapsedText::default();
        let mut at = 0;
        for span in &spans {
            rest.push(text.get(at..span.start).or_report_default(ORDERED_SPANS));
            rest.cut();
            at = span.end;
        }
        rest.push(text.get(at..).or_report_default(ORDERED_SPANS));
        Self {
            calls: spans.into_iter().flat_map(|it| it.calls).collect(),
            text: rest.text().trim().to_owned(),
        }
    }
}

impl TextCall {
    fn new(name: &str, arguments: RawArgs) -> Self {
        Self { name: name.to_owned(), arguments }
    }
}

/// A scan continues after the calls that it has found.
const ORDERED_SPANS: &str = "calls lie at boundaries of characters, in order";
