//! Recognizing media by their first bytes.

use super::MediaKind;

/// The kind and the media type of a file by its first bytes, which are more reliable than its name, or `None` if it is
/// no media that is known. Twelve bytes are enough.
///
/// ```
/// use haft_core::media::{MediaKind, sniff_media_type};
///
/// assert_eq!(sniff_media_type(b"%PDF-1.7"), Some((MediaKind::Document, "application/pdf")));
/// assert_eq!(sniff_media_type(b"plain text"), None);
/// ```
#[must_use]
pub fn sniff_media_type(start: &[u8]) -> Option<(MediaKind, &'static str)> {
    use MediaKind::{Audio, Document, Image, Video};
    let at = |from: usize, bytes: &[u8]| start.get(from..).is_some_and(|it| it.starts_with(bytes));
    Some(match start {
        _ if at(0, b"\x89PNG\r\n\x1a\n") => (Image, "image/png"),
        _ if at(0, b"\xFF\xD8\xFF") => (Image, "image/jpeg"),
        _ if at(0, b"GIF87a") || at(0, b"GIF89a") => (Image, "image/gif"),
        _ if at(0, b"II*\0") || at(0, b"MM\0*") => (Image, "image/tiff"),
        _ if at(0, b"RIFF") && at(8, b"WEBP") => (Image, "image/webp"),
        _ if at(0, b"RIFF") && at(8, b"WAVE") => (Audio, "audio/wav"),
        _ if at(0, b"ID3") || at(0, b"\xFF\xFB") => (Audio, "audio/mpeg"),
        _ if at(0, b"OggS") => (Audio, "audio/ogg"),
        _ if at(0, b"fLaC") => (Audio, "audio/flac"),
        _ if at(4, b"ftypavif") => (Image, "image/avif"),
        _ if at(4, b"ftypheic") || at(4, b"ftypmif1") => (Image, "image/heic"),
        _ if at(4, b"ftypM4A") => (Audio, "audio/mp4"),
        _ if at(4, b"ftyp") => (Video, "video/mp4"),
        _ if at(0, b"\x1A\x45\xDF\xA3") => (Video, "video/webm"),
        _ if at(0, b"%PDF-") => (Document, "application/pdf"),
        _ => return None,
    })
}
