//! Encodes requests: the timeline as items, tools and their choice, options.

use std::collections::BTreeMap;

use haft_core::media::MediaKind;
use haft_core::trust::PromptText;
use serde_json::{Map, Value};

use super::options::{self, SystemChannel, WIRE_OPTIONS};
use super::wire::{Item, ItemContent, KnownItem, Part, RequestBody, Role, Tool};
use crate::dialect::{EncodeError, EncodedRequest, ModelRequest, NoteTopic, RequestNote};
use crate::dialects::shared::{
    ChoicePaths, IMAGES, choose_tool, closing_message, lower_tools, thought_texts,
};
use crate::prompt::{
    AssistantCall, AssistantEntry, CallResult, ContentPart, NativeMedia, PromptEntry, SystemPart,
};
use crate::replay::{NotReplayed, ReplayPart, ReplayedCall, replay_parts};

pub(super) fn encode_request(request: &ModelRequest<'_>) -> Result<EncodedRequest, EncodeError> {
    let (prompt, wire) = (request.prompt, request.options);
    let channel = options::channel(wire);
    let mut items = Items::new(request.model, options::replays(wire));
    items.all.extend(system_item(&prompt.system, channel));
    for entry in &prompt.timeline {
        items.push_entry(entry)?;
    }
    let aside =
        if channel == SystemChannel::Instructions { SystemChannel::Developer } else { channel };
    items.all.extend(system_item(&prompt.trailing, aside));
    let Items { all: mut input, mut notes, .. } = items;
    if input.last().is_none_or(Item::is_assistant_message) {
        let text = closing_message(!prompt.timeline.is_empty(), &mut notes);
        input.push(Item::message(Role::User, ItemContent::Text(text)));
    }
    let body = RequestBody {
        model: request.model,
        store: false,
        stream: request.delivery.is_streamed(),
        include: options::include(wire),
        instructions: instructions(&prompt.system, channel),
        tools: lower_tools(
            &prompt.tools,
            options::strict(wire),
            &mut notes,
            |it, parameters, strict| Tool {
                name: &it.wire_name,
                description: it.description(),
                strict,
                parameters,
            },
        )?,
        tool_choice: choose_tool(wire.get("tool_choice"), &prompt.tools, &CHOICE, &mut notes),
        input,
        options: wire_options(wire, request.delivery.is_streamed()),
    };
    let body = serde_json::to_vec(&body)
        .map_err(|error| EncodeError::new(format!("the request cannot be written: {error}")))?;
    Ok(EncodedRequest::new(body, notes))
}

fn instructions(parts: &[SystemPart], channel: SystemChannel) -> Option<String> {
    let text = || PromptText::blocks(parts.iter().map(|it| it.text.clone())).into_string();
    (channel == SystemChannel::Instructions && !parts.is_empty()).then(text)
}

/// The system text as an item, unless it goes into `instructions`.
fn system_item(parts: &[SystemPart], channel: SystemChannel) -> Option<Item<'_>> {
    let role = match channel {
        SystemChannel::Instructions => return None,
        SystemChannel::Developer => Role::Developer,
        SystemChannel::System => Role::System,
    };
    let parts: Vec<_> = parts.iter().map(|it| Part::input_text(it.text.as_str())).collect();
    (!parts.is_empty()).then(|| Item::message(role, ItemContent::Parts(parts)))
}

/// Where the API has the names of chosen tools.
const CHOICE: ChoicePaths = ChoicePaths { name: &["/name"], list: "/tools" };

/// The options that are part of the request.
fn wire_options(wire: &Map<String, Value>, stream: bool) -> BTreeMap<&'static str, &Value> {
    let fits = |it: &&&str| stream || **it != "stream_options";
    WIRE_OPTIONS.iter().filter(fits).filter_map(|it| Some((*it, wire.get(*it)?))).collect()
}

/// Whether the API has a part for media of this type.
pub(super) fn is_native(kind: MediaKind, mime_type: &str) -> bool {
    match kind {
        MediaKind::Image => IMAGES.contains(&mime_type),
        MediaKind::Document => true,
        MediaKind::Audio | MediaKind::Video => false,
    }
}

/// Collects the items of the timeline.
#[derive(Debug)]
struct Items<'b> {
    model: &'b str,
    replays: bool,
    all: Vec<Item<'b>>,
    notes: Vec<RequestNote>,
}

impl<'b> Items<'b> {
    fn new(model: &'b str, replays: bool) -> Self {
        Self { model, replays, all: Vec::new(), notes: Vec::new() }
    }

    fn push_entry(&mut self, entry: &'b PromptEntry) -> Result<(), EncodeError> {
        match entry {
            PromptEntry::User(user) => {
                let parts = content_parts(&user.content)?;
                self.all.push(Item::message(Role::User, ItemContent::Parts(parts)));
            }
            PromptEntry::Assistant(entry) => self.push_assistant(entry),
            PromptEntry::ToolResults(results) => {
                for result in results {
                    self.all.push(output_item(result)?);
                }
            }
        }
        Ok(())
    }

    /// Adds a generation: with its original items if it has reasoning that is sent back, else thoughts, text and calls.
    fn push_assistant(&mut self, entry: &'b AssistantEntry) {
        if self.replays {
            match replayed_items(entry, self.model) {
                Ok(Some(items)) => return self.all.extend(items),
                Ok(None) => {}
                Err(why) => {
                    let what = format!("the reasoning of a generation is left out: {why}");
                    self.notes.push(RequestNote::new(NoteTopic::ReasoningLeftOut, what));
                }
            }
        }
        let texts = entry.content.iter().filter_map(|it| match it {
            ContentPart::Text(text) => Some(text.as_str()),
            ContentPart::Media(_) => None,
        });
        for text in thought_texts(entry).chain(texts).filter(|it| !it.is_empty()) {
            self.all.push(Item::message(Role::Assistant, ItemContent::Text(text)));
        }
        if entry.content.iter().any(|it| matches!(it, ContentPart::Media(_))) {
            let what = "the model's own items hold no media: one was left out";
            self.notes.push(RequestNote::new(NoteTopic::MediaLeftOut, what));
        }
        self.all.extend(entry.calls.iter().map(|it| call_item(it, None)));
    }
}

/// The items of a generation with reasoning, in their original order.
fn replayed_items<'b>(
    entry: &'b AssistantEntry,
    model: &str,
) -> Result<Option<Vec<Item<'b>>>, NotReplayed> {
    let Some(parts) = replay_parts(entry, model)? else { return Ok(None) };
    let mut items: Vec<Item<'b>> = Vec::new();
    for part in parts {
        match part {
            ReplayPart::Opaque(item) => items.push(Item::Raw(item)),
            ReplayPart::Call { call: ReplayedCall(it), by } => items.push(call_item(it, known(by))),
            ReplayPart::Text { text, by } => match items.last_mut() {
                // Parts of one message.
                Some(Item::Known(KnownItem::Message {
                    by: last,
                    content: ItemContent::Parts(parts),
                    ..
                })) if last.as_ref() == Some(&by) => {
                    parts.push(Part::output_text(text));
                }
                _ => items.push(Item::Known(KnownItem::Message {
                    by: known(by),
                    status: Some("completed"),
                    role: Role::Assistant,
                    content: ItemContent::Parts(vec![Part::output_text(text)]),
                })),
            },
        }
    }
    if matches!(items.last(), Some(Item::Raw(_))) {
        return Err("nothing follows it");
    }
    Ok(Some(items))
}

/// The fields by which the provider identifies an item.
fn known(by: Value) -> Option<Value> {
    Some(by).filter(Value::is_object)
}

fn call_item(call: &AssistantCall, by: Option<Value>) -> Item<'_> {
    Item::Known(KnownItem::FunctionCall {
        by,
        call_id: &call.wire_id,
        name: &call.wire_name,
        arguments: call.args.to_json(),
    })
}

fn output_item(result: &CallResult) -> Result<Item<'_>, EncodeError> {
    let output = match result.content.as_slice() {
        [ContentPart::Text(text)] => ItemContent::Text(text.as_str()),
        several => ItemContent::Parts(content_parts(several)?),
    };
    Ok(Item::Known(KnownItem::FunctionCallOutput { call_id: &result.wire_id, output }))
}

fn content_parts(content: &[ContentPart]) -> Result<Vec<Part<'_>>, EncodeError> {
    let mut parts = Vec::new();
    for it in content {
        match it {
            ContentPart::Text(text) => parts.push(Part::input_text(text.as_str())),
            ContentPart::Media(media) => {
                parts.push(Part::input_text(media.frame.open.as_str()));
                parts.push(media_part(media)?);
                parts.push(Part::input_text(media.frame.close.as_str()));
            }
        }
    }
    Ok(parts)
}

fn media_part(media: &NativeMedia) -> Result<Part<'_>, EncodeError> {
    let uri = || format!("data:{};base64,{}", media.mime_type, media.base64);
    match media.kind {
        MediaKind::Image => Ok(Part::InputImage { detail: "auto", image_url: uri() }),
        MediaKind::Document => Ok(Part::InputFile { filename: &media.filename, file_data: uri() }),
        MediaKind::Audio | MediaKind::Video => {
            Err(EncodeError::new(format!("there is no part for `{}`", media.mime_type)))
        }
    }
}
