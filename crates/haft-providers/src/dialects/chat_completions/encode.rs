//! Encodes requests: messages, tools, options.

use haft_core::media::MediaKind;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

use super::wire::{
    CallItem, CalledFunction, File, Function, ImageUrl, InputAudio, Message, MessageContent, Part,
    Tool,
};
use crate::dialect::{EncodeError, EncodedRequest, ModelRequest, NoteTopic, RequestNote};
use crate::dialects::shared::{
    ChoicePaths, choose_tool, join_system, join_texts, lower_tools, spoken_texts,
};
use crate::prompt::{AssistantEntry, ContentPart, NativeMedia, PromptEntry, SystemPart, UserEntry};

/// Encodes a request.
pub(super) fn encode_request(request: &ModelRequest<'_>) -> Result<EncodedRequest, EncodeError> {
    let mut notes = Vec::new();
    let (offered, options) = (&request.prompt.tools, request.options);
    let is_strict = options.get(STRICT).and_then(Value::as_bool).unwrap_or_default();
    let tools = lower_tools(offered, is_strict, &mut notes, |it, parameters, strict| {
        let (name, description) = (&*it.wire_name, it.description());
        Tool { r#type: "function", function: Function { name, description, parameters, strict } }
    })?;
    for key in NEED_TOOLS.iter().filter(|key| tools.is_empty() && options.contains_key(**key)) {
        let message = format!("`{key}` was left out because there are no tools");
        notes.push(RequestNote::new(NoteTopic::OptionWithoutTools, message));
    }
    let choice = options.get(TOOL_CHOICE).filter(|_| !tools.is_empty());
    let tool_choice = choose_tool(choice, offered, &CHOICE, &mut notes);
    let body = RequestBody { request, messages: messages(request)?, tools, tool_choice };
    let body = serde_json::to_vec(&body).map_err(|error| EncodeError(error.to_string()))?;
    Ok(EncodedRequest::new(body, notes))
}

/// The option that makes providers enforce the schemas of tools.
const STRICT: &str = "strict";

/// The option that names the tools that are to be called.
const TOOL_CHOICE: &str = "tool_choice";

/// Where it has their names.
const CHOICE: ChoicePaths =
    ChoicePaths { name: &["/function/name", "/custom/name"], list: "/allowed_tools/tools" };

/// Options that are refused in a request without tools.
const NEED_TOOLS: [&str; 2] = [TOOL_CHOICE, "parallel_tool_calls"];

struct RequestBody<'a> {
    request: &'a ModelRequest<'a>,
    messages: Vec<Message<'a>>,
    tools: Vec<Tool<'a>>,
    tool_choice: Option<Value>,
}

impl Serialize for RequestBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ModelRequest { model, options, delivery, .. } = *self.request;
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
                TOOL_CHOICE => {
                    if let Some(choice) = &self.tool_choice {
                        map.serialize_entry(key, choice)?;
                    }
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
    join_system(parts).map(|content| Message::System { content })
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
    let texts = spoken_texts(entry)?;
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
    let content = match texts.as_slice() {
        [] if tool_calls.is_empty() => Some("".into()),
        [] => None,
        [only] => Some((*only).into()),
        several => Some(several.join("\n\n").into()),
    };
    Ok(Message::Assistant { content, tool_calls })
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
