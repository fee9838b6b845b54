//! The content key of a call.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::json::{SortScratch, ValueRef, canonicalize, write_string};

/// What a call is, as a hash: SHA-256 of the canonical JSON of `{"args": …, "tool": …}` over the raw
/// arguments, before validation, coercion and defaults.
///
/// Key order and the spelling of numbers do not matter; everything else does. Integers count with
/// all their digits.
///
/// ```
/// use haft_core::call::CallId;
/// use haft_core::json::Document;
///
/// let args = Document::parse(r#"{"query": "hello"}"#)?;
/// let id = CallId::of("search", args.root());
/// assert_eq!(
///     id.to_string(),
///     "e0b6feaa14a993179f474568e2c0a63075752fe3a8bc629bc0cd1442a002448e",
/// );
/// # Ok::<(), haft_core::json::ParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallId([u8; 32]);

/// The beginning is enough, because an id is a hash already.
impl Hash for CallId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let beginning = self.0.first_chunk().copied().unwrap_or_default();
        state.write_u64(u64::from_ne_bytes(beginning));
    }
}

/// A text that is not a valid id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseIdError {
    /// Not the hash.
    #[error("a call id is 64 lower-case hexadecimal digits")]
    NotHex,
    /// A wrong number behind `#`.
    #[error("the number behind `#` of a record id starts at 2 and has no leading zero")]
    NotAnOccurrence,
}

impl CallId {
    /// Length of the text form.
    const HEX_LEN: usize = 64;

    /// The id of a call with these raw arguments.
    #[must_use]
    pub fn of(tool: &str, args: ValueRef<'_>) -> Self {
        Self::of_with_duplicates(tool, args).0
    }

    /// The id of a call whose arguments are not JSON: they count as the JSON string of that text.
    #[must_use]
    pub fn of_text(tool: &str, text: &str) -> Self {
        let write_args = |out: &mut Vec<u8>, _: &mut SortScratch| write_string(text, out);
        Scratch::with(|scratch| scratch.hash(tool, write_args)).0
    }

    /// [`CallId::of`], and whether an object of the arguments has a key twice.
    pub(crate) fn of_with_duplicates(tool: &str, args: ValueRef<'_>) -> (Self, bool) {
        Scratch::with(|scratch| scratch.hash(tool, |out, order| canonicalize(args, out, order)))
    }

    /// The hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The text form, without allocation.
    pub(super) fn hex(self) -> Hex {
        // Reckoned and not looked up, so that many digits are made at once.
        let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'a' - 10 };
        let mut out = [b'0'; Self::HEX_LEN];
        let (pairs, _) = out.as_chunks_mut::<2>();
        for (pair, byte) in pairs.iter_mut().zip(self.0) {
            *pair = [digit(byte >> 4), digit(byte & 0xF)];
        }
        Hex(out)
    }
}

/// The 64 digits of an id.
pub(super) struct Hex(pub(super) [u8; CallId::HEX_LEN]);

impl Hex {
    pub(super) fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.hex().as_str())
    }
}

/// The first digits; enough to tell ids apart in a log.
impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallId({:.8}…)", self.hex().as_str())
    }
}

impl FromStr for CallId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let mut hash = [0; 32];
        if text.len() != Self::HEX_LEN {
            return Err(ParseIdError::NotHex);
        }
        let (pairs, _) = text.as_bytes().as_chunks::<2>();
        for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
            *byte = nibble(*high)? << 4 | nibble(*low)?;
        }
        Ok(Self(hash))
    }
}

fn nibble(digit: u8) -> Result<u8, ParseIdError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(ParseIdError::NotHex),
    }
}

impl serde::Serialize for CallId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.hex().as_str())
    }
}

impl<'de> serde::Deserialize<'de> for CallId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(FromText { what: "a call id", of: std::marker::PhantomData })
    }
}

/// Reads an id from its text form.
pub(super) struct FromText<T> {
    pub(super) what: &'static str,
    pub(super) of: std::marker::PhantomData<T>,
}

impl<T: FromStr<Err = ParseIdError>> serde::de::Visitor<'_> for FromText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// Buffers that one thread uses for every id, so that hashing allocates nothing.
#[derive(Default)]
struct Scratch {
    text: Vec<u8>,
    order: SortScratch,
}

impl Scratch {
    /// What a thread keeps between two ids, in bytes of text and in keys.
    const KEPT_TEXT: usize = 64 * 1024;
    const KEPT_KEYS: usize = 1024;

    fn with<T>(run: impl Fn(&mut Self) -> T) -> T {
        thread_local! {
            static SCRATCH: RefCell<Scratch> = RefCell::default();
        }
        let shared = SCRATCH.try_with(|it| it.try_borrow_mut().ok().map(|mut it| run(&mut it)));
        // A thread that is ending has no scratch any more.
        shared.ok().flatten().unwrap_or_else(|| run(&mut Self::default()))
    }

    fn hash<T>(
        &mut self,
        tool: &str,
        write_args: impl FnOnce(&mut Vec<u8>, &mut SortScratch) -> T,
    ) -> (CallId, T) {
        self.text.clear();
        self.text.extend_from_slice(b"{\"args\":");
        let answer = write_args(&mut self.text, &mut self.order);
        self.text.extend_from_slice(b",\"tool\":");
        write_string(tool, &mut self.text);
        self.text.push(b'}');
        let hash = Sha256::digest(&self.text);
        if self.text.capacity() > Self::KEPT_TEXT {
            self.text = Vec::new();
            self.order.shrink_to(Self::KEPT_KEYS);
        }
        (CallId(hash.into()), answer)
    }
}
