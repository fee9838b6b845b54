//! Answers.

use std::collections::BTreeMap;

use haft_core::json::{Document, ValueRef};
use haft_core::usage::Usage;
use serde_json::Value;

use super::TAG;
use super::replay::Kept;
use crate::dialect::{AnswerError, Decoder};
use crate::generation::{Event, Finish};
use crate::verbatim::{Recorder, Seam};

/// The channel of all thinking.
const CHANNEL: &str = "thinking";

/// Errors that may pass.
const PASSING: [&str; 4] = ["overloaded_error", "rate_limit_error", "api_error", "timeout_error"];

type Tell<'t, 'f> = &'t mut (dyn FnMut(Event<'_>) + 'f);

/// Reads one answer of the Messages API.
#[derive(Debug)]
pub(super) struct MessagesDecoder {
    /// Blocks that have not ended, by their index.
    open: BTreeMap<u64, Open>,
    order: Recorder,
    thought: bool,
    counts: Counts,
    over: bool,
}

/// A block that has begun.
#[derive(Debug)]
enum Open {
    Text,
    Thinking { thinking: String, signature: String },
    Redacted { data: String },
    Call { name: String, arguments: String, whole: Option<String> },
    Unknown,
}

/// Tokens, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    input: u64,
    read: u64,
    written: u64,
    output: u64,
}

impl MessagesDecoder {
    pub(super) fn new(model: &str) -> Self {
        Self {
            open: BTreeMap::new(),
            order: Recorder::new(model),
            thought: false,
            counts: Counts::default(),
            over: false,
        }
    }

    fn message_start(&mut self, message: ValueRef<'_>, tell: Tell<'_, '_>) {
        let text = |key| message.get(key).and_then(ValueRef::as_str);
        tell(Event::Begin { id: text("id"), model: text("model") });
        self.usage(message.get("usage"), tell);
    }

    fn block_start(&mut self, index: u64, block: ValueRef<'_>, tell: Tell<'_, '_>) {
        let text = |key| block.get(key).and_then(ValueRef::as_str).unwrap_or_default();
        if !self.open.is_empty() {
            // Blocks that come at the same time have no order.
            self.order.spoil();
        }
        let open = match text("type") {
            "text" => {
                self.order.begin_text(Seam::Close, Value::Null);
                Open::Text
            }
            "thinking" => {
                self.begin_thought(tell);
                Open::Thinking { thinking: String::new(), signature: text("signature").to_owned() }
            }
            "redacted_thinking" => Open::Redacted { data: text("data").to_owned() },
            "tool_use" => {
                let id = block.get("id").and_then(ValueRef::as_str);
                let name = Some(text("name"));
                tell(Event::Call { slot: slot(index), id, name, arguments: "" });
                let input = block.get("input").filter(|it| !it.is_empty());
                Open::Call {
                    name: text("name").to_owned(),
                    arguments: String::new(),
                    whole: input.map(|it| it.to_string()),
                }
            }
            _ => {
                self.order.spoil();
                Open::Unknown
            }
        };
        self.open.insert(index, open);
        self.more(index, "text", text("text"), tell);
        self.more(index, "thinking", text("thinking"), tell);
    }

    fn block_delta(
        &mut self,
        index: u64,
        delta: ValueRef<'_>,
        tell: Tell<'_, '_>,
    ) -> Result<(), AnswerError> {
        let text = |key| delta.get(key).and_then(ValueRef::as_str).unwrap_or_default();
        let known = self.open.contains_key(&index);
        match text("type") {
            "text_delta" => self.more(index, "text", text("text"), tell),
            "thinking_delta" => self.more(index, "thinking", text("thinking"), tell),
            "signature_delta" => {
                if let Some(Open::Thinking { signature, .. }) = self.open.get_mut(&index) {
                    *signature = text("signature").to_owned();
                }
            }
            "input_json_delta" if !known => {
                return Err(malformed("arguments belong to no call"));
            }
            "input_json_delta" => {
                let piece = text("partial_json");
                if let Some(Open::Call { arguments, .. }) = self.open.get_mut(&index)
                    && !piece.is_empty()
                {
                    arguments.push_str(piece);
                    tell(Event::Call { slot: slot(index), id: None, name: None, arguments: piece });
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// More of a text or of a thought.
    fn more(&mut self, index: u64, what: &str, piece: &str, tell: Tell<'_, '_>) {
        if piece.is_empty() {
            return;
        }
        match (what, self.open.get_mut(&index)) {
            // A text whose beginning was not sent is one, too.
            ("text", Some(Open::Text) | None) => {
                let gap = self.order.text(piece);
                for text in [gap, piece].into_iter().filter(|it| !it.is_empty()) {
                    tell(Event::Text(text));
                }
            }
            ("thinking", Some(Open::Thinking { thinking, .. })) => {
                thinking.push_str(piece);
                tell(Event::Reasoning { channel: CHANNEL, text: piece });
            }
            _ => {}
        }
    }

    /// Keeps thoughts of one generation apart.
    fn begin_thought(&mut self, tell: Tell<'_, '_>) {
        if self.thought {
            tell(Event::Reasoning { channel: CHANNEL, text: "\n\n" });
        }
        self.thought = true;
    }

    fn block_stop(&mut self, index: u64, tell: Tell<'_, '_>) {
        let kept = match self.open.remove(&index) {
            Some(Open::Thinking { thinking, signature }) if !signature.is_empty() => {
                Kept::Thinking { thinking, signature }
            }
            // Thinking without a signature would be refused.
            Some(Open::Thinking { .. }) => return self.order.spoil(),
            Some(Open::Redacted { data }) => Kept::RedactedThinking { data },
            Some(Open::Call { name, mut arguments, whole }) => {
                if arguments.is_empty() {
                    arguments = whole.unwrap_or_else(|| "{}".to_owned());
                    let arguments = arguments.as_str();
                    tell(Event::Call { slot: slot(index), id: None, name: None, arguments });
                }
                tell(Event::CallEnd { slot: slot(index) });
                return self.order.call(&name, &arguments, Value::Null);
            }
            Some(Open::Text | Open::Unknown) | None => return,
        };
        match kept.into_value() {
            Some(value) => self.order.opaque(value),
            None => self.order.spoil(),
        }
    }

    fn message_delta(&mut self, event: ValueRef<'_>, tell: Tell<'_, '_>) {
        self.usage(event.get("usage"), tell);
        let reason = event.get("delta").and_then(|it| it.get("stop_reason"));
        if let Some(reason) = reason.and_then(ValueRef::as_str) {
            tell(Event::Finish { finish: finish(reason), reason });
        }
    }

    fn message_stop(&mut self, tell: Tell<'_, '_>) {
        self.over = true;
        if let Some(payload) = self.order.finish() {
            tell(Event::ReasoningOpaque { channel: CHANNEL, payload, tag: TAG });
        }
        tell(Event::End);
    }

    /// Takes over the counts that are told; those of the beginning hold until others come.
    fn usage(&mut self, usage: Option<ValueRef<'_>>, tell: Tell<'_, '_>) {
        let Some(usage) = usage else { return };
        let counts = &mut self.counts;
        for (key, count) in [
            ("input_tokens", &mut counts.input),
            ("cache_read_input_tokens", &mut counts.read),
            ("cache_creation_input_tokens", &mut counts.written),
            ("output_tokens", &mut counts.output),
        ] {
            let told = usage.get(key).and_then(ValueRef::as_u64).filter(|it| *it > 0);
            *count = told.unwrap_or(*count);
        }
        let Counts { input, read, written, output } = *counts;
        let prompt = input.saturating_add(read).saturating_add(written);
        tell(Event::Usage(Usage::new(prompt, output).with_cached(read)));
    }
}

impl Decoder for MessagesDecoder {
    fn event(
        &mut self,
        event: Option<&str>,
        data: &str,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), AnswerError> {
        if self.over {
            return Ok(());
        }
        let doc = Document::parse(data).map_err(|error| malformed(&error.to_string()))?;
        let root = doc.root();
        let index = || {
            let index = root.get("index").and_then(ValueRef::as_u64);
            index.ok_or_else(|| malformed("a block has no index"))
        };
        let part = |key| root.get(key).ok_or_else(|| malformed(&format!("`{key}` is missing")));
        match root.get("type").and_then(ValueRef::as_str).or(event).unwrap_or_default() {
            "message_start" => self.message_start(part("message")?, tell),
            "content_block_start" => self.block_start(index()?, part("content_block")?, tell),
            "content_block_delta" => self.block_delta(index()?, part("delta")?, tell)?,
            "content_block_stop" => self.block_stop(index()?, tell),
            "message_delta" => self.message_delta(root, tell),
            "message_stop" => self.message_stop(tell),
            "error" => return Err(reported(root)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &[u8], tell: &mut dyn FnMut(Event<'_>)) -> Result<(), AnswerError> {
        let text = str::from_utf8(body).map_err(|_| malformed("it is not UTF-8"))?;
        let doc = Document::parse(text).map_err(|error| malformed(&error.to_string()))?;
        let root = doc.root();
        if root.get("type").and_then(ValueRef::as_str) == Some("error")
            || root.get("error").is_some()
        {
            return Err(reported(root));
        }
        let content = root.get("content").ok_or_else(|| malformed("`content` is missing"))?;
        self.message_start(root, tell);
        for (index, block) in (0..).zip(content.elements()) {
            self.block_start(index, block, tell);
            self.block_stop(index, tell);
        }
        if let Some(reason) = root.get("stop_reason").and_then(ValueRef::as_str) {
            tell(Event::Finish { finish: finish(reason), reason });
        }
        self.message_stop(tell);
        Ok(())
    }
}

fn slot(index: u64) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn finish(reason: &str) -> Option<Finish> {
    match reason {
        "end_turn" | "stop_sequence" => Some(Finish::Stop),
        "tool_use" => Some(Finish::ToolCalls),
        "max_tokens" => Some(Finish::Length),
        "refusal" => Some(Finish::Refused),
        "pause_turn" => Some(Finish::Paused),
        "model_context_window_exceeded" => Some(Finish::ContextOverflow),
        _ => None,
    }
}

fn malformed(what: &str) -> AnswerError {
    AnswerError::Malformed(what.to_owned())
}

/// An error that the provider reports.
fn reported(root: ValueRef<'_>) -> AnswerError {
    let error = root.get("error").unwrap_or(root);
    let text = |key| error.get(key).and_then(ValueRef::as_str);
    let kind = text("type").map(str::to_owned);
    let retryable = kind.as_deref().is_some_and(|it| PASSING.contains(&it));
    let message = text("message").unwrap_or("it does not say what").to_owned();
    AnswerError::Provider { kind, message, retryable }
}
