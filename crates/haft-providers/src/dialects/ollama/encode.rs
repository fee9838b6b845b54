//! Encodes requests: messages, tools, options.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::value::RawValue;

use super::options::RequestOptions;
use super::wire::{CallItem, CalledFunction, Function, Message, Tool};
use crate::dialect::{EncodeError, EncodedRequest, ModelRequest, RequestNote};
use crate::prompt::{
    AssistantEntry, AssistantThought, CallResult, ContentPart, PromptEntry, SystemPart, UserEntry,
};
use crate::tool_schema;

/// Encodes a request.
pub(super) fn encode_request(request: &ModelRequest<'_>) -> Result<EncodedRequest, EncodeError> {
    let mut notes = Vec::new();
    let tools = tools(request, &mut notes)?;
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
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    let content = texts.join("\n\n");
    (!texts.is_empty()).then(|| Message { role: "system", content, ..Message::default() })
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
    let thoughts = entry.thoughts.iter().filter_map(|thought| match thought {
        AssistantThought::Text(text) => Some(text.as_str()),
        AssistantThought::Opaque(_) => None,
    });
    let words = entry.content.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    let content = thoughts.chain(words).collect::<Vec<_>>().join("\n\n");
    let mut tool_calls = Vec::with_capacity(entry.calls.len());
    for call in &entry.calls {
        let arguments = raw_json(call.args.to_json().into_owned())?;
        let function = CalledFunction { name: &call.wire_name, arguments };
        tool_calls.push(CallItem { id: &call.wire_id, function });
    }
    Ok(Message { role: "assistant", content, tool_calls, ..Message::default() })
}

fn result_message(result: &CallResult) -> Result<Message<'_>, EncodeError> {
    let texts = result.content.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    Ok(Message {
        role: "tool",
        content: texts.join("\n\n"),
        tool_name: Some(&result.wire_name),
        tool_call_id: Some(&result.wire_id),
        ..Message::default()
    })
}

fn text(content: &ContentPart) -> Result<&str, EncodeError> {
    match content {
        ContentPart::Text(text) => Ok(text.as_str()),
        ContentPart::Media(_) => Err(EncodeError::new("only messages of users can hold media")),
    }
}

/// The tools. The schema of each is one text, so that it is the same bytes in every request.
fn tools<'a>(
    request: &ModelRequest<'a>,
    notes: &mut Vec<RequestNote>,
) -> Result<Vec<Tool<'a>>, EncodeError> {
    let mut tools = Vec::with_capacity(request.prompt.tools.len());
    for offered in &request.prompt.tools {
        let lowered = tool_schema::lower_full(offered.tool.input_schema());
        notes.extend(lowered.notes);
        let parameters = raw_json(lowered.text)?;
        let (name, description) = (&*offered.wire_name, offered.description());
        let function = Function { name, description, parameters };
        tools.push(Tool { r#type: "function", function });
    }
    Ok(tools)
}

/// A JSON text that is inserted into the request unchanged.
fn raw_json(text: String) -> Result<Box<RawValue>, EncodeError> {
    RawValue::from_string(text).map_err(|error| EncodeError::new(error.to_string()))
}
