//! The secret of a run, and the nonces that come of it.

use std::fmt;

use crate::mac::MacKey;

/// Set before everything that is hashed, so that the key cannot be asked for anything else.
const DOMAIN: &str = "haft envelope 1";

/// Bytes of the hash that a nonce keeps: 128 bits.
const NONCE_BYTES: usize = 16;

/// The secret of a run, from which the names of all its envelopes are derived.
///
/// The application draws 32 random bytes per run and keeps them with the run, so that a resumed run
/// renders the same text and prompt caches hold. Knowledge of them allows to close envelopes: they belong
/// neither into a prompt nor into a log. The bytes are not kept here, only the two hash states that
/// they lead to, and nothing prints those.
///
/// ```
/// let key = haft_core::trust::EnvelopeKey::from_bytes([42; 32]);
/// assert_eq!(format!("{key:?}"), "EnvelopeKey(…)");
/// ```
#[derive(Clone)]
pub struct EnvelopeKey(MacKey);

impl EnvelopeKey {
    /// The key of these 32 secret, random bytes.
    #[must_use]
    pub fn from_bytes(secret: [u8; 32]) -> Self {
        Self(MacKey::new(secret))
    }

    /// The nonce of an envelope: the first that occurs in none of the texts which the envelope will
    /// hold. A body cannot know it, but a text that the model once saw and repeated can.
    pub(super) fn nonce(&self, slot: &Slot<'_>, holds: &[&str]) -> String {
        let mut attempt = 0_u32;
        loop {
            let nonce = self.attempt(slot, attempt);
            attempt = attempt.wrapping_add(1);
            // The texts are finite and nonces differ, so that this ends.
            if !holds.iter().any(|text| text.contains(&nonce)) {
                return nonce;
            }
        }
    }

    fn attempt(&self, slot: &Slot<'_>, attempt: u32) -> String {
        let mut message = self.0.start();
        for text in [DOMAIN, slot.family, slot.scope, slot.record] {
            message.add_text(text);
        }
        message.add_bytes(&slot.part.to_be_bytes());
        message.add_bytes(&attempt.to_be_bytes());
        let mut nonce = String::with_capacity(2 * NONCE_BYTES);
        for byte in message.finish().iter().take(NONCE_BYTES) {
            let digits = [byte >> 4, byte & 0xF];
            nonce.extend(digits.iter().filter_map(|it| char::from_digit(u32::from(*it), 16)));
        }
        nonce
    }
}

impl fmt::Debug for EnvelopeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EnvelopeKey(…)")
    }
}

/// What an envelope is for. Two envelopes of a prompt differ in it, and so in their nonces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<'a> {
    /// The prefix of the element's name.
    pub(super) family: &'static str,
    /// Which sort of record it is: ids are unique only within a sort.
    pub(super) scope: &'static str,
    /// The id of the record.
    pub(super) record: &'a str,
    /// Which part of the record.
    pub(super) part: u32,
}
