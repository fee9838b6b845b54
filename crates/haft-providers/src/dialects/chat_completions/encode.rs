//! Requests.

use std::borrow::Cow;

use haft_core::media::MediaKind;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::options::renamed;
use crate::dialect::{CannotEncode, Encoded, Note, Request};
use crate::down_schema::{self, Lowered};
use crate::prompt::{Content, Entry, Heard, NativeMedia, OfferedTool, Own, OwnThought, SystemPart};

/// Writes a request.
pub(super) fn request(request: &Request<'_>) -> Result<Encoded, CannotEncode> {
    let mut notes = Vec::new();
    let tools = tools(request, &mut notes)?;
    let body = Body { request, messages: messages(request)?, tools };
    let tools = &request.prompt.tools;
    for key in
        NEED_TOOLS.iter().filter(|key| tools.is_empty() && request.options.contains_key(**key))
    {
        let message = format!("`{key}` was left out because there are no tools");
        notes.push(Note::new("option-without-tools", message));
    }
    let body = serde_json::to_vec(&body).map_err(|error| CannotEncode(error.to_string()))?;
    Ok(Encoded::new(body, notes))
}

/// The option that makes providers hold the model to the schemas of tools.
const STRICT: &str = "strict";

/// Options that are refused in a request without tools.
const NEED_TOOLS: [&str; 2] = ["tool_choice", "parallel_tool_calls"];

struct Body<'a> {
    request: &'a Request<'a>,
    messages: Vec<Message<'a>>,
    tools: Vec<Tool<'a>>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Request { model, options, stream, prompt, .. } = *self.request;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", model)?;
        map.serialize_entry("messages", &self.messages)?;
        if !self.tools.is_empty() {
            map.serialize_entry("tools", &self.tools)?;
        }
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
                    map.serialize_entry(key, &renamed(value, &wire))?;
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

#[derive(serde::Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: String,
    },
    User {
        content: Words<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
    },
    Assistant {
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum Words<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
    InputAudio { input_audio: InputAudio<'a> },
    File { file: File<'a> },
}

#[derive(serde::Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(serde::Serialize)]
struct InputAudio<'a> {
    data: &'a str,
    format: &'static str,
}

#[derive(serde::Serialize)]
struct File<'a> {
    filename: &'a str,
    file_data: String,
}

#[derive(serde::Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CalledFunction<'a>,
}

#[derive(serde::Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

#[derive(serde::Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(serde::Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Box<RawValue>,
    #[serde(skip_serializing_if = "is_not")]
    strict: bool,
}

fn messages<'a>(request: &Request<'a>) -> Result<Vec<Message<'a>>, CannotEncode> {
    let prompt = request.prompt;
    let mut all = Vec::with_capacity(prompt.timeline.len() + 2);
    all.extend(system(&prompt.system));
    for entry in &prompt.timeline {
        match entry {
            Entry::Heard(heard) => all.push(said_to(heard)?),
            Entry::Own(own) => all.push(said_by(own)?),
            Entry::Results(results) => {
                for result in results {
                    let content = texts(&result.content)?;
                    all.push(Message::Tool { tool_call_id: &result.wire_id, content });
                }
            }
        }
    }
    all.extend(system(&prompt.trailing));
    Ok(all)
}

fn system<'a>(parts: &[SystemPart]) -> Option<Message<'a>> {
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    (!texts.is_empty()).then(|| Message::System { content: texts.join("\n\n") })
}

fn said_to(heard: &Heard) -> Result<Message<'_>, CannotEncode> {
    let name = heard.name.as_deref();
    if heard.content.iter().all(|it| matches!(it, Content::Text(_))) {
        return Ok(Message::User { content: Words::Text(texts(&heard.content)?), name });
    }
    let mut parts = Vec::new();
    for content in &heard.content {
        match content {
            Content::Text(text) => parts.push(Part::Text { text: text.as_str() }),
            Content::Media(media) => {
                parts.push(Part::Text { text: media.frame.open.as_str() });
                parts.push(block(media)?);
                parts.push(Part::Text { text: media.frame.close.as_str() });
            }
        }
    }
    Ok(Message::User { content: Words::Parts(parts), name })
}

fn said_by(own: &Own) -> Result<Message<'_>, CannotEncode> {
    let thoughts = own.thoughts.iter().filter_map(|thought| match thought {
        OwnThought::Text(text) => Some(text.as_str()),
        OwnThought::Opaque(_) => None,
    });
    let words = own.content.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    let all: Vec<&str> = thoughts.chain(words).collect();
    let tool_calls: Vec<Call<'_>> = own
        .calls
        .iter()
        .map(|call| Call {
            id: &call.wire_id,
            r#type: "function",
            function: CalledFunction { name: &call.wire_name, arguments: call.args.to_json() },
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

/// Texts, one blank line between two.
fn texts(content: &[Content]) -> Result<Cow<'_, str>, CannotEncode> {
    let all = content.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    Ok(match all.as_slice() {
        [only] => (*only).into(),
        several => several.join("\n\n").into(),
    })
}

fn text(content: &Content) -> Result<&str, CannotEncode> {
    match content {
        Content::Text(text) => Ok(text.as_str()),
        Content::Media(_) => Err(CannotEncode("only messages of users can hold media".to_owned())),
    }
}

fn block(media: &NativeMedia) -> Result<Part<'_>, CannotEncode> {
    let url = || format!("data:{};base64,{}", media.mime_type, media.base64);
    Ok(match media.kind {
        MediaKind::Image => Part::ImageUrl { image_url: ImageUrl { url: url() } },
        MediaKind::Document => {
            Part::File { file: File { filename: &media.filename, file_data: url() } }
        }
        MediaKind::Audio | MediaKind::Video => {
            let Some(format) = audio_format(&media.mime_type) else {
                let what = format!("`{}` cannot be shown", media.mime_type);
                return Err(CannotEncode(what));
            };
            Part::InputAudio { input_audio: InputAudio { data: &media.base64, format } }
        }
    })
}

/// How the wire calls a type of sound.
pub(super) fn audio_format(mime_type: &str) -> Option<&'static str> {
    let (kind, of) = mime_type.split_once('/')?;
    match of {
        _ if kind != "audio" => None,
        "wav" | "wave" | "x-wav" | "vnd.wave" => Some("wav"),
        "mpeg" | "mp3" | "mpeg3" | "x-mp3" | "x-mpeg" | "x-mpeg-3" => Some("mp3"),
        _ => None,
    }
}

/// The tools, each as it was always written: its schema is one text from beginning to end.
fn tools<'a>(request: &Request<'a>, notes: &mut Vec<Note>) -> Result<Vec<Tool<'a>>, CannotEncode> {
    let is_strict = request.options.get(STRICT).and_then(Value::as_bool).unwrap_or_default();
    let mut tools = Vec::with_capacity(request.prompt.tools.len());
    for offered in &request.prompt.tools {
        let (lowered, strict) = lowered(offered, is_strict, notes);
        notes.extend(lowered.notes);
        let parameters = RawValue::from_string(lowered.text);
        let parameters = parameters.map_err(|error| CannotEncode(error.to_string()))?;
        let (name, description) = (&*offered.wire_name, offered.tool.description());
        let function = Function { name, description, parameters, strict };
        tools.push(Tool { r#type: "function", function });
    }
    Ok(tools)
}

/// The schema of a tool as the provider takes it, and whether the model can be held to it.
fn lowered(offered: &OfferedTool, strict: bool, notes: &mut Vec<Note>) -> (Lowered, bool) {
    let schema = offered.tool.input_schema();
    if strict {
        match down_schema::strict(schema, offered.tool.strictness()) {
            Ok(lowered) => return (lowered, true),
            Err(error) => {
                let tool = offered.tool.name();
                let message = format!("`{tool}` is offered without strict mode: {error}");
                notes.push(Note::new("tool-not-strict", message));
            }
        }
    }
    (down_schema::full(schema), false)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
const fn is_not(flag: &bool) -> bool {
    !*flag
}
