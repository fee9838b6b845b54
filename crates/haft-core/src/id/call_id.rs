//! The content key of a call.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use super::digest::{FromText, Hex};
use super::{Digest, InvalidName};
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct CallId(Digest);

/// The beginning is enough, because an id is a hash already.
impl Hash for CallId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let beginning = self.as_bytes().first_chunk().copied().unwrap_or_default();
        state.write_u64(u64::from_ne_bytes(beginning));
    }
}

impl CallId {
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
        self.0.as_bytes()
    }

    /// The text form, without allocation.
    pub(super) fn hex(self) -> Hex {
        self.0.hex()
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The first digits; enough to tell ids apart in a log.
impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallId({}…)", self.hex().of_first_bytes(4))
    }
}

impl FromStr for CallId {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Digest::parse(text, "a call id").map(Self)
    }
}

impl<'de> serde::Deserialize<'de> for CallId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(FromText(PhantomData))
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
        let id = CallId(Digest::of(&self.text));
        if self.text.capacity() > Self::KEPT_TEXT {
            self.text = Vec::new();
            self.order.shrink_to(Self::KEPT_KEYS);
        }
        (id, answer)
    }
}
