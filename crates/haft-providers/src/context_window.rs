//! Whether a prompt fits into the context window, and what is left out if it does not.
//!
//! The prompt is measured as it is sent, part by part. What is left out follows from the records alone, in this order:
//! plain thoughts of earlier iterations; results that the model has read already become handles, oldest first; retrieved
//! records, the lowest score first; memories, the least important first; then the oldest exchanges, each as a whole. The
//! last message of the user and everything after it stay. Every step is reported.
//!
//! What was left out once stays out for the rest of the turn, and a turn that has to leave out more does so with a margin:
//! the beginning of its requests changes rarely, and prompt caches hold.

mod shedding;
mod stored_omissions;
mod token_counter;

use std::collections::BTreeMap;

use haft_core::media::MediaKind;
use haft_core::tokens::{Certainty, TokenError};
use serde_json::{Value, json};

pub(crate) use self::shedding::{ContextShedder, exchange_starts};
pub(crate) use self::stored_omissions::StoredOmissions;
pub(crate) use self::token_counter::{TokenCache, TokenCounter};
use crate::prompt::{
    AssistantEntry, AssistantThought, ContentPart, OfferedTool, Prompt, PromptEntry, PromptSection,
};

/// Tokens that a message costs in addition to its text.
const PER_ENTRY: u64 = 4;

/// The estimate for an image of any size: what providers charge for a large one.
const PER_IMAGE: u64 = 1_600;

/// The size of a prompt in tokens, by section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromptSize {
    /// The sum.
    pub(crate) total: u64,
    /// By section.
    pub(crate) per_section: BTreeMap<PromptSection, u64>,
    /// How exact the numbers are.
    pub(crate) certainty: Certainty,
    /// By entry of the timeline.
    pub(crate) per_entry: Vec<u64>,
}

impl PromptSize {
    /// Counts the tokens of a prompt.
    ///
    /// # Errors
    ///
    /// There is no counter of that name, or it failed.
    pub(crate) fn measure(prompt: &Prompt, counter: TokenCounter<'_>) -> Result<Self, TokenError> {
        let mut meter = TokenMeter { counter, certainty: Certainty::Exact };
        let mut per_section = BTreeMap::new();
        let mut add = |section, tokens| *per_section.entry(section).or_insert(0) += tokens;
        for part in prompt.system.iter().chain(&prompt.trailing) {
            add(part.section, meter.count_text(part.text.as_str())?);
        }
        let mut per_entry = Vec::with_capacity(prompt.timeline.len());
        for entry in &prompt.timeline {
            let tokens = meter.count_entry(entry)? + PER_ENTRY;
            per_entry.push(tokens);
            add(PromptSection::Timeline, tokens);
        }
        for tool in &prompt.tools {
            add(PromptSection::Tools, meter.count_tool(tool)?);
        }
        let certainty = meter.certainty;
        Ok(Self { total: per_section.values().sum(), per_section, certainty, per_entry })
    }

    /// The numbers for an event.
    pub(crate) fn report(&self, limit: u64, encoding: &str) -> Value {
        let of = |section| self.per_section.get(&section).copied().unwrap_or(0);
        json!({
            "total": self.total, "limit": limit, "encoding": encoding,
            "exact": self.certainty == Certainty::Exact,
            "perBucket": {
                "systemPrompt": of(PromptSection::SystemPrompt),
                "standingInstructions": of(PromptSection::StandingInstructions),
                "memories": of(PromptSection::Memories),
                "retrievables": of(PromptSection::Retrievables),
                "timeline": of(PromptSection::Timeline),
                "tools": of(PromptSection::Tools),
            },
        })
    }
}

struct TokenMeter<'e> {
    counter: TokenCounter<'e>,
    certainty: Certainty,
}

impl TokenMeter<'_> {
    fn count_text(&mut self, text: &str) -> Result<u64, TokenError> {
        let count = self.counter.count(text)?;
        self.certainty = self.certainty.min(count.certainty);
        Ok(count.tokens)
    }

    fn count_entry(&mut self, entry: &PromptEntry) -> Result<u64, TokenError> {
        match entry {
            PromptEntry::User(user) => self.count_content(&user.content),
            PromptEntry::Assistant(entry) => self.count_assistant(entry),
            PromptEntry::ToolResults(results) => {
                let each = results
                    .iter()
                    .map(|result| Ok(self.count_content(&result.content)? + PER_ENTRY));
                each.sum()
            }
        }
    }

    fn count_assistant(&mut self, entry: &AssistantEntry) -> Result<u64, TokenError> {
        let mut all = self.count_content(&entry.content)?;
        for thought in &entry.thoughts {
            all += match thought {
                AssistantThought::Text(text) => self.count_text(text.as_str())?,
                AssistantThought::Opaque(payload) => self.count_text(&payload.to_string())?,
            };
        }
        for call in &entry.calls {
            all += self.count_text(&call.wire_name)?
                + self.count_text(&call.args.to_json())?
                + PER_ENTRY;
        }
        Ok(all)
    }

    fn count_content(&mut self, content: &[ContentPart]) -> Result<u64, TokenError> {
        let mut all = 0;
        for content in content {
            all += match content {
                ContentPart::Text(text) => self.count_text(text.as_str())?,
                ContentPart::Media(media) => {
                    let frame = self.count_text(media.frame.open.as_str())?
                        + self.count_text(media.frame.close.as_str())?;
                    let base64 = media.base64.len() as u64;
                    frame + if media.kind == MediaKind::Image { PER_IMAGE } else { base64 / 4 }
                }
            };
        }
        Ok(all)
    }

    fn count_tool(&mut self, offered: &OfferedTool) -> Result<u64, TokenError> {
        let tool = &offered.tool;
        let name = &offered.wire_name;
        let schema = self.count_text(tool.input_schema().json_schema_text())?;
        Ok(schema + self.count_text(tool.description())? + self.count_text(name)? + PER_ENTRY)
    }
}
