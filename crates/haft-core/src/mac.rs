//! Keyed hashes.

use sha2::{Digest as _, Sha256};

/// HMAC-SHA-256 (RFC 2104), with the key worked in.
#[derive(Clone)]
pub(crate) struct Hmac {
    inner: Sha256,
    outer: Sha256,
}

impl Hmac {
    const BLOCK: usize = 64;

    pub(crate) fn new(key: &[u8]) -> Self {
        let hashed = Sha256::digest(key);
        let key = if key.len() > Self::BLOCK { hashed.as_slice() } else { key };
        let mut block = [0_u8; Self::BLOCK];
        for (slot, byte) in block.iter_mut().zip(key) {
            *slot = *byte;
        }
        let state = |pad: u8| Sha256::new().chain_update(block.map(|byte| byte ^ pad));
        Self { inner: state(0x36), outer: state(0x5C) }
    }

    pub(crate) fn start(&self) -> Sha256 {
        self.inner.clone()
    }

    pub(crate) fn finish(&self, message: Sha256) -> [u8; 32] {
        self.outer.clone().chain_update(message.finalize()).finalize().into()
    }
}
