//! The timeline as items.

use haft_core::media::MediaKind;
use serde_json::Value;

use super::wire::{Item, Known, Part, Role, Said};
use crate::dialect::{CannotEncode, Note};
use crate::prompt::{CallResult, Content, Entry, NativeMedia, Own, OwnCall, OwnThought};
use crate::verbatim::{Called, Piece, Why, pieces};

const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Whether there is a part for such a medium.
pub(super) fn is_native(kind: MediaKind, mime_type: &str) -> bool {
    match kind {
        MediaKind::Image => IMAGES.contains(&mime_type),
        MediaKind::Document => true,
        MediaKind::Audio | MediaKind::Video => false,
    }
}

/// Items in the order of the timeline.
#[derive(Debug)]
pub(super) struct Items<'b> {
    model: &'b str,
    replays: bool,
    pub(super) all: Vec<Item<'b>>,
    pub(super) notes: Vec<Note>,
}

impl<'b> Items<'b> {
    pub(super) fn new(model: &'b str, replays: bool) -> Self {
        Self { model, replays, all: Vec::new(), notes: Vec::new() }
    }

    pub(super) fn entry(&mut self, entry: &'b Entry) -> Result<(), CannotEncode> {
        match entry {
            Entry::Heard(heard) => {
                let parts = parts(&heard.content)?;
                self.all.push(Item::message(Role::User, Said::Parts(parts)));
            }
            Entry::Own(own) => self.own(own),
            Entry::Results(results) => {
                for result in results {
                    self.all.push(output(result)?);
                }
            }
        }
        Ok(())
    }

    /// A generation: item by item as it was, if it reasoned and that is sent back; else thoughts, texts and
    /// calls.
    fn own(&mut self, own: &'b Own) {
        if self.replays {
            match replayed(own, self.model) {
                Ok(Some(items)) => return self.all.extend(items),
                Ok(None) => {}
                Err(why) => {
                    let what = format!("the reasoning of a generation is left out: {why}");
                    self.notes.push(Note::new("reasoning-left-out", what));
                }
            }
        }
        let thoughts = own.thoughts.iter().filter_map(|it| match it {
            OwnThought::Text(text) => Some(text.as_str()),
            OwnThought::Opaque(_) => None,
        });
        let texts = own.content.iter().filter_map(|it| match it {
            Content::Text(text) => Some(text.as_str()),
            Content::Media(_) => None,
        });
        for text in thoughts.chain(texts).filter(|it| !it.is_empty()) {
            self.all.push(Item::message(Role::Assistant, Said::Text(text)));
        }
        if own.content.iter().any(|it| matches!(it, Content::Media(_))) {
            let what = "the model's own items hold no media: one was left out";
            self.notes.push(Note::new("media-left-out", what));
        }
        self.all.extend(own.calls.iter().map(|it| call(it, None)));
    }
}

/// The items of a generation that reasoned, in their order.
fn replayed<'b>(own: &'b Own, model: &str) -> Result<Option<Vec<Item<'b>>>, Why> {
    let Some(pieces) = pieces(own, model)? else { return Ok(None) };
    let mut items: Vec<Item<'b>> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Opaque(item) => items.push(Item::Raw(item)),
            Piece::Call { call: Called(it), by } => items.push(call(it, known(by))),
            Piece::Text { text, by } => match items.last_mut() {
                // Parts of one message.
                Some(Item::Known(Known::Message {
                    by: last, content: Said::Parts(parts), ..
                })) if last.as_ref() == Some(&by) => {
                    parts.push(Part::output(text));
                }
                _ => items.push(Item::Known(Known::Message {
                    by: known(by),
                    status: Some("completed"),
                    role: Role::Assistant,
                    content: Said::Parts(vec![Part::output(text)]),
                })),
            },
        }
    }
    if matches!(items.last(), Some(Item::Raw(_))) {
        return Err("nothing follows it");
    }
    Ok(Some(items))
}

/// What the provider knows an item by.
fn known(by: Value) -> Option<Value> {
    Some(by).filter(Value::is_object)
}

fn call(call: &OwnCall, by: Option<Value>) -> Item<'_> {
    Item::Known(Known::FunctionCall {
        by,
        call_id: &call.wire_id,
        name: &call.wire_name,
        arguments: call.args.to_json(),
    })
}

fn output(result: &CallResult) -> Result<Item<'_>, CannotEncode> {
    let output = match result.content.as_slice() {
        [Content::Text(text)] => Said::Text(text.as_str()),
        several => Said::Parts(parts(several)?),
    };
    Ok(Item::Known(Known::FunctionCallOutput { call_id: &result.wire_id, output }))
}

fn parts(content: &[Content]) -> Result<Vec<Part<'_>>, CannotEncode> {
    let mut parts = Vec::new();
    for it in content {
        match it {
            Content::Text(text) => parts.push(Part::input(text.as_str())),
            Content::Media(media) => {
                parts.push(Part::input(media.frame.open.as_str()));
                parts.push(medium(media)?);
                parts.push(Part::input(media.frame.close.as_str()));
            }
        }
    }
    Ok(parts)
}

fn medium(media: &NativeMedia) -> Result<Part<'_>, CannotEncode> {
    let uri = || format!("data:{};base64,{}", media.mime_type, media.base64);
    match media.kind {
        MediaKind::Image => Ok(Part::InputImage { detail: "auto", image_url: uri() }),
        MediaKind::Document => Ok(Part::InputFile { filename: &media.filename, file_data: uri() }),
        MediaKind::Audio | MediaKind::Video => {
            Err(CannotEncode::new(format!("there is no part for `{}`", media.mime_type)))
        }
    }
}
