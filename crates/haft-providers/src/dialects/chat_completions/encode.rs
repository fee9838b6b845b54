//! Encodes requests: messages, tools, options.

use std::borrow::Cow;

use haft_core::media::MediaKind;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::options::rename_tool_choice;
use super::wire::{
    CallItem, CalledFunction, File, Function, ImageUrl, InputAudio, Message, MessageContent, Part,
    Tool,
};
use crate::dialect::{EncodeError, EncodedRequest, ModelRequest, NoteTopic, RequestNote};
use crate::prompt::{
    AssistantEntry, AssistantThought, ContentPart, NativeMedia, OfferedTool, PromptEntry,
    SystemPart, UserEntry,
};
use crate::tool_schema::{self, LoweredSchema};

/// Encodes a request.
pub(super) fn encode_request(request: &ModelRequest<'_>) -> Result<EncodedRequest, EncodeError> {
    let mut notes = Vec::new();
    let tools = tools(request, &mut notes)?;
    let body = RequestBody { request, messages: messages(request)?, tools };
    let tools = &request.prompt.tools;
    for key in
        NEED_TOOLS.iter().filter(|key| tools.is_empty() && request.options.contains_key(**key))
    {
        let message = format!("`{key}` was left out because there are no tools");
        notes.push(RequestNote::new(NoteTopic::OptionWithoutTools, message));
    }
    let body = serde_json::to_vec(&body).map_err(|error| EncodeError(error.to_string()))?;
    Ok(EncodedRequest::new(body, notes))
}

/// The option that makes providers enforce the schemas of tools.
const STRICT: &str = "strict";

/// Options that are refused in a request without tools.
const NEED_TOOLS: [&str; 2] = ["tool_choice", "parallel_tool_calls"];

struct RequestBody<'a> {
    request: &'a ModelRequest<'a>,
    messages: Vec<Message<'a>>,
    tools: Vec<Tool<'a>>,
}

impl Serialize for RequestBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ModelRequest { model, options, delivery, prompt, .. } = *self.request;
        let stream = delivery.is_streamed();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", model)?;
        // The order in which providers cache: what changes last is behind what stays.
        if !self.tools.is_empty() {
            map.serialize_entry("tools", &self.tools)?;
        }
        map.serialize_entry("messages", &self.messages)?;
        for (key, value) in options {
            match key.as_str() {
                key if NEED_TOOLS.contains(&key) && self.tools.is_empty() => {}
                "stream_options" if !stream => {}
                // It is said of each tool.
                STRICT => {}
                "tool_choice" => {
                    let wire = |name: &str| {
                        let tool = prompt.tools.iter().find(|it| it.tool.name().as_str() == name);
                        tool.map(|it| it.wire_name.as_ref().to_owned())
                    };
                    map.serialize_entry(key, &rename_tool_choice(value, &wire))?;
                }
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.serialize_entry("stream", &stream)?;
        if stream && !options.contains_key("stream_options") {
            map.serialize_entry("stream_options", &serde_json::json!({ "include_usage": true }))?;
        }
        map.end()
    }
}

fn messages<'a>(request: &ModelRequest<'a>) -> Result<Vec<Message<'a>>, EncodeError> {
    let prompt = request.prompt;
    let mut all = Vec::with_capacity(prompt.timeline.len() + 2);
    all.extend(system_message(&prompt.system));
    for entry in &prompt.timeline {
        match entry {
            PromptEntry::User(user) => all.push(user_message(user)?),
            PromptEntry::Assistant(entry) => all.push(assistant_message(entry)?),
            PromptEntry::ToolResults(results) => {
                for result in results {
                    let content = join_texts(&result.content)?;
                    all.push(Message::Tool { tool_call_id: &result.wire_id, content });
                }
            }
        }
    }
    all.extend(system_message(&prompt.trailing));
    Ok(all)
}

fn system_message<'a>(parts: &[SystemPart]) -> Option<Message<'a>> {
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    (!texts.is_empty()).then(|| Message::System { content: texts.join("\n\n") })
}

fn user_message(user: &UserEntry) -> Result<Message<'_>, EncodeError> {
    let name = user.name.as_deref();
    if user.content.iter().all(|it| matches!(it, ContentPart::Text(_))) {
        return Ok(Message::User {
            content: MessageContent::Text(join_texts(&user.content)?),
            name,
        });
    }
    let mut parts = Vec::new();
    for content in &user.content {
        match content {
            ContentPart::Text(text) => parts.push(Part::Text { text: text.as_str() }),
            ContentPart::Media(media) => {
                parts.push(Part::Text { text: media.frame.open.as_str() });
                parts.push(media_part(media)?);
                parts.push(Part::Text { text: media.frame.close.as_str() });
            }
        }
    }
    Ok(Message::User { content: MessageContent::Parts(parts), name })
}

fn assistant_message(entry: &AssistantEntry) -> Result<Message<'_>, EncodeError> {
    let thoughts = entry.thoughts.iter().filter_map(|thought| match thought {
        AssistantThought::Text(text) => Some(text.as_str()),
        AssistantThought::Opaque(_) => None,
    });
    let words = entry.content.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    let all: Vec<&str> = thoughts.chain(words).collect();
    let tool_calls: Vec<CallItem<'_>> = entry
        .calls
        .iter()
        .map(|call| CallItem {
            id: &call.wire_id,
            r#type: "function",
            function: CalledFunction { name: &call.wire_name, arguments: call.args.to_json() },
            extra_content: call.opaque.as_deref(),
        })
        .collect();
    let content = match all.as_slice() {
        [] if tool_calls.is_empty() => Some("".into()),
        [] => None,
        [only] => Some((*only).into()),
        several => Some(several.join("\n\n").into()),
    };
    Ok(Message::Assistant { content, tool_calls })
}

/// Joins texts with a blank line between two.
fn join_texts(content: &[ContentPart]) -> Result<Cow<'_, str>, EncodeError> {
    let all = content.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    Ok(match all.as_slice() {
        [only] => (*only).into(),
        several => several.join("\n\n").into(),
    })
}

fn text(content: &ContentPart) -> Result<&str, EncodeError> {
    match content {
        ContentPart::Text(text) => Ok(text.as_str()),
        ContentPart::Media(_) => {
            Err(EncodeError("only messages of users can hold media".to_owned()))
        }
    }
}

fn media_part(media: &NativeMedia) -> Result<Part<'_>, EncodeError> {
    let url = || format!("data:{};base64,{}", media.mime_type, media.base64);
    Ok(match media.kind {
        MediaKind::Image => Part::ImageUrl { image_url: ImageUrl { url: url() } },
        MediaKind::Document => {
            Part::File { file: File { filename: &media.filename, file_data: url() } }
        }
        MediaKind::Audio | MediaKind::Video => {
            let Some(format) = audio_format(&media.mime_type) else {
                let what = format!("`{}` cannot be shown", media.mime_type);
                return Err(EncodeError(what));
            };
            Part::InputAudio { input_audio: InputAudio { data: &media.base64, format } }
        }
    })
}

/// The name of an audio format on the wire.
pub(super) fn audio_format(mime_type: &str) -> Option<&'static str> {
    let (kind, of) = mime_type.split_once('/')?;
    match of {
        _ if kind != "audio" => None,
        "wav" | "wave" | "x-wav" | "vnd.wave" => Some("wav"),
        "mpeg" | "mp3" | "mpeg3" | "x-mp3" | "x-mpeg" | "x-mpeg-3" => Some("mp3"),
        _ => None,
    }
}

/// The tools. The schema of each is one text, so that it is the same bytes in every request.
fn tools<'a>(
    request: &ModelRequest<'a>,
    notes: &mut Vec<RequestNote>,
) -> Result<Vec<Tool<'a>>, EncodeError> {
    let is_strict = request.options.get(STRICT).and_then(Value::as_bool).unwrap_or_default();
    let mut tools = Vec::with_capacity(request.prompt.tools.len());
    for offered in &request.prompt.tools {
        let (lowered, strict) = lower_schema(offered, is_strict, notes);
        notes.extend(lowered.notes);
        let parameters = RawValue::from_string(lowered.text);
        let parameters = parameters.map_err(|error| EncodeError(error.to_string()))?;
        let (name, description) = (&*offered.wire_name, offered.description());
        let function = Function { name, description, parameters, strict };
        tools.push(Tool { r#type: "function", function });
    }
    Ok(tools)
}

/// Lowers the schema of a tool; says whether the result is strict.
fn lower_schema(
    offered: &OfferedTool,
    strict: bool,
    notes: &mut Vec<RequestNote>,
) -> (LoweredSchema, bool) {
    let schema = offered.tool.input_schema();
    if strict {
        match tool_schema::lower_strict(schema, offered.tool.strictness()) {
            Ok(lowered) => return (lowered, true),
            Err(error) => {
                let tool = offered.tool.name();
                let message = format!("`{tool}` is offered without strict mode: {error}");
                notes.push(RequestNote::new(NoteTopic::ToolNotStrict, message));
            }
        }
    }
    (tool_schema::lower_full(schema), false)
}
