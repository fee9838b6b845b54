//! Decodes responses.

use std::collections::{BTreeMap, BTreeSet};

use haft_core::json::ValueRef;
use haft_core::usage::Usage;
use serde_json::{Map, Value};

use super::TAG;
use crate::dialect::{DecodeError, ResponseDecoder, StreamEvent};
use crate::dialects::shared::{self, malformed_response, parse_body, parse_text};
use crate::generation::{FinishReason, GenerationEvent};
use crate::replay::{ReplayRecorder, TextSeam};

/// The channel of all reasoning.
const CHANNEL: &str = "reasoning";

/// Errors for which a retry may help.
const RETRYABLE: [&str; 4] =
    ["server_error", "rate_limit_exceeded", "vector_store_timeout", "timeout"];

/// The most items of a response, and the most parts of its messages.
const MAX_ITEMS: usize = 16 * 1024;

type Report<'t, 'f> = &'t mut (dyn FnMut(GenerationEvent<'_>) + 'f);

/// Decodes one response of the Responses API.
#[derive(Debug)]
pub(super) struct ResponsesDecoder {
    items: BTreeMap<u32, ItemState>,
    /// How many parts its messages have.
    parts: usize,
    order: ReplayRecorder,
    thought: ReasoningPosition,
    begun: bool,
    called: bool,
    refused: bool,
    over: bool,
}

/// The state of an item of the response.
#[derive(Debug)]
enum ItemState {
    /// A message, with the parts that were reported.
    Message(BTreeSet<u64>),
    /// A call, with the arguments so far.
    Call { arguments: String },
    /// Reasoning, and whether any of it was reported.
    Reasoning { told: bool },
    /// Something else.
    Unknown,
    /// It was reported completely.
    Done,
}

/// The reasoning that was reported last: the item, the kind of text and the part.
type ReasoningPosition = Option<(u32, &'static str, u64)>;

impl ResponsesDecoder {
    pub(super) fn new(model: &str) -> Self {
        Self {
            items: BTreeMap::new(),
            parts: 0,
            order: ReplayRecorder::new(model),
            thought: None,
            begun: false,
            called: false,
            refused: false,
            over: false,
        }
    }

    fn begin(&mut self, response: ValueRef<'_>, report: Report<'_, '_>) {
        if !self.begun {
            self.begun = true;
            let text = |key| response.get(key).and_then(ValueRef::as_str);
            report(GenerationEvent::Start { id: text("id"), model: text("model") });
        }
    }

    fn decode_item_added(&mut self, index: u32, item: ValueRef<'_>, report: Report<'_, '_>) {
        if self.items.contains_key(&index) {
            return;
        }
        let text = |key| item.get(key).and_then(ValueRef::as_str);
        let slot = match text("type").unwrap_or_default() {
            "message" => {
                self.order.begin_text(TextSeam::Apart, known_by(item, &["id", "phase"]));
                ItemState::Message(BTreeSet::new())
            }
            "function_call" => {
                self.called = true;
                let (id, name) = (text("call_id").or_else(|| text("id")), text("name"));
                report(GenerationEvent::CallDelta { slot: index, id, name, arguments: "" });
                ItemState::Call { arguments: String::new() }
            }
            "reasoning" => ItemState::Reasoning { told: false },
            _ => {
                self.order.discard();
                ItemState::Unknown
            }
        };
        self.items.insert(index, slot);
    }

    /// More of a message.
    fn decode_text(&mut self, index: u32, part: u64, delta: &str, report: Report<'_, '_>) {
        let slot = self.items.entry(index).or_insert_with(|| ItemState::Message(BTreeSet::new()));
        let ItemState::Message(parts) = slot else { return };
        // A further part of a message goes on where the one before it ended.
        let is_new = parts.insert(part);
        self.parts += usize::from(is_new);
        if is_new && parts.len() > 1 {
            self.order.discard();
        }
        let gap = self.order.push_text(delta);
        for text in [gap, delta].into_iter().filter(|it| !it.is_empty()) {
            report(GenerationEvent::TextDelta(text));
        }
    }

    /// More of a refusal.
    fn decode_refusal(&mut self, index: u32, part: u64, delta: &str, report: Report<'_, '_>) {
        self.refused = true;
        self.order.discard();
        self.decode_text(index, part, delta, report);
    }

    /// More of the reasoning.
    fn decode_reasoning(
        &mut self,
        at: (u32, &'static str, u64),
        delta: &str,
        report: Report<'_, '_>,
    ) {
        if delta.is_empty() {
            return;
        }
        if let Some(ItemState::Reasoning { told }) = self.items.get_mut(&at.0) {
            *told = true;
        }
        if self.thought.is_some_and(|it| it != at) {
            report(GenerationEvent::ReasoningDelta { channel: CHANNEL, text: "\n\n" });
        }
        self.thought = Some(at);
        report(GenerationEvent::ReasoningDelta { channel: CHANNEL, text: delta });
    }

    fn arguments(
        &mut self,
        index: u32,
        delta: &str,
        report: Report<'_, '_>,
    ) -> Result<(), DecodeError> {
        match self.items.get_mut(&index) {
            Some(ItemState::Call { arguments }) => {
                arguments.push_str(delta);
                if !delta.is_empty() {
                    let slot = index;
                    report(GenerationEvent::CallDelta {
                        slot,
                        id: None,
                        name: None,
                        arguments: delta,
                    });
                }
                Ok(())
            }
            Some(_) => Ok(()),
            None => Err(malformed_response("arguments belong to no call")),
        }
    }

    /// The complete arguments: the part that has not been reported is reported now.
    fn decode_arguments_done(&mut self, index: u32, whole: &str, report: Report<'_, '_>) {
        if let Some(ItemState::Call { arguments }) = self.items.get_mut(&index)
            && let Some(rest) = whole.strip_prefix(arguments.as_str()).filter(|it| !it.is_empty())
        {
            report(GenerationEvent::CallDelta {
                slot: index,
                id: None,
                name: None,
                arguments: rest,
            });
            arguments.push_str(rest);
        }
    }

    /// A complete item: the part that has not been reported is reported now.
    fn decode_item_done(&mut self, index: u32, item: ValueRef<'_>, report: Report<'_, '_>) {
        self.decode_item_added(index, item, report);
        match self.items.get(&index) {
            Some(ItemState::Message(_)) => self.decode_message_done(index, item, report),
            Some(ItemState::Call { .. }) => self.decode_call_done(index, item, report),
            Some(ItemState::Reasoning { told }) => {
                if !told {
                    self.decode_reasoning_done(index, item, report);
                }
                self.order.push_opaque(reasoning_item(item));
            }
            Some(ItemState::Unknown | ItemState::Done) | None => {}
        }
        self.items.insert(index, ItemState::Done);
    }

    fn decode_message_done(&mut self, index: u32, item: ValueRef<'_>, report: Report<'_, '_>) {
        let content = item.get("content");
        for (n, part) in (0..).zip(content.into_iter().flat_map(ValueRef::elements)) {
            let said =
                matches!(self.items.get(&index), Some(ItemState::Message(it)) if it.contains(&n));
            let text = |key| part.get(key).and_then(ValueRef::as_str).unwrap_or_default();
            match text("type") {
                "output_text" if !said => self.decode_text(index, n, text("text"), report),
                "refusal" if !said => self.decode_refusal(index, n, text("refusal"), report),
                "output_text" => {}
                _ => self.order.discard(),
            }
        }
    }

    fn decode_call_done(&mut self, index: u32, item: ValueRef<'_>, report: Report<'_, '_>) {
        let text = |key| item.get(key).and_then(ValueRef::as_str).unwrap_or_default();
        self.decode_arguments_done(index, text("arguments"), report);
        let Some(ItemState::Call { arguments }) = self.items.get_mut(&index) else { return };
        let mut arguments = std::mem::take(arguments);
        if text("status") == "incomplete" {
            return self.order.discard();
        }
        if arguments.is_empty() {
            arguments = "{}".to_owned();
            let (slot, arguments) = (index, arguments.as_str());
            report(GenerationEvent::CallDelta { slot, id: None, name: None, arguments });
        }
        report(GenerationEvent::CallEnd { slot: index });
        self.order.push_call(text("name"), &arguments, known_by(item, &["id"]));
    }

    fn decode_reasoning_done(&mut self, index: u32, item: ValueRef<'_>, report: Report<'_, '_>) {
        for (key, kind) in [("summary", "summary"), ("content", "text")] {
            let parts = item.get(key).into_iter().flat_map(ValueRef::elements);
            for (n, part) in (0..).zip(parts) {
                let text = part.get("text").and_then(ValueRef::as_str).unwrap_or_default();
                self.decode_reasoning((index, kind, n), text, report);
            }
        }
    }

    /// The response ended, successfully or not.
    fn response_ended(
        &mut self,
        response: ValueRef<'_>,
        report: Report<'_, '_>,
    ) -> Result<(), DecodeError> {
        let status = response.get("status").and_then(ValueRef::as_str).unwrap_or("completed");
        let error = response.get("error").filter(|it| !it.is_null());
        let overflow = error.and_then(|it| it.get("code")).and_then(ValueRef::as_str)
            == Some("context_length_exceeded");
        if !overflow && (error.is_some() || matches!(status, "failed" | "cancelled")) {
            return Err(reported_error(error.unwrap_or(response)));
        }
        self.begin(response, report);
        let output = response.get("output");
        for (index, item) in (0..).zip(output.into_iter().flat_map(ValueRef::elements)) {
            if !matches!(self.items.get(&index), Some(ItemState::Done)) {
                self.decode_item_done(index, item, report);
            }
        }
        usage(response.get("usage"), report);
        let details = response.get("incomplete_details").and_then(|it| it.get("reason"));
        let (finish, reason) = match (status, details.and_then(ValueRef::as_str)) {
            _ if overflow => (Some(FinishReason::ContextOverflow), "context_length_exceeded"),
            ("incomplete", Some("max_output_tokens")) => {
                (Some(FinishReason::Length), "max_output_tokens")
            }
            ("incomplete", Some("content_filter")) => {
                (Some(FinishReason::Filtered), "content_filter")
            }
            ("incomplete", other) => (Some(FinishReason::Length), other.unwrap_or("incomplete")),
            ("completed", _) if self.refused => (Some(FinishReason::Refused), "refusal"),
            ("completed", _) if self.called => (Some(FinishReason::ToolCalls), "completed"),
            ("completed", _) => (Some(FinishReason::Stop), "completed"),
            (other, _) => (None, other),
        };
        self.report_opaque(output, report);
        report(GenerationEvent::Finish { finish, reason });
        report(GenerationEvent::End);
        self.over = true;
        Ok(())
    }

    /// Reports the values that the provider wants back. Encrypted reasoning may arrive only now.
    fn report_opaque(&mut self, output: Option<ValueRef<'_>>, report: Report<'_, '_>) {
        self.order.complete_opaque(|kept| {
            let id = kept.get("id").and_then(Value::as_str);
            let items = output.into_iter().flat_map(ValueRef::elements);
            let same =
                |it: &ValueRef<'_>| id.is_some() && it.get("id").and_then(ValueRef::as_str) == id;
            let late = items.filter(same).find_map(|it| it.get("encrypted_content")?.as_str());
            if let (Some(kept), Some(late)) = (kept.as_object_mut(), late) {
                kept.insert("encrypted_content".to_owned(), late.into());
            }
            // No item is stored under its id.
            kept.get("encrypted_content").is_some_and(Value::is_string)
        });
        if let Some(payload) = self.order.finish() {
            report(GenerationEvent::ReasoningPayload { channel: CHANNEL, payload, tag: TAG });
        }
    }
}

impl ResponseDecoder for ResponsesDecoder {
    fn decode_event(
        &mut self,
        event: StreamEvent<'_>,
        report: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<(), DecodeError> {
        // Some gateways end every stream like this.
        if self.over || event.data.trim() == "[DONE]" {
            return Ok(());
        }
        if self.items.len() > MAX_ITEMS || self.parts > MAX_ITEMS {
            let reason = format!("it has more than {MAX_ITEMS} items or parts of messages");
            return Err(malformed_response(&reason));
        }
        let doc = parse_text(event.data)?;
        let root = doc.root();
        let text = |key| root.get(key).and_then(ValueRef::as_str).unwrap_or_default();
        let number = |key| root.get(key).and_then(ValueRef::as_u64);
        let index = || {
            let index = number("output_index").and_then(|it| u32::try_from(it).ok());
            index.ok_or_else(|| malformed_response("an item has no index"))
        };
        let part = |key| number(key).unwrap_or_default();
        let below =
            |key| root.get(key).ok_or_else(|| malformed_response(&format!("`{key}` is missing")));
        let kind = root.get("type").and_then(ValueRef::as_str).or(event.name).unwrap_or_default();
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => {
                self.begin(below("response")?, report);
            }
            "response.output_item.added" => {
                self.decode_item_added(index()?, below("item")?, report)
            }
            "response.output_item.done" => self.decode_item_done(index()?, below("item")?, report),
            "response.output_text.delta" => {
                self.decode_text(index()?, part("content_index"), text("delta"), report);
            }
            "response.refusal.delta" => {
                self.decode_refusal(index()?, part("content_index"), text("delta"), report);
            }
            "response.reasoning_summary_text.delta" => {
                self.decode_reasoning(
                    (index()?, "summary", part("summary_index")),
                    text("delta"),
                    report,
                );
            }
            "response.reasoning_text.delta" => {
                self.decode_reasoning(
                    (index()?, "text", part("content_index")),
                    text("delta"),
                    report,
                );
            }
            "response.function_call_arguments.delta" => {
                self.arguments(index()?, text("delta"), report)?;
            }
            "response.function_call_arguments.done" => {
                self.decode_arguments_done(index()?, text("arguments"), report);
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => self.response_ended(below("response")?, report)?,
            "error" => return Err(reported_error(root.get("error").unwrap_or(root))),
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
        let failed = root.get("error").is_some_and(|it| !it.is_null());
        if !failed && root.get("output").is_none() {
            return Err(malformed_response("`output` is missing"));
        }
        self.response_ended(root, report)
    }
}

/// The fields by which the provider identifies an item.
fn known_by(item: ValueRef<'_>, keys: &[&str]) -> Value {
    let known = |key: &&str| Some(((*key).to_owned(), Value::from(item.get(key)?.as_str()?)));
    Value::Object(keys.iter().filter_map(known).collect())
}

/// Reasoning as it is sent back.
fn reasoning_item(item: ValueRef<'_>) -> Value {
    let mut kept = Map::new();
    for key in ["type", "id", "summary", "content", "encrypted_content"] {
        if let Some(value) = item.get(key).filter(|it| !it.is_null()) {
            kept.insert(key.to_owned(), value.to_value());
        }
    }
    kept.entry("summary").or_insert_with(|| Value::Array(Vec::new()));
    Value::Object(kept)
}

fn usage(usage: Option<ValueRef<'_>>, report: Report<'_, '_>) {
    let Some(usage) = usage.filter(|it| !it.is_null()) else { return };
    let count = |key| usage.get(key).and_then(ValueRef::as_u64).unwrap_or_default();
    let detail = |of, key| usage.get(of).and_then(|it| it.get(key)).and_then(ValueRef::as_u64);
    let told = Usage::new(count("input_tokens"), count("output_tokens"))
        .with_cached(detail("input_tokens_details", "cached_tokens").unwrap_or_default())
        .with_cache_creation(
            detail("input_tokens_details", "cache_write_tokens").unwrap_or_default(),
        )
        .with_reasoning(detail("output_tokens_details", "reasoning_tokens").unwrap_or_default());
    let total = Some(count("total_tokens")).filter(|it| *it > 0);
    report(GenerationEvent::Usage(told.with_total(total.unwrap_or(told.total))));
}

/// An error that the provider reports.
fn reported_error(error: ValueRef<'_>) -> DecodeError {
    let text = |key| error.get(key).and_then(ValueRef::as_str);
    let kind = text("code").or_else(|| text("type").filter(|it| *it != "error"));
    let retryable = kind.is_some_and(|it| RETRYABLE.contains(&it));
    let message = text("message").unwrap_or("it does not say what");
    shared::reported_error(kind, message, retryable)
}
