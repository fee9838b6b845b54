//! What several dialects do in the same way.

use std::borrow::Cow;

use haft_core::json::Document;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dialect::{DecodeError, EncodeError, NoteTopic, RequestNote};
use crate::prompt::{AssistantEntry, AssistantThought, ContentPart, OfferedTool, SystemPart};
use crate::tool_schema;

/// The types of images that the APIs of large providers support.
pub(super) const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Lowers the schemas of tools. The schema of each is one text, so that it is the same bytes in every request. `build`
/// gets the schema, and whether it is strict.
pub(super) fn lower_tools<'b, T>(
    offered: &'b [OfferedTool],
    is_strict: bool,
    notes: &mut Vec<RequestNote>,
    build: impl Fn(&'b OfferedTool, Box<RawValue>, bool) -> T,
) -> Result<Vec<T>, EncodeError> {
    let mut tools = Vec::with_capacity(offered.len());
    for it in offered {
        let (name, schema) = (it.tool.name(), it.tool.input_schema());
        let strict = is_strict.then(|| tool_schema::lower_strict(schema, it.tool.strictness()));
        let (lowered, strict) = match strict {
            Some(Ok(lowered)) => (lowered, true),
            Some(Err(error)) => {
                let message = format!("`{name}` is offered without strict mode: {error}");
                notes.push(RequestNote::new(NoteTopic::ToolNotStrict, message));
                (tool_schema::lower_full(schema), false)
            }
            None => (tool_schema::lower_full(schema), false),
        };
        let of_tool =
            |note: RequestNote| RequestNote::new(note.topic, format!("`{name}`: {}", note.message));
        notes.extend(lowered.notes.into_iter().map(of_tool));
        let schema = RawValue::from_string(lowered.text)
            .map_err(|_| EncodeError::new(format!("the schema of `{name}` is not JSON")))?;
        tools.push(build(it, schema, strict));
    }
    Ok(tools)
}

/// Where the names of tools stand in the choice of tools.
pub(super) struct ChoicePaths {
    /// The name of the one tool that is to be called, as JSON pointers; also in each element of the list.
    pub(super) name: &'static [&'static str],
    /// The list of tools that may be called, as a JSON pointer.
    pub(super) list: &'static str,
}

/// The choice of tools, with their names on the wire. Tools that are not offered cannot be chosen.
pub(super) fn choose_tool(
    choice: Option<&Value>,
    offered: &[OfferedTool],
    paths: &ChoicePaths,
    notes: &mut Vec<RequestNote>,
) -> Option<Value> {
    let mut choice = choice?.clone();
    let mut left_out =
        |what: String| notes.push(RequestNote::new(NoteTopic::ToolChoiceLeftOut, what));
    if offered.is_empty() {
        left_out("there are no tools to choose from".to_owned());
        return None;
    }
    // Whether the tool that is named is offered, if one is named.
    let mut rename = |choice: &mut Value| -> bool {
        let Some(path) = paths.name.iter().find(|path| choice.pointer(path).is_some()) else {
            return true;
        };
        let Some(name) = choice.pointer_mut(path) else { return true };
        match offered.iter().find(|it| name.as_str() == Some(it.tool.name().as_str())) {
            Some(tool) => {
                *name = tool.wire_name.as_ref().into();
                true
            }
            None => {
                let name = name.as_str().unwrap_or_default();
                left_out(format!("the tool `{name}` that is to be called is not offered"));
                false
            }
        }
    };
    if !rename(&mut choice) {
        return None;
    }
    if let Some(listed) = choice.pointer_mut(paths.list).and_then(Value::as_array_mut) {
        listed.retain_mut(rename);
        if listed.is_empty() {
            return None;
        }
    }
    Some(choice)
}

/// The parts of the system text, with a blank line between two; `None` if there are none.
pub(super) fn join_system(parts: &[SystemPart]) -> Option<String> {
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Joins texts with a blank line between two.
pub(super) fn join_texts(content: &[ContentPart]) -> Result<Cow<'_, str>, EncodeError> {
    let texts = content.iter().map(text_of).collect::<Result<Vec<_>, _>>()?;
    Ok(match texts.as_slice() {
        [only] => (*only).into(),
        several => several.join("\n\n").into(),
    })
}

/// Thoughts and words of a generation, in this order.
pub(super) fn spoken_texts(entry: &AssistantEntry) -> Result<Vec<&str>, EncodeError> {
    thought_texts(entry).map(Ok).chain(entry.content.iter().map(text_of)).collect()
}

/// The thoughts of a generation that are shown as text.
pub(super) fn thought_texts(entry: &AssistantEntry) -> impl Iterator<Item = &str> {
    entry.thoughts.iter().filter_map(|thought| match thought {
        AssistantThought::Text(text) => Some(text.as_str()),
        AssistantThought::Opaque(_) => None,
    })
}

fn text_of(content: &ContentPart) -> Result<&str, EncodeError> {
    match content {
        ContentPart::Text(text) => Ok(text.as_str()),
        ContentPart::Media(_) => Err(EncodeError::new("only messages of users can hold media")),
    }
}

/// The message of the user that a request ends with if it would end with the model's own words or with nothing.
pub(super) fn closing_message(has_messages: bool, notes: &mut Vec<RequestNote>) -> &'static str {
    let (text, what) = match has_messages {
        false => (BEGIN, "nothing was said, so a message was added"),
        true => ("Continue.", "the last message has to be the user's, so one was added"),
    };
    notes.push(RequestNote::new(NoteTopic::MessageAdded, what));
    text
}

/// The message of the user that begins a conversation in which the user said nothing.
pub(super) const BEGIN: &str = "Begin.";

/// The error that a provider reports.
pub(super) fn reported_error(kind: Option<&str>, message: &str, retryable: bool) -> DecodeError {
    let message = message.chars().take(MAX_MESSAGE).collect();
    DecodeError::Provider { kind: kind.map(str::to_owned), message, retryable }
}

/// The maximum number of characters of a message.
const MAX_MESSAGE: usize = 1000;

/// Parses the body of a response.
pub(super) fn parse_body(body: &[u8]) -> Result<Document, DecodeError> {
    parse_text(str::from_utf8(body).map_err(|_| malformed_response("it is not UTF-8"))?)
}

/// Parses the data of an event.
pub(super) fn parse_text(text: &str) -> Result<Document, DecodeError> {
    Document::parse(text).map_err(|error| malformed_response(&error.to_string()))
}

/// The error of a response that is not valid in the dialect.
pub(super) fn malformed_response(what: &str) -> DecodeError {
    DecodeError::Malformed(what.to_owned())
}
