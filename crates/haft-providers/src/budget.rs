//! Whether a prompt fits, and what is left out if it does not.
//!
//! What is measured is the prompt as it is sent, part by part. What is left out follows from the records alone, in this
//! order: plain thoughts of earlier iterations go; results that the model has read already become handles, oldest first;
//! retrieved records go, the lowest score first; memories, the least important first; then the oldest exchanges, as whole
//! ones. The last message of the user and what came after it stay. Whatever is
//! done is reported.

mod shed;

use std::collections::BTreeMap;

use haft_core::media::MediaKind;
use haft_core::tokens::{Certainty, Estimators, TokenError};
use serde_json::{Value, json};

pub(super) use self::shed::{Shedder, exchanges};
use super::prompt::{Bucket, Content, Entry, OfferedTool, Own, OwnThought, Prompt};

/// Tokens that a message costs beside its text.
const PER_ENTRY: u64 = 4;

/// Tokens that an image is taken to cost, whatever its size: what providers charge for a large one.
const PER_IMAGE: u64 = 1_600;

/// How many tokens a prompt has, part by part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measured {
    /// All of them.
    pub total: u64,
    /// By where they come from.
    pub per_bucket: BTreeMap<Bucket, u64>,
    /// How sure the numbers are.
    pub certainty: Certainty,
}

impl Measured {
    /// Counts the tokens of a prompt.
    ///
    /// # Errors
    ///
    /// Nothing counts under that name, or the counter failed.
    pub fn of(
        prompt: &Prompt,
        estimators: &Estimators,
        encoding: &str,
    ) -> Result<Self, TokenError> {
        let mut scale = Scale { estimators, encoding, certainty: Certainty::Exact };
        let mut per_bucket = BTreeMap::new();
        let mut add = |bucket, tokens| *per_bucket.entry(bucket).or_insert(0) += tokens;
        for part in prompt.system.iter().chain(&prompt.trailing) {
            add(part.bucket, scale.text(part.text.as_str())?);
        }
        for entry in &prompt.timeline {
            add(Bucket::Timeline, scale.entry(entry)? + PER_ENTRY);
        }
        for tool in &prompt.tools {
            add(Bucket::Tools, scale.tool(tool)?);
        }
        let certainty = scale.certainty;
        Ok(Self { total: per_bucket.values().sum(), per_bucket, certainty })
    }

    /// The numbers for an event.
    pub(super) fn report(&self, limit: u64, encoding: &str) -> Value {
        let of = |bucket| self.per_bucket.get(&bucket).copied().unwrap_or(0);
        json!({
            "total": self.total, "limit": limit, "encoding": encoding,
            "exact": self.certainty == Certainty::Exact,
            "perBucket": {
                "systemPrompt": of(Bucket::SystemPrompt),
                "standingInstructions": of(Bucket::StandingInstructions),
                "memories": of(Bucket::Memories),
                "retrievables": of(Bucket::Retrievables),
                "timeline": of(Bucket::Timeline),
                "tools": of(Bucket::Tools),
            },
        })
    }
}

struct Scale<'e> {
    estimators: &'e Estimators,
    encoding: &'e str,
    certainty: Certainty,
}

impl Scale<'_> {
    fn text(&mut self, text: &str) -> Result<u64, TokenError> {
        let count = self.estimators.count_or_estimate(self.encoding, text, |_| {})?;
        self.certainty = self.certainty.min(count.certainty);
        Ok(count.tokens)
    }

    fn entry(&mut self, entry: &Entry) -> Result<u64, TokenError> {
        match entry {
            Entry::Heard(heard) => self.content(&heard.content),
            Entry::Own(own) => self.own(own),
            Entry::Results(results) => {
                let each =
                    results.iter().map(|result| Ok(self.content(&result.content)? + PER_ENTRY));
                each.sum()
            }
        }
    }

    fn own(&mut self, own: &Own) -> Result<u64, TokenError> {
        let mut all = self.content(&own.content)?;
        for thought in &own.thoughts {
            all += match thought {
                OwnThought::Text(text) => self.text(text.as_str())?,
                OwnThought::Opaque(payload) => self.text(&payload.to_string())?,
            };
        }
        for call in &own.calls {
            all += self.text(&call.wire_name)? + self.text(&call.args.to_json())? + PER_ENTRY;
        }
        Ok(all)
    }

    fn content(&mut self, content: &[Content]) -> Result<u64, TokenError> {
        let mut all = 0;
        for content in content {
            all += match content {
                Content::Text(text) => self.text(text.as_str())?,
                Content::Media(media) => {
                    let frame = self.text(media.frame.open.as_str())?
                        + self.text(media.frame.close.as_str())?;
                    let base64 = u64::try_from(media.base64.len()).unwrap_or(u64::MAX);
                    frame + if media.kind == MediaKind::Image { PER_IMAGE } else { base64 / 4 }
                }
            };
        }
        Ok(all)
    }

    fn tool(&mut self, offered: &OfferedTool) -> Result<u64, TokenError> {
        let (tool, name) = (&offered.tool, &offered.wire_name);
        let schema = self.text(tool.input_schema().json_schema_text())?;
        Ok(schema + self.text(tool.description())? + self.text(name)? + PER_ENTRY)
    }
}
