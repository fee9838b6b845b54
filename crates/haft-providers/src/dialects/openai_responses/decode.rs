//! Answers.

use std::collections::{BTreeMap, BTreeSet};

use haft_core::json::{Document, ValueRef};
use haft_core::usage::Usage;
use serde_json::{Map, Value};

use super::TAG;
use crate::dialect::{AnswerError, Decoder};
use crate::generation::{Event, Finish};
use crate::verbatim::{Recorder, Seam};

/// The channel of all reasoning.
const CHANNEL: &str = "reasoning";

/// Errors that may pass.
const PASSING: [&str; 4] =
    ["server_error", "rate_limit_exceeded", "vector_store_timeout", "timeout"];

type Tell<'t, 'f> = &'t mut (dyn FnMut(Event<'_>) + 'f);

/// Reads one answer of the Responses API.
#[derive(Debug)]
pub(super) struct ResponsesDecoder {
    items: BTreeMap<u64, Slot>,
    order: Recorder,
    thought: Thought,
    begun: bool,
    called: bool,
    refused: bool,
    over: bool,
}

/// An item of the answer.
#[derive(Debug)]
enum Slot {
    /// A message; which of its parts were said.
    Message(BTreeSet<u64>),
    /// A call, with the arguments so far.
    Call { arguments: String },
    /// Reasoning; whether any of it was told.
    Reasoning { told: bool },
    /// Something else.
    Unknown,
    /// It was told whole.
    Done,
}

/// Which reasoning was told last: the item, the kind of text and the part.
type Thought = Option<(u64, &'static str, u64)>;

impl ResponsesDecoder {
    pub(super) fn new(model: &str) -> Self {
        Self {
            items: BTreeMap::new(),
            order: Recorder::new(model),
            thought: None,
            begun: false,
            called: false,
            refused: false,
            over: false,
        }
    }

    fn begin(&mut self, response: ValueRef<'_>, tell: Tell<'_, '_>) {
        if !self.begun {
            self.begun = true;
            let text = |key| response.get(key).and_then(ValueRef::as_str);
            tell(Event::Begin { id: text("id"), model: text("model") });
        }
    }

    fn item_added(&mut self, index: u64, item: ValueRef<'_>, tell: Tell<'_, '_>) {
        if self.items.contains_key(&index) {
            return;
        }
        let text = |key| item.get(key).and_then(ValueRef::as_str);
        let slot = match text("type").unwrap_or_default() {
            "message" => {
                self.order.begin_text(Seam::Apart, known_by(item, &["id", "phase"]));
                Slot::Message(BTreeSet::new())
            }
            "function_call" => {
                self.called = true;
                let (id, name) = (text("call_id").or_else(|| text("id")), text("name"));
                tell(Event::Call { slot: narrow(index), id, name, arguments: "" });
                Slot::Call { arguments: String::new() }
            }
            "reasoning" => Slot::Reasoning { told: false },
            _ => {
                self.order.spoil();
                Slot::Unknown
            }
        };
        self.items.insert(index, slot);
    }

    /// More of a message.
    fn text(&mut self, index: u64, part: u64, delta: &str, tell: Tell<'_, '_>) {
        let slot = self.items.entry(index).or_insert_with(|| Slot::Message(BTreeSet::new()));
        let Slot::Message(parts) = slot else { return };
        // A further part of a message goes on where the one before it ended.
        if parts.insert(part) && parts.len() > 1 {
            self.order.spoil();
        }
        let gap = self.order.text(delta);
        for text in [gap, delta].into_iter().filter(|it| !it.is_empty()) {
            tell(Event::Text(text));
        }
    }

    /// What the model says in place of an answer.
    fn refusal(&mut self, index: u64, part: u64, delta: &str, tell: Tell<'_, '_>) {
        self.refused = true;
        self.order.spoil();
        self.text(index, part, delta, tell);
    }

    /// More of the reasoning.
    fn reasoning(&mut self, at: (u64, &'static str, u64), delta: &str, tell: Tell<'_, '_>) {
        if delta.is_empty() {
            return;
        }
        if let Some(Slot::Reasoning { told }) = self.items.get_mut(&at.0) {
            *told = true;
        }
        if self.thought.is_some_and(|it| it != at) {
            tell(Event::Reasoning { channel: CHANNEL, text: "\n\n" });
        }
        self.thought = Some(at);
        tell(Event::Reasoning { channel: CHANNEL, text: delta });
    }

    fn arguments(
        &mut self,
        index: u64,
        delta: &str,
        tell: Tell<'_, '_>,
    ) -> Result<(), AnswerError> {
        match self.items.get_mut(&index) {
            Some(Slot::Call { arguments }) => {
                arguments.push_str(delta);
                if !delta.is_empty() {
                    let slot = narrow(index);
                    tell(Event::Call { slot, id: None, name: None, arguments: delta });
                }
                Ok(())
            }
            Some(_) => Ok(()),
            None => Err(malformed("arguments belong to no call")),
        }
    }

    /// The arguments as a whole: what of them has not come is told now.
    fn arguments_done(&mut self, index: u64, whole: &str, tell: Tell<'_, '_>) {
        if let Some(Slot::Call { arguments }) = self.items.get_mut(&index)
            && let Some(rest) = whole.strip_prefix(arguments.as_str()).filter(|it| !it.is_empty())
        {
            tell(Event::Call { slot: narrow(index), id: None, name: None, arguments: rest });
            arguments.push_str(rest);
        }
    }

    /// An item as a whole: what of it has not come is told now.
    fn item_done(&mut self, index: u64, item: ValueRef<'_>, tell: Tell<'_, '_>) {
        self.item_added(index, item, tell);
        match self.items.get(&index) {
            Some(Slot::Message(_)) => self.message_done(index, item, tell),
            Some(Slot::Call { .. }) => self.call_done(index, item, tell),
            Some(Slot::Reasoning { told }) => {
                if !told {
                    self.reasoning_done(index, item, tell);
                }
                self.order.opaque(reasoning_item(item));
            }
            Some(Slot::Unknown | Slot::Done) | None => {}
        }
        self.items.insert(index, Slot::Done);
    }

    fn message_done(&mut self, index: u64, item: ValueRef<'_>, tell: Tell<'_, '_>) {
        let content = item.get("content");
        for (n, part) in (0..).zip(content.into_iter().flat_map(ValueRef::elements)) {
            let said = matches!(self.items.get(&index), Some(Slot::Message(it)) if it.contains(&n));
            let text = |key| part.get(key).and_then(ValueRef::as_str).unwrap_or_default();
            match text("type") {
                "output_text" if !said => self.text(index, n, text("text"), tell),
                "refusal" if !said => self.refusal(index, n, text("refusal"), tell),
                "output_text" => {}
                _ => self.order.spoil(),
            }
        }
    }

    fn call_done(&mut self, index: u64, item: ValueRef<'_>, tell: Tell<'_, '_>) {
        let text = |key| item.get(key).and_then(ValueRef::as_str).unwrap_or_default();
        self.arguments_done(index, text("arguments"), tell);
        let Some(Slot::Call { arguments }) = self.items.get_mut(&index) else { return };
        let mut arguments = std::mem::take(arguments);
        if text("status") == "incomplete" {
            return self.order.spoil();
        }
        if arguments.is_empty() {
            arguments = "{}".to_owned();
            let (slot, arguments) = (narrow(index), arguments.as_str());
            tell(Event::Call { slot, id: None, name: None, arguments });
        }
        tell(Event::CallEnd { slot: narrow(index) });
        self.order.call(text("name"), &arguments, known_by(item, &["id"]));
    }

    fn reasoning_done(&mut self, index: u64, item: ValueRef<'_>, tell: Tell<'_, '_>) {
        for (key, kind) in [("summary", "summary"), ("content", "text")] {
            let parts = item.get(key).into_iter().flat_map(ValueRef::elements);
            for (n, part) in (0..).zip(parts) {
                let text = part.get("text").and_then(ValueRef::as_str).unwrap_or_default();
                self.reasoning((index, kind, n), text, tell);
            }
        }
    }

    /// The answer ended, well or not.
    fn ended(&mut self, response: ValueRef<'_>, tell: Tell<'_, '_>) -> Result<(), AnswerError> {
        let status = response.get("status").and_then(ValueRef::as_str).unwrap_or("completed");
        let error = response.get("error").filter(|it| !it.is_null());
        let overflow = error.and_then(|it| it.get("code")).and_then(ValueRef::as_str)
            == Some("context_length_exceeded");
        if !overflow && (error.is_some() || matches!(status, "failed" | "cancelled")) {
            return Err(reported(error.unwrap_or(response)));
        }
        self.begin(response, tell);
        let output = response.get("output");
        for (index, item) in (0..).zip(output.into_iter().flat_map(ValueRef::elements)) {
            if !matches!(self.items.get(&index), Some(Slot::Done)) {
                self.item_done(index, item, tell);
            }
        }
        usage(response.get("usage"), tell);
        let details = response.get("incomplete_details").and_then(|it| it.get("reason"));
        let (finish, reason) = match (status, details.and_then(ValueRef::as_str)) {
            _ if overflow => (Some(Finish::ContextOverflow), "context_length_exceeded"),
            ("incomplete", Some("max_output_tokens")) => {
                (Some(Finish::Length), "max_output_tokens")
            }
            ("incomplete", Some("content_filter")) => (Some(Finish::Filtered), "content_filter"),
            ("incomplete", other) => (Some(Finish::Length), other.unwrap_or("incomplete")),
            ("completed", _) if self.refused => (Some(Finish::Refused), "refusal"),
            ("completed", _) if self.called => (Some(Finish::ToolCalls), "completed"),
            ("completed", _) => (Some(Finish::Stop), "completed"),
            (other, _) => (None, other),
        };
        self.opaque(output, tell);
        tell(Event::Finish { finish, reason });
        tell(Event::End);
        self.over = true;
        Ok(())
    }

    /// Tells what the provider wants back. Encrypted reasoning may come only now.
    fn opaque(&mut self, output: Option<ValueRef<'_>>, tell: Tell<'_, '_>) {
        self.order.complete(|kept| {
            let id = kept.get("id").and_then(Value::as_str);
            let items = output.into_iter().flat_map(ValueRef::elements);
            let same =
                |it: &ValueRef<'_>| id.is_some() && it.get("id").and_then(ValueRef::as_str) == id;
            let late = items.filter(same).find_map(|it| it.get("encrypted_content")?.as_str());
            if let (Some(kept), Some(late)) = (kept.as_object_mut(), late) {
                kept.insert("encrypted_content".to_owned(), late.into());
            }
            // Nobody keeps it under its id.
            kept.get("encrypted_content").is_some_and(Value::is_string)
        });
        if let Some(payload) = self.order.finish() {
            tell(Event::ReasoningOpaque { channel: CHANNEL, payload, tag: TAG });
        }
    }
}

impl Decoder for ResponsesDecoder {
    fn event(
        &mut self,
        event: Option<&str>,
        data: &str,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), AnswerError> {
        // Some gateways end every stream like this.
        if self.over || data.trim() == "[DONE]" {
            return Ok(());
        }
        let doc = Document::parse(data).map_err(|error| malformed(&error.to_string()))?;
        let root = doc.root();
        let text = |key| root.get(key).and_then(ValueRef::as_str).unwrap_or_default();
        let number = |key| root.get(key).and_then(ValueRef::as_u64);
        let index = || number("output_index").ok_or_else(|| malformed("an item has no index"));
        let part = |key| number(key).unwrap_or_default();
        let below = |key| root.get(key).ok_or_else(|| malformed(&format!("`{key}` is missing")));
        let kind = root.get("type").and_then(ValueRef::as_str).or(event).unwrap_or_default();
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => {
                self.begin(below("response")?, tell);
            }
            "response.output_item.added" => self.item_added(index()?, below("item")?, tell),
            "response.output_item.done" => self.item_done(index()?, below("item")?, tell),
            "response.output_text.delta" => {
                self.text(index()?, part("content_index"), text("delta"), tell);
            }
            "response.refusal.delta" => {
                self.refusal(index()?, part("content_index"), text("delta"), tell);
            }
            "response.reasoning_summary_text.delta" => {
                self.reasoning((index()?, "summary", part("summary_index")), text("delta"), tell);
            }
            "response.reasoning_text.delta" => {
                self.reasoning((index()?, "text", part("content_index")), text("delta"), tell);
            }
            "response.function_call_arguments.delta" => {
                self.arguments(index()?, text("delta"), tell)?;
            }
            "response.function_call_arguments.done" => {
                self.arguments_done(index()?, text("arguments"), tell);
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => self.ended(below("response")?, tell)?,
            "error" => return Err(reported(root.get("error").unwrap_or(root))),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &[u8], tell: &mut dyn FnMut(Event<'_>)) -> Result<(), AnswerError> {
        let text = str::from_utf8(body).map_err(|_| malformed("it is not UTF-8"))?;
        let doc = Document::parse(text).map_err(|error| malformed(&error.to_string()))?;
        let root = doc.root();
        let failed = root.get("error").is_some_and(|it| !it.is_null());
        if !failed && root.get("output").is_none() {
            return Err(malformed("`output` is missing"));
        }
        self.ended(root, tell)
    }
}

/// What the provider knows an item by.
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

fn usage(usage: Option<ValueRef<'_>>, tell: Tell<'_, '_>) {
    let Some(usage) = usage.filter(|it| !it.is_null()) else { return };
    let count = |key| usage.get(key).and_then(ValueRef::as_u64).unwrap_or_default();
    let detail = |of, key| usage.get(of).and_then(|it| it.get(key)).and_then(ValueRef::as_u64);
    let told = Usage::new(count("input_tokens"), count("output_tokens"))
        .with_cached(detail("input_tokens_details", "cached_tokens").unwrap_or_default())
        .with_reasoning(detail("output_tokens_details", "reasoning_tokens").unwrap_or_default());
    let total = Some(count("total_tokens")).filter(|it| *it > 0);
    tell(Event::Usage(told.with_total(total.unwrap_or(told.total))));
}

fn narrow(index: u64) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn malformed(what: &str) -> AnswerError {
    AnswerError::Malformed(what.to_owned())
}

/// An error that the provider reports.
fn reported(error: ValueRef<'_>) -> AnswerError {
    let text = |key| error.get(key).and_then(ValueRef::as_str);
    let kind = text("code").or_else(|| text("type").filter(|it| *it != "error")).map(str::to_owned);
    let retryable = kind.as_deref().is_some_and(|it| PASSING.contains(&it));
    let message = text("message").unwrap_or("it does not say what").to_owned();
    AnswerError::Provider { kind, message, retryable }
}
