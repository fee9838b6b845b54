//! Media in a prompt: the frame around a native media item, and the text that stands for one.

use super::envelope::{Attributes, family_of};
use super::nonce::Slot;
use super::origin::{PartOrigin, Scope};
use super::sanitize::{human_size, one_line};
use super::{
    ModalityHazard, PromptRenderer, PromptText, TrustTier, sanitized_file_name, sanitized_mime_type,
};
use crate::media::Media;

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
    /// The text for the `part`-th media item of a record, for a model that cannot perceive it: its first stash entry
    /// with a text under one of these keys ([`Media::TEXT_KEYS`] are the usual ones), or else a description made of its
    /// file.
    ///
    /// Two axes compose. The envelope's family follows the less trusted of the media item and of the text that was
    /// derived from it; the attribute `modality` follows the media item's hazard. The first line is the marker `[media
    /// id: … | …]` with which tools name the media item; it stands inside the envelope because a file name is content.
    #[must_use]
    pub fn media_fallback(
        &self,
        origin: PartOrigin<'_>,
        part: u32,
        media: &Media,
        keys: &[&str],
    ) -> PromptText {
        let (text, tier) = match media.text(keys) {
            Some((text, tier)) => (text.to_owned(), tier),
            None => (description(media), media.trust_tier()),
        };
        let body = format!("{}\n{text}", marker(media));
        let record = origin.record();
        let slot = slot(origin, &record, part, tier);
        self.seal(&slot, attributes(media, "media-fallback"), &self.clean(&body))
    }

    /// The frame around the `part`-th media item of a record.
    #[must_use]
    pub fn media_frame(&self, origin: PartOrigin<'_>, part: u32, media: &Media) -> MediaFrame {
        let record = origin.record();
        let slot = slot(origin, &record, part, media.trust_tier());
        let marker = marker(media);
        let (open, close) = self.ends(&slot, attributes(media, "media"), &self.clean(&marker));
        MediaFrame { open, close }
    }
}

fn slot<'a>(origin: PartOrigin<'a>, record: &'a str, part: u32, tier: TrustTier) -> Slot<'a> {
    Slot { family: family_of(tier), scope: origin.scope(Scope::Media), record, part }
}

fn attributes(media: &Media, kind: &'static str) -> Attributes<'static> {
    let attributes = Attributes::default().text("kind", kind);
    attributes.text("modality", modality(media.modality_hazard()))
}

/// The word for a hazard in the attribute `modality`.
const fn modality(hazard: ModalityHazard) -> &'static str {
    match hazard {
        ModalityHazard::Inert => "inert",
        ModalityHazard::ExtractableInstructions => "extractable",
        ModalityHazard::OpaquePerceptual => "opaque",
    }
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
