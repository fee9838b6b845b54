//! Media: natively where the provider shows them, else as the policy says.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream as _;
use haft_core::media::{Media, MediaError};
use haft_core::trust::{
    DeveloperText, MediaFallbackPart, PartOrigin, PromptText, sanitized_file_name,
    sanitized_mime_type,
};

use super::super::dialect::Note;
use super::super::prompt::{Content, NativeMedia, Place};
use super::{AssembleError, Funnel, UnsupportedMedia};

/// Where a medium goes.
pub(super) enum Shown {
    /// Where it is.
    Here(Content),
    /// Into what is said to the model next; a text stands where it is.
    Below(PromptText, Content),
}

impl Funnel<'_> {
    /// The `part`-th medium of a record.
    pub(super) async fn medium(
        &self,
        (origin, part): (PartOrigin<'_>, u32),
        media: &Media,
        place: Place,
        notes: &mut Vec<Note>,
    ) -> Result<Shown, AssembleError> {
        let mime_type = sanitized_mime_type(media.mime_type());
        let can = |place| (self.shows)(media.kind(), mime_type, place);
        if !can(place) {
            if place == Place::Heard || !can(Place::Heard) {
                return self.fallback(origin, part, media, notes).map(Shown::Here);
            }
            let native = self.native(origin, part, media).await?;
            // Another part than the medium itself, so that no two envelopes share a name.
            let stub = MediaFallbackPart::new(origin, u32::MAX - part, media).keys(&[]);
            let stub = self.renderer.media_fallback(&stub);
            return Ok(Shown::Below(PromptText::blocks([stub, self.own_words(BELOW)]), native));
        }
        self.native(origin, part, media).await.map(Shown::Here)
    }

    /// A text that this crate says.
    pub(super) fn own_words(&self, text: &'static str) -> PromptText {
        self.renderer.system_prompt(&DeveloperText::from_developer(text))
    }

    async fn native(
        &self,
        origin: PartOrigin<'_>,
        part: u32,
        media: &Media,
    ) -> Result<Content, AssembleError> {
        Ok(Content::Media(NativeMedia {
            kind: media.kind(),
            mime_type: sanitized_mime_type(media.mime_type()).into(),
            filename: sanitized_file_name(media.filename()),
            base64: self.encoded(media).await?,
            frame: self.renderer.media_frame(origin, part, media),
        }))
    }

    /// The bytes of a medium as text, from an earlier iteration if they were encoded then.
    async fn encoded(&self, media: &Media) -> Result<Arc<str>, MediaError> {
        let (cache, turn) = (&self.how.media_cache, self.ctx.turn_id());
        if let Some(known) = cache.get(turn, media) {
            return Ok(known);
        }
        let text: Arc<str> = base64(media, self.how.media_bytes).await?.into();
        cache.keep(turn, media, &text);
        Ok(text)
    }

    fn fallback(
        &self,
        origin: PartOrigin<'_>,
        part: u32,
        media: &Media,
        notes: &mut Vec<Note>,
    ) -> Result<Content, AssembleError> {
        let keys: Vec<&str> = match &self.how.unsupported_media {
            UnsupportedMedia::Throw => {
                return Err(AssembleError::UnsupportedMedia {
                    kind: media.kind(),
                    mime_type: sanitized_mime_type(media.mime_type()).into(),
                    filename: sanitized_file_name(media.filename()),
                });
            }
            UnsupportedMedia::FallbackStash(keys) => keys.iter().map(String::as_str).collect(),
            UnsupportedMedia::SyntheticDescription => Vec::new(),
        };
        if !keys.is_empty() && media.text(&keys).is_none() {
            let name = sanitized_file_name(media.filename());
            let message = format!("no text stands for `{name}`; only its file is described");
            notes.push(Note::new("media-without-text", message));
        }
        let fallback = MediaFallbackPart::new(origin, part, media).keys(&keys);
        Ok(Content::Text(self.renderer.media_fallback(&fallback)))
    }
}

/// Says that a medium follows.
const BELOW: &str = "It is shown in the message below.";

/// The bytes of a medium as text, never whole as bytes.
async fn base64(media: &Media, limit: u64) -> Result<String, MediaError> {
    let too_large = || MediaError::TooLarge { filename: media.filename().to_owned(), limit };
    if media.byte_length().is_some_and(|bytes| bytes > limit) {
        return Err(too_large());
    }
    let mut stream = media.base64();
    let mut text = String::new();
    let most = limit.div_ceil(3).saturating_mul(4);
    while let Some(piece) = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await {
        let filename = || media.filename().to_owned();
        let piece = piece.map_err(|failure| MediaError::Read { filename: filename(), failure })?;
        text.push_str(&String::from_utf8_lossy(&piece));
        if u64::try_from(text.len()).unwrap_or(u64::MAX) > most {
            return Err(too_large());
        }
    }
    Ok(text)
}
