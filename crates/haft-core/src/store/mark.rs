//! Keyed marks of rows.

use std::fmt;

use crate::mac::MacKey;

/// The key that a store belongs to. A store that can be edited by others marks its rows with it, and refuses what does
/// not match its mark: a row that was changed, moved or made with another key.
///
/// ```
/// use haft_core::store::StoreKey;
///
/// let key = StoreKey::of_secret([7; 32]);
/// let mark = key.mark("row", &[b"turn-1", b"{}"]);
/// assert_eq!(mark, StoreKey::of_secret([7; 32]).mark("row", &[b"turn-1", b"{}"]));
/// assert_ne!(mark, key.mark("row", &[b"turn-1{", b"}"]));
/// assert_ne!(mark, StoreKey::of_secret([8; 32]).mark("row", &[b"turn-1", b"{}"]));
/// ```
#[derive(Clone)]
pub struct StoreKey {
    key: MacKey,
    fingerprint: [u8; 32],
}

/// The proof that a holder of the key wrote a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark([u8; 32]);

impl StoreKey {
    /// The key that follows from the secret of gates. It says nothing about the secret.
    #[must_use]
    pub fn of_secret(secret: [u8; 32]) -> Self {
        let source = MacKey::new(secret);
        let derive = |purpose| {
            let mut message = source.start();
            message.add_text(purpose);
            message.finish()
        };
        Self {
            key: MacKey::new(derive("haft marks of rows 1")),
            fingerprint: derive("haft fingerprint of a store 1"),
        }
    }

    /// What a store remembers of the secret that it belongs to. It says nothing about the secret.
    #[must_use]
    pub const fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// The mark of a row of a kind: of its parts, each preceded by its length.
    #[must_use]
    pub fn mark(&self, kind: &str, parts: &[&[u8]]) -> Mark {
        let mut message = self.key.start();
        message.add_text(kind);
        for part in parts {
            message.add_bytes(&(part.len() as u64).to_be_bytes());
            message.add_bytes(part);
        }
        Mark(message.finish())
    }
}

impl Mark {
    /// What stands before the first row of a chain.
    pub const ZERO: Self = Self([0; 32]);

    /// A mark that was stored; `None` if these bytes are none.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }

    /// The bytes to store.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreKey(…)")
    }
}
