//! Hashes of content, and how they are written.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::InvalidName;

/// A SHA-256 hash. Its text is 64 lower-case hexadecimal digits.
///
/// ```
/// use haft_core::tool::Digest;
///
/// let digest = Digest::of(b"one\n");
/// assert_eq!(digest.to_string().parse(), Ok(digest));
/// assert_ne!(digest, Digest::of(b"two\n"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Length of the text form.
    const HEX_LEN: usize = 64;

    /// The hash of this content.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// A hash that was computed already.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The text form, without allocation.
    pub(crate) fn hex(self) -> Hex {
        let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'a' - 10 };
        let mut out = [b'0'; Self::HEX_LEN];
        let (pairs, _) = out.as_chunks_mut::<2>();
        for (pair, byte) in pairs.iter_mut().zip(self.0) {
            *pair = [digit(byte >> 4), digit(byte & 0xF)];
        }
        Hex(out)
    }

    /// Reads the text form of what a message calls `what`.
    pub(super) fn parse(text: &str, what: &'static str) -> Result<Self, InvalidName> {
        let invalid = InvalidName { what, why: "has to be 64 lower-case hexadecimal digits" };
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return Err(invalid) };
        let mut hash = [0; 32];
        if pairs.len() != hash.len() {
            return Err(invalid);
        }
        for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
            let (Some(high), Some(low)) = (nibble(*high), nibble(*low)) else {
                return Err(invalid);
            };
            *byte = high << 4 | low;
        }
        Ok(Self(hash))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// The 64 digits of a hash.
pub(crate) struct Hex([u8; Digest::HEX_LEN]);

impl Hex {
    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The first digits, as many as this number of bytes has.
    pub(crate) fn of_first_bytes(&self, bytes: usize) -> &str {
        self.as_str().get(..2 * bytes).unwrap_or(self.as_str())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.hex().as_str())
    }
}

/// The first digits; enough to tell hashes apart in a log.
impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({}…)", self.hex().of_first_bytes(4))
    }
}

impl FromStr for Digest {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Self::parse(text, "a digest")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.hex().as_str())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(FromText(std::marker::PhantomData))
    }
}

/// Reads a value from its text form without a copy of the text.
pub(super) struct FromText<T>(pub(super) std::marker::PhantomData<T>);

impl<T: FromStr<Err = InvalidName>> Visitor<'_> for FromText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hexadecimal digits")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}
