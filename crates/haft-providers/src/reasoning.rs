//! Reasoning that models write into their text, between tags.
//!
//! Most servers return reasoning in a separate field. Gateways that do not know the template of a model leave it in the
//! text. [`ReasoningFormat::split`] removes it from a whole text, and [`ReasoningFilter`] separates it while the text
//! arrives.
//!
//! ```
//! use haft_providers::internals::ReasoningFormat;
//!
//! let split = ReasoningFormat::Auto.split("<think>It is a capital.</think>\n\nParis.");
//! assert_eq!(split.reasoning.as_deref(), Some("It is a capital."));
//! assert_eq!(split.text, "Paris.");
//! ```
//!
//! Tokens that mark the turns of a conversation do not belong in a response; [`strip_special_tokens`] removes those
//! that a server passed on. Call it first.

mod filter;
mod special_tokens;
mod tags;

#[cfg(test)]
mod tests;

use haft_core::invariant::OrReport as _;
use serde::{Deserialize, Serialize};

pub use self::filter::{ReasoningFilter, ReasoningPiece};
pub use self::special_tokens::strip_special_tokens;
use self::tags::{ALL, GEMMA, HARMONY, THINK, Tag, TagPair, next_tag};
use crate::text_calls::CollapsedText;

/// How a model marks its reasoning.
///
/// The names in configuration are `auto`, `think_tag`, `harmony_analysis` and `gemma_channel`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReasoningFormat {
    /// The first of the others that finds something, in their order here.
    #[default]
    Auto,
    /// `<think>` to `</think>`, and `<thinking>` to `</thinking>`.
    ThinkTag,
    /// `<|channel|>analysis<|message|>` to `<|end|>`.
    HarmonyAnalysis,
    /// `<|channel>thought` to `<channel|>`.
    GemmaChannel,
}

/// What to do with a tag whose other half is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnpairedTags {
    /// Text before a closing tag, back to the previous tag or to the beginning, is reasoning, and so is all text after
    /// an opening tag. Templates often put the opening tag into the prompt, and outputs are sometimes truncated.
    #[default]
    Recover,
    /// It is text: only pairs count.
    Keep,
}

/// Reasoning and visible text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReasoningSplit {
    /// All reasoning, its parts trimmed and separated by empty lines, or `None` if there was none.
    pub reasoning: Option<String>,
    /// The remaining text: unchanged if there were no tags, otherwise trimmed, with at most two line breaks where
    /// something was removed.
    pub text: String,
}

impl ReasoningFormat {
    /// Removes the reasoning from a whole text, with [`UnpairedTags::Recover`].
    #[must_use]
    pub fn split(self, text: &str) -> ReasoningSplit {
        self.split_with(text, UnpairedTags::Recover)
    }

    /// Removes the reasoning from a whole text.
    #[must_use]
    pub fn split_with(self, text: &str, unpaired: UnpairedTags) -> ReasoningSplit {
        let split = match self {
            Self::Auto => {
                [THINK, HARMONY, GEMMA].into_iter().find_map(|it| split_by(text, it, unpaired))
            }
            _ => split_by(text, self.pairs(), unpaired),
        };
        split.unwrap_or_else(|| ReasoningSplit { reasoning: None, text: text.to_owned() })
    }

    fn pairs(self) -> &'static [TagPair] {
        match self {
            Self::Auto => ALL,
            Self::ThinkTag => THINK,
            Self::HarmonyAnalysis => HARMONY,
            Self::GemmaChannel => GEMMA,
        }
    }
}

/// Returns `None` if there is nothing to remove.
fn split_by(text: &str, pairs: &[TagPair], unpaired: UnpairedTags) -> Option<ReasoningSplit> {
    let mut parts = SplitParts { text, ..SplitParts::default() };
    // Pairs whose closing tag does not occur any more.
    let mut endless: Vec<&str> = Vec::new();
    let mut at = 0;
    while let Some((start, tag)) = next_tag(text, at, pairs) {
        at = start + tag.text().len();
        match tag {
            Tag::Open(pair) => {
                let rest = text.get(at..).or_report_default(ORDERED_TAGS);
                let is_endless = endless.contains(&pair.close);
                let end = if is_endless { None } else { rest.find(pair.close) };
                match end.map(|it| at + it) {
                    Some(end) => {
                        parts.take(start, at, end);
                        at = end + pair.close.len();
                        parts.pass(at);
                    }
                    None if unpaired == UnpairedTags::Recover => {
                        parts.take(start, at, text.len());
                        parts.pass(text.len());
                        break;
                    }
                    None if is_endless => {}
                    None => endless.push(pair.close),
                }
            }
            Tag::Close(pair) => {
                let before = parts.text.get(parts.since..start).or_report_default(ORDERED_TAGS);
                if unpaired == UnpairedTags::Recover && !pair.is_other(before) {
                    parts.take(parts.since, parts.since, start);
                    parts.pass(at);
                }
                parts.since = at;
            }
        }
    }
    parts.finish()
}

#[derive(Default)]
struct SplitParts<'t> {
    text: &'t str,
    collapsed: CollapsedText,
    /// Text before has been kept or taken.
    done: usize,
    /// Behind the closing tag before, or the beginning.
    since: usize,
    reasoning: Vec<&'t str>,
    has_changed: bool,
}

impl<'t> SplitParts<'t> {
    /// Keeps the text up to `start`, and takes the reasoning from `from` to `to`.
    fn take(&mut self, start: usize, from: usize, to: usize) {
        self.collapsed.push(self.text.get(self.done..start).or_report_default(ORDERED_TAGS));
        self.collapsed.cut();
        self.reasoning.push(self.text.get(from..to).or_report_default(ORDERED_TAGS).trim());
        self.has_changed = true;
    }

    fn pass(&mut self, to: usize) {
        (self.done, self.since) = (to, to);
    }

    fn finish(mut self) -> Option<ReasoningSplit> {
        if !self.has_changed {
            return None;
        }
        self.collapsed.push(self.text.get(self.done..).or_report_default(ORDERED_TAGS));
        self.reasoning.retain(|it| !it.is_empty());
        let reasoning = (!self.reasoning.is_empty()).then(|| self.reasoning.join("\n\n"));
        Some(ReasoningSplit { reasoning, text: self.collapsed.text().trim().to_owned() })
    }
}

/// Tags are ASCII, and the search for the next one begins after the previous one.
const ORDERED_TAGS: &str = "tags begin and end at boundaries of characters, in order";
