//! Requests.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::cache;
use super::messages::Messages;
use super::options::{self, WIRE};
use super::wire::{Block, Body, Message, Role, Tool};
use crate::dialect::{CannotEncode, Encoded, Note, Request};
use crate::down_schema;
use crate::prompt::{Bucket, OfferedTool, Prompt, SystemPart};

/// What is said to the model where nobody says anything but the API wants somebody to.
const BEGIN: &str = "Begin.";
const CONTINUE: &str = "Continue.";

pub(super) fn encode(request: &Request<'_>) -> Result<Encoded, CannotEncode> {
    let (prompt, wire) = (request.prompt, request.options);
    let mut messages = Messages::new(request.model);
    for entry in &prompt.timeline {
        messages.entry(entry)?;
    }
    let (messages, mut notes) = messages.finish();
    let mut body = Body {
        model: request.model,
        max_tokens: options::max_tokens(wire),
        stream: request.stream,
        tools: tools(&prompt.tools, &mut notes)?,
        tool_choice: tool_choice(wire, &prompt.tools, &mut notes),
        system: prompt.system.iter().map(|it| Block::text(it.text.as_str())).collect(),
        options: passed(wire, &messages, &mut notes),
        messages,
    };
    let ttl = wire.get("cache_ttl").and_then(Value::as_str);
    cache::set(&mut body, options::breakpoints(wire), ttl, stable(prompt));
    enclose(&mut body.messages, &prompt.trailing, &mut notes);
    let body = serde_json::to_vec(&body)
        .map_err(|error| CannotEncode::new(format!("the request cannot be written: {error}")))?;
    Ok(Encoded::new(body, notes))
}

fn tools<'b>(
    offered: &'b [OfferedTool],
    notes: &mut Vec<Note>,
) -> Result<Vec<Tool<'b>>, CannotEncode> {
    let mut tools = Vec::new();
    for it in offered {
        let lowered = down_schema::full(it.tool.input_schema());
        let of_tool =
            |note: Note| Note::new(note.topic, format!("`{}`: {}", it.tool.name(), note.message));
        notes.extend(lowered.notes.into_iter().map(of_tool));
        let input_schema = RawValue::from_string(lowered.text).map_err(|_| {
            CannotEncode::new(format!("the schema of `{}` is not JSON", it.tool.name()))
        })?;
        let description = it.tool.description();
        tools.push(Tool { name: &it.wire_name, description, input_schema, cache_control: None });
    }
    Ok(tools)
}

/// The choice of tools, with the name of a tool as the wire has it.
fn tool_choice(
    wire: &Map<String, Value>,
    offered: &[OfferedTool],
    notes: &mut Vec<Note>,
) -> Option<Value> {
    let mut choice = wire.get("tool_choice")?.clone();
    if offered.is_empty() {
        notes.push(Note::new("tool-choice-left-out", "there are no tools to choose from"));
        return None;
    }
    if let Some(name) = choice.get("name").and_then(Value::as_str) {
        match offered.iter().find(|it| it.tool.name().as_str() == name) {
            Some(tool) => *choice.get_mut("name")? = json!(&*tool.wire_name),
            None => {
                let what = format!("the tool `{name}` that is to be called is not offered");
                notes.push(Note::new("tool-choice-left-out", what));
                return None;
            }
        }
    }
    Some(choice)
}

/// The options that are sent.
fn passed<'b>(
    wire: &'b Map<String, Value>,
    messages: &[Message<'_>],
    notes: &mut Vec<Note>,
) -> BTreeMap<&'static str, Cow<'b, Value>> {
    let mut passed: BTreeMap<&'static str, Cow<'b, Value>> =
        WIRE.iter().filter_map(|it| Some((*it, Cow::Borrowed(wire.get(*it)?)))).collect();
    if options::thinking(wire) == Some("enabled") && lacks_thinking(messages) {
        let what = "the calls whose results are sent have lost their thinking, so the model does not think now";
        notes.push(Note::new("thinking-off", what));
        passed.insert("thinking", Cow::Owned(json!({ "type": "disabled" })));
    }
    passed
}

/// Whether the model is in the middle of calls that it made without thinking, or whose thinking was lost. The API
/// refuses to let it think then.
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

/// How many parts at the beginning of the system text are the same in every turn, if others follow.
fn stable(prompt: &Prompt) -> usize {
    let fixed =
        |it: &&SystemPart| matches!(it.bucket, Bucket::SystemPrompt | Bucket::StandingInstructions);
    prompt.system.iter().take_while(fixed).count()
}

/// Adds what stands behind the timeline, and sees to it that the user speaks first and last.
fn enclose<'b>(messages: &mut Vec<Message<'b>>, trailing: &'b [SystemPart], notes: &mut Vec<Note>) {
    if !trailing.is_empty() {
        let what = "no system text can stand behind messages: it is in the last one of the user";
        notes.push(Note::new("trailing-system-moved", what));
    }
    let blocks = trailing.iter().map(|it| Block::text(it.text.as_str())).collect();
    say(messages, blocks);
    if messages.last().is_none_or(|it| it.role == Role::Assistant) {
        let (text, what) = match messages.is_empty() {
            true => (BEGIN, "nothing was said, so a message was added"),
            false => (CONTINUE, "the last message has to be the user's, so one was added"),
        };
        notes.push(Note::new("message-added", what));
        say(messages, vec![Block::text(text)]);
    }
    if messages.first().is_some_and(|it| it.role == Role::Assistant) {
        let what = "the first message has to be the user's, so one was added";
        notes.push(Note::new("message-added", what));
        messages.insert(0, Message { role: Role::User, content: vec![Block::text(BEGIN)] });
    }
}

/// Adds to what the user says last.
fn say<'b>(messages: &mut Vec<Message<'b>>, blocks: Vec<Block<'b>>) {
    match messages.last_mut() {
        _ if blocks.is_empty() => {}
        Some(last) if last.role == Role::User => last.content.extend(blocks),
        _ => messages.push(Message { role: Role::User, content: blocks }),
    }
}
