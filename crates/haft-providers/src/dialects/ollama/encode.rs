//! Encodes requests: messages, tools, options.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::value::RawValue;

use super::options::RequestOptions;
use super::wire::{CallItem, CalledFunction, Function, Message, Tool};
use crate::dialect::{EncodeError, EncodedRequest, ModelRequest};
use crate::dialects::shared::{join_system, join_texts, lower_tools, spoken_texts};
use crate::prompt::{AssistantEntry, CallResult, ContentPart, PromptEntry, SystemPart, UserEntry};

/// Encodes a request.
pub(super) fn encode_request(request: &ModelRequest<'_>) -> Result<EncodedRequest, EncodeError> {
    let mut notes = Vec::new();
    let tools = lower_tools(&request.prompt.tools, false, &mut notes, |it, parameters, _| {
        let (name, description) = (&*it.wire_name, it.description());
        Tool { r#type: "function", function: Function { name, description, parameters } }
    })?;
    let body = RequestBody { request, messages: messages(request)?, tools };
    let body = serde_json::to_vec(&body).map_err(|error| EncodeError::new(error.to_string()))?;
    Ok(EncodedRequest::new(body, notes))
}

struct RequestBody<'a> {
    request: &'a ModelRequest<'a>,
    messages: Vec<Message<'a>>,
    tools: Vec<Tool<'a>>,
}

impl Serialize for RequestBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ModelRequest { model, options, delivery, .. } = *self.request;
        let options = RequestOptions::new(options);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", model)?;
        map.serialize_entry("messages", &self.messages)?;
        if !self.tools.is_empty() {
            map.serialize_entry("tools", &self.tools)?;
        }
        for (name, value) in &options.top_level {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry("options", &options.nested)?;
        map.serialize_entry("stream", &delivery.is_streamed())?;
        map.end()
    }
}

fn messages<'a>(request: &ModelRequest<'a>) -> Result<Vec<Message<'a>>, EncodeError> {
    let prompt = request.prompt;
    let mut all = Vec::with_capacity(prompt.timeline.len() + 2);
    all.extend(system_message(&prompt.system));
    for entry in &prompt.timeline {
        match entry {
            PromptEntry::User(user) => all.push(user_message(user)),
            PromptEntry::Assistant(entry) => all.push(assistant_message(entry)?),
            PromptEntry::ToolResults(results) => {
                for result in results {
                    all.push(result_message(result)?);
                }
            }
        }
    }
    all.extend(system_message(&prompt.trailing));
    Ok(all)
}

fn system_message<'a>(parts: &[SystemPart]) -> Option<Message<'a>> {
    join_system(parts).map(|content| Message { role: "system", content, ..Message::default() })
}

/// A message of a user. Its images are a separate list, in the order of their frames in the text.
fn user_message(user: &UserEntry) -> Message<'_> {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for part in &user.content {
        match part {
            ContentPart::Text(text) => texts.push(text.as_str()),
            ContentPart::Media(media) => {
                texts.extend([media.frame.open.as_str(), media.frame.close.as_str()]);
                images.push(&*media.base64);
            }
        }
    }
    Message { role: "user", content: texts.join("\n\n"), images, ..Message::default() }
}

fn assistant_message(entry: &AssistantEntry) -> Result<Message<'_>, EncodeError> {
    let content = spoken_texts(entry)?.join("\n\n");
    let mut tool_calls = Vec::with_capacity(entry.calls.len());
    for call in &entry.calls {
        let arguments = raw_json(call.args.to_json().into_owned())?;
        let function = CalledFunction { name: &call.wire_name, arguments };
        tool_calls.push(CallItem { id: &call.wire_id, function });
    }
    Ok(Message { role: "assistant", content, tool_calls, ..Message::default() })
}

fn result_message(result: &CallResult) -> Result<Message<'_>, EncodeError> {
    Ok(Message {
        role: "tool",
        content: join_texts(&result.content)?.into_owned(),
        tool_name: Some(&result.wire_name),
        tool_call_id: Some(&result.wire_id),
        ..Message::default()
    })
}

/// A JSON text that is inserted into the request unchanged.
fn raw_json(text: String) -> Result<Box<RawValue>, EncodeError> {
    RawValue::from_string(text).map_err(|error| EncodeError::new(error.to_string()))
}
