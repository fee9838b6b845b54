//! Media: natively where the provider shows them, else as the policy says.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream as _;
use haft_core::media::{Media, MediaError, MediaId};
use haft_core::trust::{
    DeveloperText, PartOrigin, PromptText, sanitized_file_name, sanitized_mime_type,
};

use super::{AssembleError, Funnel, UnsupportedMedia};
use crate::prompt::{ContentPart, MediaPosition, NativeMedia};

/// Where a media item goes.
pub(super) enum MediaPlacement {
    /// Where it is.
    Inline(ContentPart),
    /// In the next message to the model; a text replaces it at its position.
    Below(PromptText, ContentPart),
}

impl Funnel<'_> {
    /// The `part`-th media item of a record.
    pub(super) async fn place_media(
        &self,
        (origin, part): (PartOrigin<'_>, u32),
        media: &Media,
        position: MediaPosition,
    ) -> Result<MediaPlacement, AssembleError> {
        // The marker shows the short form of the id, which is what the model copies.
        let shown_id = self.ctx.turn().shown_media_id(media).map(MediaId::new);
        let named = shown_id.map(|id| media.clone().with_id(id));
        let media = named.as_ref().unwrap_or(media);
        let mime_type = sanitized_mime_type(media.mime_type());
        let can = |position| (self.supports_media)(media.kind(), mime_type, position);
        if !can(position) {
            if position == MediaPosition::User || !can(MediaPosition::User) {
                return self.fallback(origin, part, media).map(MediaPlacement::Inline);
            }
            let native = self.encode_native(origin, part, media).await?;
            // Another part than the media item itself, so that no two envelopes share a name.
            let stub = self.renderer.media_fallback(origin, u32::MAX - part, media, &[]);
            return Ok(MediaPlacement::Below(
                PromptText::blocks([stub, self.developer_text(BELOW)]),
                native,
            ));
        }
        self.encode_native(origin, part, media).await.map(MediaPlacement::Inline)
    }

    /// A text that this crate says.
    pub(super) fn developer_text(&self, text: &'static str) -> PromptText {
        self.renderer.system_prompt(&DeveloperText::from_developer(text))
    }

    async fn encode_native(
        &self,
        origin: PartOrigin<'_>,
        part: u32,
        media: &Media,
    ) -> Result<ContentPart, AssembleError> {
        Ok(ContentPart::Media(NativeMedia {
            kind: media.kind(),
            mime_type: sanitized_mime_type(media.mime_type()).into(),
            filename: sanitized_file_name(media.filename()),
            base64: self.encode_base64(media).await?,
            frame: self.renderer.media_frame(origin, part, media),
        }))
    }

    /// The bytes of a media item as text, from an earlier iteration if they were encoded then.
    async fn encode_base64(&self, media: &Media) -> Result<Arc<str>, MediaError> {
        let (cache, turn) = (&self.options.media_cache, self.ctx.turn_id());
        if let Some(known) = cache.get(turn, media) {
            return Ok(known);
        }
        let text: Arc<str> = read_base64(media, self.options.media_bytes).await?.into();
        cache.insert(turn, media, &text);
        Ok(text)
    }

    fn fallback(
        &self,
        origin: PartOrigin<'_>,
        part: u32,
        media: &Media,
    ) -> Result<ContentPart, AssembleError> {
        match self.options.unsupported_media {
            UnsupportedMedia::Throw => Err(AssembleError::UnsupportedMedia {
                kind: media.kind(),
                mime_type: sanitized_mime_type(media.mime_type()).into(),
                filename: sanitized_file_name(media.filename()),
            }),
            UnsupportedMedia::SyntheticDescription => {
                let keys = Media::TEXT_KEYS;
                Ok(ContentPart::Text(self.renderer.media_fallback(origin, part, media, keys)))
            }
        }
    }
}

/// Says that a media item follows.
const BELOW: &str = "It is shown in the message below.";

/// The bytes of a media item as text, never whole as bytes.
async fn read_base64(media: &Media, limit: u64) -> Result<String, MediaError> {
    let too_large = || MediaError::TooLarge { filename: media.filename().to_owned(), limit };
    if media.byte_length().is_some_and(|bytes| bytes > limit) {
        return Err(too_large());
    }
    let mut stream = media.base64();
    let mut text = String::new();
    let most = limit.div_ceil(3).saturating_mul(4);
    while let Some(piece) = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await {
        let filename = || media.filename().to_owned();
        let piece = piece.map_err(|failure| MediaError::Read {
            filename: filename(),
            failure: failure.into(),
        })?;
        text.push_str(&String::from_utf8_lossy(&piece));
        if text.len() as u64 > most {
            return Err(too_large());
        }
    }
    Ok(text)
}
