//! Requests.

use serde_json::{Map, Value};

use super::items::Items;
use super::options::{self, Channel, WIRE};
use super::tools;
use super::wire::{Body, Item, Part, Role, Said};
use crate::dialect::{CannotEncode, Encoded, Note, Request};
use crate::prompt::SystemPart;
use haft_core::trust::PromptText;

/// What is said to the model where nobody says anything.
const BEGIN: &str = "Begin.";
const CONTINUE: &str = "Continue.";

pub(super) fn encode(request: &Request<'_>) -> Result<Encoded, CannotEncode> {
    let (prompt, wire) = (request.prompt, request.options);
    let channel = options::channel(wire);
    let mut items = Items::new(request.model, options::replays(wire));
    items.all.extend(system(&prompt.system, channel));
    for entry in &prompt.timeline {
        items.entry(entry)?;
    }
    let aside = if channel == Channel::Instructions { Channel::Developer } else { channel };
    items.all.extend(system(&prompt.trailing, aside));
    let Items { all: mut input, mut notes, .. } = items;
    enclose(&mut input, prompt.timeline.is_empty(), &mut notes);
    let body = Body {
        model: request.model,
        store: false,
        stream: request.stream,
        include: options::include(wire),
        instructions: instructions(&prompt.system, channel),
        tools: tools::tools(&prompt.tools, options::strict(wire), &mut notes)?,
        tool_choice: tools::choice(wire, &prompt.tools, &mut notes),
        input,
        options: passed(wire, request.stream),
    };
    let body = serde_json::to_vec(&body)
        .map_err(|error| CannotEncode::new(format!("the request cannot be written: {error}")))?;
    Ok(Encoded::new(body, notes))
}

fn instructions(parts: &[SystemPart], channel: Channel) -> Option<String> {
    let text = || PromptText::blocks(parts.iter().map(|it| it.text.clone())).into_string();
    (channel == Channel::Instructions && !parts.is_empty()).then(text)
}

/// System text as an item.
fn system(parts: &[SystemPart], channel: Channel) -> Option<Item<'_>> {
    let role = match channel {
        Channel::Instructions => return None,
        Channel::Developer => Role::Developer,
        Channel::System => Role::System,
    };
    let parts: Vec<_> = parts.iter().map(|it| Part::input(it.text.as_str())).collect();
    (!parts.is_empty()).then(|| Item::message(role, Said::Parts(parts)))
}

/// Sees to it that somebody speaks to the model last.
fn enclose(input: &mut Vec<Item<'_>>, empty: bool, notes: &mut Vec<Note>) {
    let (text, what) = match empty {
        true => (BEGIN, "nothing was said, so a message was added"),
        false => (CONTINUE, "the model would speak to itself, so a message was added"),
    };
    if input.last().is_none_or(Item::is_own_message) {
        notes.push(Note::new("message-added", what));
        input.push(Item::message(Role::User, Said::Text(text)));
    }
}

/// The options that are sent.
fn passed(
    wire: &Map<String, Value>,
    stream: bool,
) -> std::collections::BTreeMap<&'static str, &Value> {
    let fits = |it: &&&str| stream || **it != "stream_options";
    WIRE.iter().filter(fits).filter_map(|it| Some((*it, wire.get(*it)?))).collect()
}
