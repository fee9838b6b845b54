//! The timeline as messages.

use haft_core::media::{MediaKind, decode_base64};
use serde_json::value::RawValue;

use super::replay;
use super::wire::{Block, Message, Role, Source};
use crate::dialect::{CannotEncode, Note};
use crate::prompt::{CallResult, Content, Entry, Heard, NativeMedia, Own, OwnCall, OwnThought};

const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Whether there is a block for such a medium.
pub(super) fn is_native(kind: MediaKind, mime_type: &str) -> bool {
    match kind {
        MediaKind::Image => IMAGES.contains(&mime_type),
        MediaKind::Document => matches!(mime_type, "application/pdf" | "text/plain"),
        MediaKind::Audio | MediaKind::Video => false,
    }
}

/// Messages in the order of the timeline.
#[derive(Debug)]
pub(super) struct Messages<'b> {
    model: &'b str,
    all: Vec<Message<'b>>,
    merged: usize,
    notes: Vec<Note>,
}

impl<'b> Messages<'b> {
    pub(super) fn new(model: &'b str) -> Self {
        Self { model, all: Vec::new(), merged: 0, notes: Vec::new() }
    }

    pub(super) fn entry(&mut self, entry: &'b Entry) -> Result<(), CannotEncode> {
        match entry {
            Entry::Heard(heard) => self.heard(heard),
            Entry::Own(own) => self.own(own),
            Entry::Results(results) => self.results(results),
        }
    }

    fn heard(&mut self, heard: &'b Heard) -> Result<(), CannotEncode> {
        let blocks = self.content(&heard.content)?;
        self.push(Role::User, blocks);
        Ok(())
    }

    /// A generation: as it was, if it thought; else thoughts, texts and calls.
    fn own(&mut self, own: &'b Own) -> Result<(), CannotEncode> {
        match replay::arranged(own, self.model) {
            Ok(Some(blocks)) => {
                self.push(Role::Assistant, blocks);
                return Ok(());
            }
            Ok(None) => {}
            Err(why) => {
                let what = format!("the thinking of a generation is left out: {why}");
                self.note("thinking-left-out", what);
            }
        }
        let mut blocks = Vec::new();
        for thought in &own.thoughts {
            if let OwnThought::Text(text) = thought {
                blocks.push(Block::text(text.as_str()));
            }
        }
        blocks.extend(self.content(&own.content)?);
        for call in &own.calls {
            blocks.push(tool_use(call)?);
        }
        self.push(Role::Assistant, blocks);
        Ok(())
    }

    fn results(&mut self, results: &'b [CallResult]) -> Result<(), CannotEncode> {
        let mut blocks = Vec::new();
        for result in results {
            blocks.push(Block::ToolResult {
                tool_use_id: &result.wire_id,
                content: self.content(&result.content)?,
                is_error: result.is_error,
                cache_control: None,
            });
        }
        self.push(Role::User, blocks);
        Ok(())
    }

    fn content(&mut self, content: &'b [Content]) -> Result<Vec<Block<'b>>, CannotEncode> {
        let mut blocks = Vec::new();
        for part in content {
            match part {
                Content::Text(text) => blocks.push(Block::text(text.as_str())),
                Content::Media(media) => {
                    blocks.push(Block::text(media.frame.open.as_str()));
                    blocks.push(medium(media)?);
                    blocks.push(Block::text(media.frame.close.as_str()));
                }
            }
        }
        Ok(self.without_blanks(blocks))
    }

    /// The API refuses texts without a visible character.
    fn without_blanks(&mut self, mut blocks: Vec<Block<'b>>) -> Vec<Block<'b>> {
        let before = blocks.len();
        blocks.retain(|it| !matches!(it, Block::Text { text, .. } if text.trim().is_empty()));
        if blocks.len() < before {
            self.note("blank-text-left-out", "a text without a visible character is left out");
        }
        blocks
    }

    /// Adds blocks to the last message if it has the same role. Results go before everything else in it.
    fn push(&mut self, role: Role, blocks: Vec<Block<'b>>) {
        if blocks.is_empty() {
            return;
        }
        match self.all.last_mut() {
            Some(last) if last.role == role => {
                self.merged += 1;
                let (results, rest): (Vec<_>, Vec<_>) =
                    blocks.into_iter().partition(Block::is_result);
                let ahead = last.content.iter().take_while(|it| it.is_result()).count();
                if !results.is_empty() && ahead < last.content.len() {
                    let what = "results of calls were moved before what was said meanwhile";
                    self.notes.push(Note::new("results-moved", what));
                }
                last.content.splice(ahead..ahead, results);
                last.content.extend(rest);
            }
            _ => self.all.push(Message { role, content: blocks }),
        }
    }

    /// The messages, and what was changed.
    pub(super) fn finish(mut self) -> (Vec<Message<'b>>, Vec<Note>) {
        if self.merged > 0 {
            let what = format!("{} messages were merged with the one before", self.merged);
            self.note("messages-merged", what);
        }
        (self.all, self.notes)
    }

    fn note(&mut self, topic: &'static str, message: impl Into<String>) {
        self.notes.push(Note::new(topic, message));
    }
}

pub(super) fn tool_use(call: &OwnCall) -> Result<Block<'_>, CannotEncode> {
    let input = RawValue::from_string(call.args.to_json().into_owned())
        .map_err(|_| CannotEncode::new("the arguments of a call are not JSON"))?;
    Ok(Block::ToolUse { id: &call.wire_id, name: &call.wire_name, input })
}

fn medium(media: &NativeMedia) -> Result<Block<'_>, CannotEncode> {
    let (media_type, data) = (media.mime_type.as_str(), &*media.base64);
    let cache_control = None;
    match media.kind {
        MediaKind::Image => {
            Ok(Block::Image { source: Source::Base64 { media_type, data }, cache_control })
        }
        MediaKind::Document if media_type == "text/plain" => {
            let bytes = decode_base64(data.as_bytes());
            let bytes = bytes.ok_or_else(|| CannotEncode::new("a document is not base64"))?;
            let data = String::from_utf8_lossy(&bytes).into_owned();
            Ok(Block::Document { source: Source::Text { media_type, data }, cache_control })
        }
        MediaKind::Document => {
            Ok(Block::Document { source: Source::Base64 { media_type, data }, cache_control })
        }
        MediaKind::Audio | MediaKind::Video => {
            Err(CannotEncode::new(format!("there is no block for `{media_type}`")))
        }
    }
}
