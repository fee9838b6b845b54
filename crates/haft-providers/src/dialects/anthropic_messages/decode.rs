//! Decodes responses.

use std::collections::BTreeMap;

use haft_core::json::{ValueKind, ValueRef};
use haft_core::usage::Usage;
use serde_json::Value;

use super::TAG;
use super::wire::StoredThinking;
use crate::dialect::{DecodeError, ResponseDecoder, StreamEvent};
use crate::dialects::shared::{self, malformed_response, parse_body, parse_text};
use crate::generation::{FinishReason, GenerationEvent, MAX_GENERATED_BYTES};
use crate::replay::{ReplayRecorder, TextSeam};

/// The channel of all thinking.
const CHANNEL: &str = "thinking";

/// Errors for which a retry may help.
const RETRYABLE: [&str; 4] = ["overloaded_error", "rate_limit_error", "api_error", "timeout_error"];

/// The most blocks that are open at a time.
const MAX_OPEN: usize = 1024;

type Report<'t, 'f> = &'t mut (dyn FnMut(GenerationEvent<'_>) + 'f);

/// Decodes one response of the Messages API.
#[derive(Debug)]
pub(super) struct MessagesDecoder {
    /// Blocks that have not ended, by their index.
    open: BTreeMap<u32, OpenBlock>,
    /// The bytes of blocks that are not reported before they end.
    held_bytes: usize,
    order: ReplayRecorder,
    thought: bool,
    counts: TokenCounts,
    over: bool,
}

/// A block that has begun.
#[derive(Debug)]
enum OpenBlock {
    Text,
    Thinking { thinking: String, signature: String },
    Redacted { data: String },
    Call { name: String, arguments: String, whole: Option<String> },
    Unknown,
}

impl OpenBlock {
    /// The bytes with which it begins, besides text and thinking.
    fn bytes(&self) -> usize {
        match self {
            Self::Text | Self::Unknown => 0,
            Self::Thinking { signature, .. } => signature.len(),
            Self::Redacted { data } => data.len(),
            Self::Call { name, whole, .. } => name.len() + whole.as_ref().map_or(0, String::len),
        }
    }
}

/// The known token counts.
#[derive(Clone, Copy, Debug, Default)]
struct TokenCounts {
    input: u64,
    read: u64,
    written: u64,
    output: u64,
}

impl MessagesDecoder {
    pub(super) fn new(model: &str) -> Self {
        Self {
            open: BTreeMap::new(),
            held_bytes: 0,
            order: ReplayRecorder::new(model),
            thought: false,
            counts: TokenCounts::default(),
            over: false,
        }
    }

    fn decode_message_start(&mut self, message: ValueRef<'_>, report: Report<'_, '_>) {
        let text = |key| message.get(key).and_then(ValueRef::as_str);
        report(GenerationEvent::Start { id: text("id"), model: text("model") });
        self.report_usage(message.get("usage"), report);
    }

    fn decode_block_start(
        &mut self,
        index: u32,
        block: ValueRef<'_>,
        report: Report<'_, '_>,
    ) -> Result<(), DecodeError> {
        let text = |key| block.get(key).and_then(ValueRef::as_str).unwrap_or_default();
        if !self.open.is_empty() {
            // Blocks that come at the same time have no order.
            self.order.discard();
        }
        let open = match text("type") {
            "text" => {
                self.order.begin_text(TextSeam::Close, Value::Null);
                OpenBlock::Text
            }
            "thinking" => {
                self.begin_thought(report);
                OpenBlock::Thinking {
                    thinking: String::new(),
                    signature: text("signature").to_owned(),
                }
            }
            "redacted_thinking" => OpenBlock::Redacted { data: text("data").to_owned() },
            "tool_use" => {
                let id = block.get("id").and_then(ValueRef::as_str);
                let name = Some(text("name"));
                report(GenerationEvent::CallDelta { slot: index, id, name, arguments: "" });
                let input = block.get("input").filter(|it| !it.is_empty());
                OpenBlock::Call {
                    name: text("name").to_owned(),
                    arguments: String::new(),
                    whole: input.map(|it| it.to_string()),
                }
            }
            _ => {
                self.order.discard();
                OpenBlock::Unknown
            }
        };
        self.hold(open.bytes())?;
        self.open.insert(index, open);
        if self.open.len() > MAX_OPEN {
            let reason = format!("more than {MAX_OPEN} blocks are open at a time");
            return Err(malformed_response(&reason));
        }
        self.append_piece(index, "text", text("text"), report);
        self.append_piece(index, "thinking", text("thinking"), report);
        Ok(())
    }

    /// Counts bytes that stay in memory until their block ends. What is reported is counted by who collects it.
    fn hold(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        if self.held_bytes > MAX_GENERATED_BYTES {
            let reason = format!("its blocks have more than {MAX_GENERATED_BYTES} opaque bytes");
            return Err(malformed_response(&reason));
        }
        Ok(())
    }

    fn block_delta(
        &mut self,
        index: u32,
        delta: ValueRef<'_>,
        report: Report<'_, '_>,
    ) -> Result<(), DecodeError> {
        let text = |key| delta.get(key).and_then(ValueRef::as_str).unwrap_or_default();
        let known = self.open.contains_key(&index);
        match text("type") {
            "text_delta" => self.append_piece(index, "text", text("text"), report),
            "thinking_delta" => self.append_piece(index, "thinking", text("thinking"), report),
            "signature_delta" => {
                self.hold(text("signature").len())?;
                if let Some(OpenBlock::Thinking { signature, .. }) = self.open.get_mut(&index) {
                    *signature = text("signature").to_owned();
                }
            }
            "input_json_delta" if !known => {
                return Err(malformed_response("arguments belong to no call"));
            }
            "input_json_delta" => {
                let piece = text("partial_json");
                if let Some(OpenBlock::Call { arguments, .. }) = self.open.get_mut(&index)
                    && !piece.is_empty()
                {
                    arguments.push_str(piece);
                    report(GenerationEvent::CallDelta {
                        slot: index,
                        id: None,
                        name: None,
                        arguments: piece,
                    });
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// More of a text or of a thought.
    fn append_piece(&mut self, index: u32, what: &str, piece: &str, report: Report<'_, '_>) {
        if piece.is_empty() {
            return;
        }
        match (what, self.open.get_mut(&index)) {
            // A text whose beginning was not sent is one, too.
            ("text", Some(OpenBlock::Text) | None) => {
                let gap = self.order.push_text(piece);
                for text in [gap, piece].into_iter().filter(|it| !it.is_empty()) {
                    report(GenerationEvent::TextDelta(text));
                }
            }
            ("thinking", Some(OpenBlock::Thinking { thinking, .. })) => {
                thinking.push_str(piece);
                report(GenerationEvent::ReasoningDelta { channel: CHANNEL, text: piece });
            }
            _ => {}
        }
    }

    /// Keeps thoughts of one generation apart.
    fn begin_thought(&mut self, report: Report<'_, '_>) {
        if self.thought {
            report(GenerationEvent::ReasoningDelta { channel: CHANNEL, text: "\n\n" });
        }
        self.thought = true;
    }

    fn decode_block_stop(&mut self, index: u32, report: Report<'_, '_>) {
        let kept = match self.open.remove(&index) {
            Some(OpenBlock::Thinking { thinking, signature }) if !signature.is_empty() => {
                StoredThinking::Thinking { thinking, signature }
            }
            // Thinking without a signature would be refused.
            Some(OpenBlock::Thinking { .. }) => return self.order.discard(),
            Some(OpenBlock::Redacted { data }) => StoredThinking::RedactedThinking { data },
            Some(OpenBlock::Call { name, mut arguments, whole }) => {
                if arguments.is_empty() {
                    arguments = whole.unwrap_or_else(|| "{}".to_owned());
                    let arguments = arguments.as_str();
                    report(GenerationEvent::CallDelta {
                        slot: index,
                        id: None,
                        name: None,
                        arguments,
                    });
                }
                report(GenerationEvent::CallEnd { slot: index });
                return self.order.push_call(&name, &arguments, Value::Null);
            }
            Some(OpenBlock::Text | OpenBlock::Unknown) | None => return,
        };
        match kept.into_value() {
            Some(value) => self.order.push_opaque(value),
            None => self.order.discard(),
        }
    }

    fn decode_message_delta(&mut self, event: ValueRef<'_>, report: Report<'_, '_>) {
        self.report_usage(event.get("usage"), report);
        let reason = event.get("delta").and_then(|it| it.get("stop_reason"));
        if let Some(reason) = reason.and_then(ValueRef::as_str) {
            report(GenerationEvent::Finish { finish: finish(reason), reason });
        }
    }

    fn decode_message_stop(&mut self, report: Report<'_, '_>) {
        self.over = true;
        if let Some(payload) = self.order.finish() {
            report(GenerationEvent::ReasoningPayload { channel: CHANNEL, payload, tag: TAG });
        }
        report(GenerationEvent::End);
    }

    /// Takes over the reported counts; those at the beginning are valid until others arrive.
    fn report_usage(&mut self, usage: Option<ValueRef<'_>>, report: Report<'_, '_>) {
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
        let TokenCounts { input, read, written, output } = *counts;
        let prompt = input.saturating_add(read).saturating_add(written);
        let usage = Usage::new(prompt, output).with_cached(read).with_cache_creation(written);
        report(GenerationEvent::Usage(usage));
    }
}

impl ResponseDecoder for MessagesDecoder {
    fn decode_event(
        &mut self,
        event: StreamEvent<'_>,
        report: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<(), DecodeError> {
        if self.over {
            return Ok(());
        }
        let doc = parse_text(event.data)?;
        let root = doc.root();
        let index = || {
            let index = root.get("index").and_then(ValueRef::as_u64);
            let index = index.and_then(|it| u32::try_from(it).ok());
            index.ok_or_else(|| malformed_response("a block has no index"))
        };
        let part =
            |key| root.get(key).ok_or_else(|| malformed_response(&format!("`{key}` is missing")));
        match root.get("type").and_then(ValueRef::as_str).or(event.name).unwrap_or_default() {
            "message_start" => self.decode_message_start(part("message")?, report),
            "content_block_start" => {
                self.decode_block_start(index()?, part("content_block")?, report)?;
            }
            "content_block_delta" => self.block_delta(index()?, part("delta")?, report)?,
            "content_block_stop" => self.decode_block_stop(index()?, report),
            "message_delta" => self.decode_message_delta(root, report),
            "message_stop" => self.decode_message_stop(report),
            "error" => return Err(reported_error(root)),
            _ => {}
        }
        Ok(())
    }

    fn decode_whole(
        &mut self,
        body: &[u8],
        report: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<(), DecodeError> {
        let doc = parse_body(body)?;
        let root = doc.root();
        if root.get("type").and_then(ValueRef::as_str) == Some("error")
            || root.get("error").is_some()
        {
            return Err(reported_error(root));
        }
        let content = root.get("content").filter(|it| it.kind() == ValueKind::Array);
        let content = content.ok_or_else(|| malformed_response("`content` is not a list"))?;
        self.decode_message_start(root, report);
        for (index, block) in (0..).zip(content.elements()) {
            self.decode_block_start(index, block, report)?;
            self.decode_block_stop(index, report);
        }
        if let Some(reason) = root.get("stop_reason").and_then(ValueRef::as_str) {
            report(GenerationEvent::Finish { finish: finish(reason), reason });
        }
        self.decode_message_stop(report);
        Ok(())
    }
}

fn finish(reason: &str) -> Option<FinishReason> {
    match reason {
        "end_turn" | "stop_sequence" => Some(FinishReason::Stop),
        "tool_use" => Some(FinishReason::ToolCalls),
        "max_tokens" => Some(FinishReason::Length),
        "refusal" => Some(FinishReason::Refused),
        "pause_turn" => Some(FinishReason::Paused),
        "model_context_window_exceeded" => Some(FinishReason::ContextOverflow),
        _ => None,
    }
}

/// An error that the provider reports.
fn reported_error(root: ValueRef<'_>) -> DecodeError {
    let error = root.get("error").unwrap_or(root);
    let text = |key| error.get(key).and_then(ValueRef::as_str);
    let kind = text("type");
    let retryable = kind.is_some_and(|it| RETRYABLE.contains(&it));
    let message = text("message").unwrap_or("it does not say what");
    shared::reported_error(kind, message, retryable)
}
