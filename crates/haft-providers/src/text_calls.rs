//! Calls that models write as text.
//!
//! A server that knows the template of its model returns calls as data. Other servers return the text that the model
//! wrote, and every family of models writes calls in its own way. [`TextCallFormat::parse`] reads the calls and returns
//! the text without them; [`TextCallFilter`] does so while the text still arrives, and holds back anything that could
//! be the beginning of a call.
//!
//! ```
//! use haft_providers::internals::TextCallFormat;
//!
//! let text = "Let me look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";
//! let parsed = TextCallFormat::Hermes.parse(text, &["weather"]);
//! assert_eq!(parsed.text, "Let me look.");
//! assert_eq!(parsed.calls[0].name, "weather");
//! assert_eq!(parsed.calls[0].arguments.to_value(), serde_json::json!({ "city": "Paris" }));
//! ```
//!
//! # What counts as a call
//!
//! - A text without a call is returned unchanged, byte for byte.
//! - Where calls are removed, at most two adjacent line breaks remain, and the text is trimmed.
//! - Markers are matched exactly, upper and lower case included. A candidate that is damaged or cut off is
//!   text, and the search goes on behind its marker. Only [`TextCallFormat::Gemma`] repairs, because its
//!   models drop closers as a habit; a call whose end is missing says so in [`TextCall::is_cut_off`].
//! - Names are not checked: whether a tool exists and may be used is decided where calls run. The forms
//!   that look like ordinary prose are the exception, and need an offered name: `NAME{...}` of
//!   [`TextCallFormat::Gemma`], [`TextCallFormat::BarePythonic`], [`TextCallFormat::LooseKeyed`].
//! - Inside a fenced code block nothing is a call, because a model that explains a format shows it there.
//!   A fence around the whole output is the exception: it is read as if it were not there.
//! - Arguments that are no object become `{}`; a string that holds an object is read as that object.
//! - The work is linear in the length of the text, whatever the text is.

mod bare_pythonic;
mod collapsed;
mod cursor;
mod fence;
mod filter;
mod gemma;
mod gpt_oss;
mod hermes;
mod json_call;
mod llama3_json;
mod loose_keyed;
mod mistral;
mod offered;
mod phi;
mod pythonic;
mod qwen3_coder;
mod scan;

#[cfg(test)]
mod tests;

use haft_core::args::RawArgs;
use haft_core::invariant::OrReport as _;
use serde::{Deserialize, Serialize};

pub(crate) use self::collapsed::CollapsedText;
use self::fence::LeadingFence;
pub use self::filter::TextCallFilter;
use self::offered::OfferedNames;
pub(crate) use self::scan::partial_marker_len;
use self::scan::{CallSpan, Grammar};

/// How a model writes calls into its text.
///
/// The names in configuration are those of [serde](Serialize): `auto`, `hermes`, `gpt_oss` and so on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TextCallFormat {
    /// The first of the others that finds a call, in this order: hermes, gemma, gpt_oss, phi, pythonic,
    /// bare_pythonic, llama3_json, mistral, qwen3_coder, loose_keyed.
    #[default]
    Auto,
    /// `<tool_call>{"name": "f", "arguments": {}}</tool_call>`, any number of times, prose around them.
    Hermes,
    /// `<|tool_call>call:f{a:1}<tool_call|>`; else `call:f{a:1}`; else `f{a:1}` for offered names.
    ///
    /// Keys and values may be unquoted, quotes of any kind and number, `=` may stand for `:`, and closers
    /// may be missing.
    Gemma,
    /// `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>`.
    GptOss,
    /// The whole output is `[f(a=1), g()]`; keyword arguments only.
    Pythonic,
    /// `f(a=1)` anywhere, for offered names.
    BarePythonic,
    /// The first line is an offered name, and all others are `key: value`.
    LooseKeyed,
    /// The whole output is one or more objects `{"name": "f", "parameters": {}}`.
    Llama3Json,
    /// `[TOOL_CALLS]` and a list of objects with `name` and `arguments`.
    Mistral,
    /// `<tool_call><function=f><parameter=a>1</parameter></function></tool_call>`; values are trimmed
    /// strings.
    Qwen3Coder,
    /// `functools` and a list of objects with `name` and `arguments`.
    Phi,
}

/// A call that was found in a text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TextCall {
    /// The tool, as the model named it.
    pub name: String,
    /// The arguments, always an object.
    pub arguments: RawArgs,
    /// The text ended inside the call, and the missing part was guessed. Only with [`TextCallFormat::Gemma`].
    pub is_cut_off: bool,
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

impl TextCallFormat {
    /// Every format that can be named.
    pub const ALL: [Self; 11] = [
        Self::Auto,
        Self::Hermes,
        Self::Gemma,
        Self::GptOss,
        Self::Pythonic,
        Self::BarePythonic,
        Self::LooseKeyed,
        Self::Llama3Json,
        Self::Mistral,
        Self::Qwen3Coder,
        Self::Phi,
    ];

    /// The calls of a whole output; `offered` are the names of the tools that the model was shown.
    #[must_use]
    pub fn parse(self, text: &str, offered: &[&str]) -> ParsedText {
        let leading = LeadingFence::of(text);
        let body = leading.whole_fence(text).unwrap_or(0..text.len());
        let inside =
            text.get(body.clone()).or_report_default("a fence around the output lies within it");
        let spans = self
            .grammars(&OfferedNames::new(offered))
            .into_iter()
            .map(|grammar| grammar.spans(inside))
            .find(|spans| !spans.is_empty());
        match spans {
            Some(spans) => cut_out(text, inside, body.start, spans),
            None => ParsedText { calls: Vec::new(), text: text.to_owned() },
        }
    }

    /// The ways in which calls are written in this format, the one to try first at the front.
    fn grammars(self, offered: &OfferedNames) -> Vec<Grammar> {
        match self {
            Self::Auto => AUTO.into_iter().flat_map(|it| it.grammars(offered)).collect(),
            Self::Hermes => vec![Grammar::inline(hermes::Hermes)],
            Self::Gemma => gemma::grammars(offered),
            Self::GptOss => vec![Grammar::inline(gpt_oss::GptOss)],
            Self::Pythonic => vec![Grammar::whole(pythonic::Pythonic)],
            Self::BarePythonic => {
                vec![Grammar::inline(bare_pythonic::BarePythonic::new(offered))]
            }
            Self::LooseKeyed => vec![Grammar::whole(loose_keyed::LooseKeyed::new(offered))],
            Self::Llama3Json => vec![Grammar::whole(llama3_json::Llama3Json::new(offered))],
            Self::Mistral => vec![Grammar::inline(mistral::Mistral)],
            Self::Qwen3Coder => vec![Grammar::inline(qwen3_coder::Qwen3Coder::default())],
            Self::Phi => vec![Grammar::inline(phi::Phi)],
        }
    }
}

impl TextCall {
    fn new(name: &str, arguments: RawArgs) -> Self {
        Self { name: name.to_owned(), arguments, is_cut_off: false }
    }
}

/// Removes what was found in `inside`, which is the part of `text` that begins at `offset`.
fn cut_out(text: &str, inside: &str, offset: usize, spans: Vec<CallSpan>) -> ParsedText {
    let mut rest = CollapsedText::default();
    let mut within = CollapsedText::default();
    let mut at = 0;
    for span in &spans {
        within.push(inside.get(at..span.start).or_report_default(ORDERED_SPANS));
        within.cut();
        at = span.end;
    }
    within.push(inside.get(at..).or_report_default(ORDERED_SPANS));
    // A fence around nothing but calls goes with them.
    if !within.text().trim().is_empty() {
        let around = text.get(..offset).zip(text.get(offset + inside.len()..));
        let (before, behind) = around.or_report_default("`inside` is a part of `text`");
        rest.push(before);
        rest.push(within.text());
        rest.push(behind);
    }
    ParsedText {
        calls: spans.into_iter().flat_map(|it| it.calls).collect(),
        text: rest.text().trim().to_owned(),
    }
}

/// A scan continues after the calls that it has found.
const ORDERED_SPANS: &str = "calls lie at boundaries of characters, in order";

/// What [`TextCallFormat::Auto`] tries, in this order.
const AUTO: [TextCallFormat; 10] = [
    TextCallFormat::Hermes,
    TextCallFormat::Gemma,
    TextCallFormat::GptOss,
    TextCallFormat::Phi,
    TextCallFormat::Pythonic,
    TextCallFormat::BarePythonic,
    TextCallFormat::Llama3Json,
    TextCallFormat::Mistral,
    TextCallFormat::Qwen3Coder,
    TextCallFormat::LooseKeyed,
];
