//! Decodes base64 in pieces of any size.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::json_string::{StringPiece, push_unescaped};
use super::scan_error::ScanError;

/// Decodes base64 of the standard alphabet, with or without padding.
#[derive(Debug, Default)]
pub(super) struct Base64Decoder {
    /// The characters of a group that is not complete.
    carried: Vec<u8>,
    /// Whether the padding was read, behind which nothing may follow.
    is_padded: bool,
}

impl Base64Decoder {
    /// Decodes text and adds the bytes to `out`.
    pub(super) fn push(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), ScanError> {
        let mut rest = text;
        if !self.carried.is_empty() {
            let missing = GROUP.saturating_sub(self.carried.len()).min(rest.len());
            let (head, tail) = rest.split_at(missing);
            self.carried.extend_from_slice(head);
            rest = tail;
            if self.carried.len() < GROUP {
                return Ok(());
            }
            let group = std::mem::take(&mut self.carried);
            self.decode(&group, out)?;
        }
        let (groups, tail) = rest.split_at(rest.len() - rest.len() % GROUP);
        self.decode(groups, out)?;
        if self.is_padded && !tail.is_empty() {
            return Err(ScanError::Base64);
        }
        self.carried.extend_from_slice(tail);
        Ok(())
    }

    /// Decodes a piece of a JSON string.
    pub(super) fn push_piece(
        &mut self,
        piece: StringPiece<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), ScanError> {
        match piece {
            StringPiece::Literal(text) => self.push(text, out),
            StringPiece::Escape(_) | StringPiece::Unicode(_) => {
                let mut text = Vec::with_capacity(4);
                push_unescaped(&mut text, piece);
                self.push(&text, out)
            }
        }
    }

    /// Adds the bytes of the last group.
    pub(super) fn finish(mut self, out: &mut Vec<u8>) -> Result<(), ScanError> {
        let last = std::mem::take(&mut self.carried);
        self.decode(&last, out)
    }

    fn decode(&mut self, groups: &[u8], out: &mut Vec<u8>) -> Result<(), ScanError> {
        if groups.is_empty() {
            return Ok(());
        }
        if self.is_padded {
            return Err(ScanError::Base64);
        }
        self.is_padded = groups.ends_with(b"=");
        ENGINE.decode_vec(groups, out).map_err(|_| ScanError::Base64)
    }
}

/// Decodes base64 as the transport does.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut decoder = Base64Decoder::default();
    let mut bytes = Vec::new();
    decoder.push(text.as_bytes(), &mut bytes).ok()?;
    decoder.finish(&mut bytes).ok()?;
    Some(bytes)
}

const GROUP: usize = 4;
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
