mod base64;
mod records;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;

use super::{
    InvalidMedia, Media, MediaError, MediaFault, MediaFile, MediaId, MediaKind, MediaReader,
    MediaStashEntry, ReaderDescriptor,
};
use crate::error::Coded as _;
use crate::id::{CallId, RecordId};
use crate::tier::{ModalityHazard, TrustTier};
use crate::tool::{ByteStream, IntoToolOutput as _, ToolFailure};

const KINDS: [MediaKind; 4] =
    [MediaKind::Image, MediaKind::Audio, MediaKind::Video, MediaKind::Document];

/// A reader of given pieces that can fail, knows no length and has no descriptor.
struct Pieces(Vec<Result<&'static [u8], &'static str>>);

impl MediaReader for Pieces {
    fn open(&self) -> ByteStream {
        ByteStream::new(PieceStream(self.0.clone().into_iter()))
    }

    fn byte_length(&self) -> Option<u64> {
        None
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        None
    }
}

/// The pieces as a stream.
struct PieceStream(std::vec::IntoIter<Result<&'static [u8], &'static str>>);

impl Stream for PieceStream {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.0.next();
        Poll::Ready(next.map(|it| it.map(Bytes::from_static).map_err(ToolFailure::new)))
    }
}

fn pieces(pieces: &[Result<&'static [u8], &'static str>]) -> Media {
    let file = MediaFile::read_by("p", "a/b", Arc::new(Pieces(pieces.to_vec())));
    Media::retrieved_private(MediaKind::Audio, file)
}

fn file() -> MediaFile {
    MediaFile::new("chart.png", "image/png", &b"\x89PNG"[..])
}

#[test]
fn factories_state_both_axes() {
    type Factory = fn(MediaKind, MediaFile) -> Media;
    let factories: [(Factory, TrustTier); 4] = [
        (Media::user_attachment, TrustTier::ThirdPartyPrivate),
        (Media::tool_generated, TrustTier::FirstParty),
        (Media::retrieved_public, TrustTier::ThirdPartyPublic),
        (Media::retrieved_private, TrustTier::ThirdPartyPrivate),
    ];
    for (make, tier) in factories {
        for kind in KINDS {
            let media = make(kind, file());
            let hazard = match kind {
                MediaKind::Document => ModalityHazard::ExtractableInstructions,
                _ => ModalityHazard::OpaquePerceptual,
            };
            assert_eq!((media.trust_tier(), media.modality_hazard()), (tier, hazard));
            assert_eq!(
                (media.kind(), media.filename(), media.mime_type()),
                (kind, "chart.png", "image/png")
            );
        }
    }
}

#[test]
fn every_fault_is_listed() {
    let inert =
        |file| Media::new(MediaKind::Image, TrustTier::FirstParty, ModalityHazard::Inert, file);
    assert_eq!(inert(file()).unwrap().modality_hazard(), ModalityHazard::Inert);
    let error = inert(MediaFile::new("", "", &b""[..])).unwrap_err();
    let faults = vec![MediaFault::EmptyFilename, MediaFault::EmptyMimeType];
    assert_eq!(error, InvalidMedia { faults });
    assert_eq!(
        error.to_string(),
        "the medium was refused: `filename` is empty; `mimeType` is empty"
    );
    assert_eq!(error.code(), "E_INVALID_INITIAL_MEDIA_VALUE");
    let media = Media::tool_generated(MediaKind::Image, file())
        .with_id(MediaId::new(""))
        .with_entry("", MediaStashEntry::new(1, TrustTier::FirstParty));
    let faults = vec![MediaFault::EmptyId, MediaFault::EmptyStashKey];
    assert_eq!(media.check().unwrap_err(), InvalidMedia { faults });
}

#[test]
fn a_tool_cannot_return_invalid_media() {
    let nameless = Media::tool_generated(MediaKind::Image, MediaFile::new("", "a/b", &b""[..]));
    let error = nameless.clone().into_tool_output().unwrap_err();
    assert_eq!(error.message(), "the medium was refused: `filename` is empty");
    let good = Media::tool_generated(MediaKind::Image, file());
    assert!(vec![good, nameless].into_tool_output().is_err());
}

#[test]
fn calls_name_their_media() {
    let call = RecordId::first(CallId::of_text("t", "a"));
    let mut media = Media::tool_generated(MediaKind::Image, file());
    assert_eq!(media.id(), None);
    media.assign_id(call, 2);
    assert_eq!(media.id().unwrap().as_str(), format!("{call}/media/2"));
    media.assign_id(call, 3);
    assert_eq!(media.id(), Some(&MediaId::of_call(call, 2)));
}

#[test]
fn the_stash_is_never_above_its_medium() {
    let entry = |tier| MediaStashEntry::new("words", tier).derived_from("m1");
    let mut media = Media::retrieved_private(MediaKind::Image, file())
        .with_entry("a", entry(TrustTier::FirstParty))
        .with_entry("b", entry(TrustTier::ThirdPartyPublic));
    let tier = |media: &Media, key: &str| media.entry(key).unwrap().trust_tier();
    assert_eq!(tier(&media, "a"), TrustTier::ThirdPartyPrivate);
    assert_eq!(tier(&media, "b"), TrustTier::ThirdPartyPublic);
    assert_eq!(media.entry("a").unwrap().derived_from_media(), Some("m1"));
    assert_eq!(media.text(&["x", "a"]), Some(("words", TrustTier::ThirdPartyPrivate)));
    media.insert("c", MediaStashEntry::new(serde_json::json!({ "x": 1 }), TrustTier::FirstParty));
    assert_eq!(media.text(&["c", "b"]), Some(("words", TrustTier::ThirdPartyPublic)));
    let media = media.lowered_to(TrustTier::ThirdPartyPublic);
    assert!(media.stash().all(|(_, it)| it.trust_tier() == TrustTier::ThirdPartyPublic));
    assert_eq!(media.clone().lowered_to(TrustTier::FirstParty), media);
}

#[test]
fn media_are_equal_by_what_they_are() {
    let media = || Media::tool_generated(MediaKind::Image, file());
    assert_eq!(media(), media());
    assert_ne!(media(), media().with_source("x"));
    let other = MediaFile::new("chart.png", "image/png", &b"other"[..]);
    assert_ne!(media(), Media::tool_generated(MediaKind::Image, other));
    let unknown = pieces(&[Ok(b"a")]);
    assert_eq!(unknown, unknown.clone());
    assert_ne!(unknown, pieces(&[Ok(b"a")]));
}

#[tokio::test]
async fn another_reader_changes_nothing_else() {
    let media = Media::retrieved_public(MediaKind::Image, file())
        .with_id(MediaId::new("m1"))
        .with_source("somewhere")
        .with_entry("text:caption", MediaStashEntry::new("a chart", TrustTier::FirstParty));
    let moved = media.clone().with_reader(Arc::new(Pieces(vec![Ok(b"\x89P"), Ok(b"NG")])));
    let facts = |it: &Media| {
        serde_json::to_value(it.clone().with_reader(Arc::new(crate::media::MemoryReader::new(""))))
            .unwrap()
    };
    assert_eq!(facts(&moved), facts(&media));
    assert_eq!(
        (moved.byte_length(), moved.bytes(9).await.unwrap()),
        (None, Bytes::from_static(b"\x89PNG"))
    );
}

#[tokio::test]
async fn bytes_are_read_up_to_a_limit() {
    let media = Media::tool_generated(MediaKind::Image, file());
    for _ in 0..2 {
        assert_eq!(media.bytes(4).await.unwrap(), &b"\x89PNG"[..]);
    }
    let error = media.bytes(3).await.unwrap_err();
    assert!(matches!(error, MediaError::TooLarge { limit: 3, .. }), "{error}");
    assert_eq!(error.to_string(), "`chart.png` has more than 3 bytes");

    let media = pieces(&[Ok(b"ab"), Ok(b""), Ok(b"cd"), Ok(b"e")]);
    assert_eq!(media.bytes(5).await.unwrap(), &b"abcde"[..]);
    assert!(matches!(media.bytes(4).await.unwrap_err(), MediaError::TooLarge { .. }));
    assert!(matches!(media.bytes(1).await.unwrap_err(), MediaError::TooLarge { .. }));
    assert_eq!(pieces(&[]).bytes(0).await.unwrap(), Bytes::new());
    assert_eq!(pieces(&[Ok(b""), Ok(b"x")]).bytes(1).await.unwrap(), &b"x"[..]);
    // What lies behind the limit is not read.
    let endless = pieces(&[Ok(b"ab"), Ok(b"cd"), Err("read too far")]);
    assert!(matches!(endless.bytes(3).await.unwrap_err(), MediaError::TooLarge { .. }));
    let error = endless.bytes(9).await.unwrap_err();
    assert_eq!(error.to_string(), "`p` could not be read: read too far");
    assert_eq!(error.code(), "E_TOOL_DOWNSTREAM_ERROR");
}

#[test]
fn nothing_prints_the_bytes() {
    let media = Media::tool_generated(MediaKind::Image, file());
    let text = format!("{media:?} {:?}", file());
    assert!(!text.contains("PNG\""), "{text}");
    assert!(text.contains("byte_length: Some(4)"), "{text}");
}

#[test]
fn media_are_recognized_by_their_first_bytes() {
    #[track_caller]
    fn check(bytes: &[u8], expected: Option<(MediaKind, &str)>) {
        assert_eq!(super::sniff_media_type(bytes), expected);
    }
    check(b"\x89PNG\r\n\x1a\n", Some((MediaKind::Image, "image/png")));
    check(b"\xff\xd8\xff\xe0", Some((MediaKind::Image, "image/jpeg")));
    check(b"RIFF\0\0\0\0WEBPVP8 ", Some((MediaKind::Image, "image/webp")));
    check(b"RIFF\0\0\0\0WAVEfmt ", Some((MediaKind::Audio, "audio/wav")));
    check(b"RIFF\0\0\0\0AVI LIST", None);
    check(b"\0\0\0\x18ftypmp42", Some((MediaKind::Video, "video/mp4")));
    check(b"\0\0\0\x18ftypM4A ", Some((MediaKind::Audio, "audio/mp4")));
    check(b"\0\0\0\x18ftypavif", Some((MediaKind::Image, "image/avif")));
    check(b"", None);
}
