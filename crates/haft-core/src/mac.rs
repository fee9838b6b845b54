//! Keyed hashes: HMAC-SHA-256 of length-prefixed texts.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Bytes of a key after padding: the block size of SHA-256.
const BLOCK: usize = 64;

/// A key with which messages are authenticated. It holds hash states and not the secret itself.
#[derive(Clone)]
pub(crate) struct MacKey(Hmac<Sha256>);

/// A message that is being authenticated.
pub(crate) struct MacMessage(Hmac<Sha256>);

impl MacKey {
    pub(crate) fn new(secret: [u8; 32]) -> Self {
        // HMAC pads a short key with zeros; a key of exactly one block cannot be refused.
        let mut key = [0; BLOCK];
        for (slot, byte) in key.iter_mut().zip(secret) {
            *slot = byte;
        }
        Self(Hmac::new(&key.into()))
    }

    pub(crate) fn start(&self) -> MacMessage {
        MacMessage(self.0.clone())
    }
}

impl MacMessage {
    /// Adds bytes as they are.
    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds the length of a text and the text itself, so that different lists of texts have different encodings.
    pub(crate) fn add_text(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_be_bytes());
        self.0.update(text.as_bytes());
    }

    /// Computes the authentication code.
    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into_bytes().into()
    }

    /// Compares the authentication code with a given one in constant time.
    pub(crate) fn matches(self, code: &[u8]) -> bool {
        self.0.verify_slice(code).is_ok()
    }
}
