//! Media in a prompt: the frame around a native media item, and the text that stands for one.

use super::PartOrigin;
use super::tool::Scope;
use crate::media::Media;
use crate::trust::envelope::{Attributes, family_of};
use crate::trust::nonce::Slot;
use crate::trust::sanitize::{human_size, one_line};
use crate::trust::{
    EnvelopeModality, PromptRenderer, PromptText, TrustLabel, sanitized_file_name,
    sanitized_mime_type,
};

/// Text that stands for a media item which the model cannot perceive.
///
/// Two axes compose. The envelope's family follows the less trusted of the media item and of the text that
/// was derived from it; the attribute `modality` follows the media item's hazard.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct MediaFallbackPart<'a> {
    origin: PartOrigin<'a>,
    part: u32,
    media: &'a Media,
    keys: &'a [&'a str],
}

impl<'a> MediaFallbackPart<'a> {
    /// The `part`-th media item of a record, shown by its first stash entry with a text under the usual
    /// keys ([`Media::TEXT_KEYS`]), or else by a description made of its file.
    pub fn new(origin: PartOrigin<'a>, part: u32, media: &'a Media) -> Self {
        Self { origin, part, media, keys: Media::TEXT_KEYS }
    }

    /// Looks under these keys of the stash instead. Without keys only the description is shown.
    pub fn keys(mut self, keys: &'a [&'a str]) -> Self {
        self.keys = keys;
        self
    }
}

/// The two texts around a media item that the wire shows natively.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediaFrame {
    /// Goes before the media item: the open tag and the marker with the media item's id.
    pub open: PromptText,
    /// Goes behind the media item.
    pub close: PromptText,
}

impl PromptRenderer {
    /// The text for a media item. Its first line is the marker `[media id: … | …]` with which tools name
    /// the media item; it stands inside the envelope because a file name is content.
    #[must_use]
    pub fn media_fallback(&self, part: &MediaFallbackPart<'_>) -> PromptText {
        let found = part.media.text(part.keys);
        let (text, label) = match found {
            Some((text, tier)) => (text.to_owned(), TrustLabel::declared(tier)),
            None => (description(part.media), TrustLabel::of_media(part.media)),
        };
        let body = format!("{}\n{text}", marker(part.media));
        let record = part.origin.record();
        let slot = slot(part.origin, &record, part.part, label);
        let attributes = attributes(part.origin, part.media, "media-fallback");
        self.seal(&slot, attributes, &self.clean(&body))
    }

    /// The frame around the `part`-th media item of a record.
    #[must_use]
    pub fn media_frame(&self, origin: PartOrigin<'_>, part: u32, media: &Media) -> MediaFrame {
        let record = origin.record();
        let slot = slot(origin, &record, part, TrustLabel::of_media(media));
        let marker = marker(media);
        let (open, close) =
            self.ends(&slot, attributes(origin, media, "media"), &self.clean(&marker));
        MediaFrame { open, close }
    }
}

fn slot<'a>(origin: PartOrigin<'a>, record: &'a str, part: u32, label: TrustLabel) -> Slot<'a> {
    Slot { family: family_of(label), scope: origin.scope(Scope::Media), record, part }
}

fn attributes<'a>(origin: PartOrigin<'a>, media: &Media, kind: &'static str) -> Attributes<'a> {
    let attributes = Attributes::default().nonce().text("kind", kind);
    let attributes = attributes.optional("tool", origin.tool());
    attributes.modality(Some(EnvelopeModality::from(media.modality_hazard())))
}

/// `[media id: … | …]`; without an id only the name.
fn marker(media: &Media) -> String {
    let name = sanitized_file_name(media.filename());
    match media.id() {
        Some(id) => format!("[media id: {} | {name}]", one_line(id.as_str())),
        None => format!("[media | {name}]"),
    }
}

/// `[media: name, type, size]`
fn description(media: &Media) -> String {
    let name = sanitized_file_name(media.filename());
    let mime_type = sanitized_mime_type(media.mime_type());
    format!("[media: {name}, {mime_type}, {}]", human_size(media.byte_length()))
}
