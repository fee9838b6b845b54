//! Byte order marks at the start of content.

/// The byte order mark in UTF-8.
pub(crate) const UTF8: &[u8] = b"\xef\xbb\xbf";

/// The bytes without a UTF-8 byte order mark at their start.
pub(crate) fn strip_utf8(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(UTF8).unwrap_or(bytes)
}

/// Whether the bytes begin with the byte order mark of UTF-16, or of little-endian UTF-32, which begins
/// with it.
pub(crate) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xFE, 0xFF]) || bytes.starts_with(&[0xFF, 0xFE])
}
