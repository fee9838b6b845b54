//! Encodes requests: the timeline as messages, tools, options, and thinking that is sent back.

use std::borrow::Cow;
use std::collections::BTreeMap;

use haft_core::media::{MediaKind, decode_base64};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::additions::{ADDITIONS_BETA, BETA_HEADER, ToolAdditions};
use super::cache;
use super::options::{self, WIRE_OPTIONS};
use super::wire::{Block, Message, RequestBody, Role, Source, StoredThinking, Tool};
use crate::dialect::{EncodeError, EncodedRequest, ModelRequest, NoteTopic, RequestNote};
use crate::dialects::shared::{
    BEGIN, ChoicePaths, IMAGES, choose_tool, closing_message, lower_tools, thought_texts,
};
use crate::prompt::{
    AssistantCall, AssistantEntry, CallResult, ContentPart, NativeMedia, Prompt, PromptEntry,
    PromptSection, SystemPart, UserEntry,
};
use crate::replay::{NotReplayed, ReplayPart, ReplayedCall, replay_parts};

pub(super) fn encode_request(request: &ModelRequest<'_>) -> Result<EncodedRequest, EncodeError> {
    let (prompt, wire) = (request.prompt, request.options);
    let mut additions = ToolAdditions::of(request);
    let mut messages = Messages::new(request.model);
    for entry in &prompt.timeline {
        messages.push_entry(entry)?;
        if let PromptEntry::ToolResults(results) = entry {
            messages.push(Role::System, additions.take_after(results));
        }
    }
    messages.push(Role::System, additions.take_rest());
    let (messages, mut notes) = messages.finish();
    let mut body = RequestBody {
        model: request.model,
        max_tokens: options::max_tokens(wire),
        stream: request.delivery.is_streamed(),
        tools: lower_tools(&prompt.tools, false, &mut notes, |it, input_schema, _| Tool {
            name: &it.wire_name,
            description: it.description(),
            input_schema,
            defer_loading: additions.has(&it.wire_name),
            cache_control: None,
        })?,
        tool_choice: choose_tool(wire.get("tool_choice"), &prompt.tools, &CHOICE, &mut notes),
        system: prompt.system.iter().map(|it| Block::text(it.text.as_str())).collect(),
        options: wire_options(wire, &messages, &mut notes),
        messages,
    };
    let ttl = wire.get("cache_ttl").and_then(Value::as_str);
    cache::set_breakpoints(&mut body, options::breakpoints(wire), ttl, stable_parts(prompt));
    ensure_user_turns(&mut body.messages, &prompt.trailing, &mut notes);
    let body = serde_json::to_vec(&body)
        .map_err(|error| EncodeError::new(format!("the request cannot be written: {error}")))?;
    let encoded = EncodedRequest::new(body, notes);
    Ok(if additions.is_empty() {
        encoded
    } else {
        encoded.with_header(BETA_HEADER, ADDITIONS_BETA)
    })
}

/// Where the API has the name of a chosen tool. It has no list of tools that may be called.
const CHOICE: ChoicePaths = ChoicePaths { name: &["/name"], list: "/tools" };

/// The options that are part of the request.
fn wire_options<'b>(
    wire: &'b Map<String, Value>,
    messages: &[Message<'_>],
    notes: &mut Vec<RequestNote>,
) -> BTreeMap<&'static str, Cow<'b, Value>> {
    let mut passed: BTreeMap<&'static str, Cow<'b, Value>> =
        WIRE_OPTIONS.iter().filter_map(|it| Some((*it, Cow::Borrowed(wire.get(*it)?)))).collect();
    if options::thinking(wire) == Some("enabled") && lacks_thinking(messages) {
        let what = "the calls whose results are sent have lost their thinking, so the model does not think now";
        notes.push(RequestNote::new(NoteTopic::ThinkingOff, what));
        passed.insert("thinking", Cow::Owned(json!({ "type": "disabled" })));
    }
    passed
}

/// Whether the last messages are results of calls that were made without thinking, or whose thinking was lost. The API
/// refuses thinking in that case.
fn lacks_thinking(messages: &[Message<'_>]) -> bool {
    let results = |it: &Message<'_>| it.content.first().is_some_and(Block::is_result);
    if !messages.last().is_some_and(results) {
        return false;
    }
    let since = messages.iter().rev().take_while(|it| it.role == Role::Assistant || results(it));
    since
        .filter(|it| it.role == Role::Assistant)
        .last()
        .is_some_and(|it| !it.content.first().is_some_and(Block::is_thinking))
}

/// How many parts at the beginning of the system text are the same in every turn.
fn stable_parts(prompt: &Prompt) -> usize {
    let fixed = |it: &&SystemPart| {
        matches!(it.section, PromptSection::SystemPrompt | PromptSection::StandingInstructions)
    };
    prompt.system.iter().take_while(fixed).count()
}

/// Adds the sections behind the timeline, and ensures that the first and the last message are from the user.
fn ensure_user_turns<'b>(
    messages: &mut Vec<Message<'b>>,
    trailing: &'b [SystemPart],
    notes: &mut Vec<RequestNote>,
) {
    if !trailing.is_empty() {
        let what = "no system text can stand behind messages: it is in the last one of the user";
        notes.push(RequestNote::new(NoteTopic::TrailingSystemMoved, what));
    }
    let blocks = trailing.iter().map(|it| Block::text(it.text.as_str())).collect();
    push_user_blocks(messages, blocks);
    if messages.last().is_none_or(|it| it.role == Role::Assistant) {
        let text = closing_message(!messages.is_empty(), notes);
        push_user_blocks(messages, vec![Block::text(text)]);
    }
    if messages.first().is_some_and(|it| it.role == Role::Assistant) {
        let what = "the first message has to be the user's, so one was added";
        notes.push(RequestNote::new(NoteTopic::MessageAdded, what));
        messages.insert(0, Message { role: Role::User, content: vec![Block::text(BEGIN)] });
    }
}

/// Adds blocks to the last message, if that is from the user, or as a new message.
fn push_user_blocks<'b>(messages: &mut Vec<Message<'b>>, blocks: Vec<Block<'b>>) {
    match messages.last_mut() {
        _ if blocks.is_empty() => {}
        Some(last) if last.role == Role::User => last.content.extend(blocks),
        _ => messages.push(Message { role: Role::User, content: blocks }),
    }
}

/// Whether the API has a block for media of this type.
pub(super) fn is_native(kind: MediaKind, mime_type: &str) -> bool {
    match kind {
        MediaKind::Image => IMAGES.contains(&mime_type),
        MediaKind::Document => matches!(mime_type, "application/pdf" | "text/plain"),
        MediaKind::Audio | MediaKind::Video => false,
    }
}

/// Collects the messages of the timeline.
#[derive(Debug)]
struct Messages<'b> {
    model: &'b str,
    all: Vec<Message<'b>>,
    merged: usize,
    notes: Vec<RequestNote>,
}

impl<'b> Messages<'b> {
    fn new(model: &'b str) -> Self {
        Self { model, all: Vec::new(), merged: 0, notes: Vec::new() }
    }

    fn push_entry(&mut self, entry: &'b PromptEntry) -> Result<(), EncodeError> {
        match entry {
            PromptEntry::User(user) => self.push_user(user),
            PromptEntry::Assistant(entry) => self.push_assistant(entry),
            PromptEntry::ToolResults(results) => self.push_results(results),
        }
    }

    fn push_user(&mut self, user: &'b UserEntry) -> Result<(), EncodeError> {
        let blocks = self.content_blocks(&user.content)?;
        self.push(Role::User, blocks);
        Ok(())
    }

    /// Adds a generation: in the original order of its blocks if it has thinking, else thoughts, text and calls.
    fn push_assistant(&mut self, entry: &'b AssistantEntry) -> Result<(), EncodeError> {
        match replayed_blocks(entry, self.model) {
            Ok(Some(blocks)) => {
                self.push(Role::Assistant, blocks);
                return Ok(());
            }
            Ok(None) => {}
            Err(why) => {
                let what = format!("the thinking of a generation is left out: {why}");
                self.note(NoteTopic::ThinkingLeftOut, what);
            }
        }
        let mut blocks: Vec<Block<'b>> = thought_texts(entry).map(Block::text).collect();
        blocks.extend(self.content_blocks(&entry.content)?);
        for call in &entry.calls {
            blocks.push(tool_use(call)?);
        }
        self.push(Role::Assistant, blocks);
        Ok(())
    }

    fn push_results(&mut self, results: &'b [CallResult]) -> Result<(), EncodeError> {
        let mut blocks = Vec::new();
        for result in results {
            blocks.push(Block::ToolResult {
                tool_use_id: &result.wire_id,
                content: self.content_blocks(&result.content)?,
                is_error: result.is_error,
                cache_control: None,
            });
        }
        self.push(Role::User, blocks);
        Ok(())
    }

    fn content_blocks(
        &mut self,
        content: &'b [ContentPart],
    ) -> Result<Vec<Block<'b>>, EncodeError> {
        let mut blocks = Vec::new();
        for part in content {
            match part {
                ContentPart::Text(text) => blocks.push(Block::text(text.as_str())),
                ContentPart::Media(media) => {
                    blocks.push(Block::text(media.frame.open.as_str()));
                    blocks.push(media_block(media)?);
                    blocks.push(Block::text(media.frame.close.as_str()));
                }
            }
        }
        Ok(self.without_blanks(blocks))
    }

    /// The API refuses texts without a visible character.
    fn without_blanks(&mut self, mut blocks: Vec<Block<'b>>) -> Vec<Block<'b>> {
        let before = blocks.len();
        blocks.retain(|it| !matches!(it, Block::Text { text, .. } if text.trim().is_empty()));
        if blocks.len() < before {
            self.note(
                NoteTopic::BlankTextLeftOut,
                "a text without a visible character is left out",
            );
        }
        blocks
    }

    /// Adds blocks to the last message if it has the same role. Results go before everything else in it.
    fn push(&mut self, role: Role, blocks: Vec<Block<'b>>) {
        if blocks.is_empty() {
            return;
        }
        match self.all.last_mut() {
            Some(last) if last.role == role => {
                self.merged += 1;
                let (results, rest): (Vec<_>, Vec<_>) =
                    blocks.into_iter().partition(Block::is_result);
                let ahead = last.content.iter().take_while(|it| it.is_result()).count();
                if !results.is_empty() && ahead < last.content.len() {
                    let what = "results of calls were moved before what was said meanwhile";
                    self.notes.push(RequestNote::new(NoteTopic::ResultsMoved, what));
                }
                last.content.splice(ahead..ahead, results);
                last.content.extend(rest);
            }
            _ => self.all.push(Message { role, content: blocks }),
        }
    }

    /// Returns the messages, and notes about what was changed.
    fn finish(mut self) -> (Vec<Message<'b>>, Vec<RequestNote>) {
        if self.merged > 0 {
            let what = format!("{} messages were merged with the one before", self.merged);
            self.note(NoteTopic::MessagesMerged, what);
        }
        (self.all, self.notes)
    }

    fn note(&mut self, topic: NoteTopic, message: impl Into<String>) {
        self.notes.push(RequestNote::new(topic, message));
    }
}

fn tool_use(call: &AssistantCall) -> Result<Block<'_>, EncodeError> {
    let input = RawValue::from_string(call.args.to_json().into_owned())
        .map_err(|_| EncodeError::new("the arguments of a call are not JSON"))?;
    Ok(Block::ToolUse { id: &call.wire_id, name: &call.wire_name, input })
}

fn media_block(media: &NativeMedia) -> Result<Block<'_>, EncodeError> {
    let (media_type, data) = (media.mime_type.as_str(), &*media.base64);
    let cache_control = None;
    match media.kind {
        MediaKind::Image => {
            Ok(Block::Image { source: Source::Base64 { media_type, data }, cache_control })
        }
        MediaKind::Document if media_type == "text/plain" => {
            let bytes = decode_base64(data.as_bytes());
            let bytes = bytes.ok_or_else(|| EncodeError::new("a document is not base64"))?;
            let data = String::from_utf8_lossy(&bytes).into_owned();
            Ok(Block::Document { source: Source::Text { media_type, data }, cache_control })
        }
        MediaKind::Document => {
            Ok(Block::Document { source: Source::Base64 { media_type, data }, cache_control })
        }
        MediaKind::Audio | MediaKind::Video => {
            Err(EncodeError::new(format!("there is no block for `{media_type}`")))
        }
    }
}

/// The blocks of a generation with thinking, in their original order; `None` if it has no thinking.
fn replayed_blocks<'b>(
    entry: &'b AssistantEntry,
    model: &str,
) -> Result<Option<Vec<Block<'b>>>, NotReplayed> {
    let Some(parts) = replay_parts(entry, model)? else { return Ok(None) };
    let mut blocks = Vec::new();
    for part in parts {
        match part {
            ReplayPart::Opaque(value) => blocks.push(thinking_block(value)?),
            // The API refuses such texts, even its own.
            ReplayPart::Text { text, .. } if text.trim().is_empty() => {}
            ReplayPart::Text { text, .. } => blocks.push(Block::text(text)),
            ReplayPart::Call { call: ReplayedCall(call), .. } => {
                blocks.push(tool_use(call).map_err(|_| "its calls have changed")?);
            }
        }
    }
    Ok(Some(blocks))
}

fn thinking_block<'b>(value: Value) -> Result<Block<'b>, NotReplayed> {
    match serde_json::from_value(value) {
        Ok(StoredThinking::Thinking { thinking, signature }) => {
            Ok(Block::Thinking { thinking, signature })
        }
        Ok(StoredThinking::RedactedThinking { data }) => Ok(Block::RedactedThinking { data }),
        Err(_) => Err("its record cannot be read"),
    }
}
