//! The secret behind envelopes, the keys that are derived from it, and the nonces that those make.

use std::fmt;

use crate::id::Digest;
use crate::mac::{MacKey, MacMessage};

/// Set before everything that is hashed, so that the key cannot be asked for anything else.
const DOMAIN: &str = "haft envelope 2";

/// Set before the scope of a key that is derived from a secret.
const KEY_DOMAIN: &str = "haft envelope key 1";

/// Set before nothing else: a secret and a key have one fingerprint each.
const FINGERPRINT_DOMAIN: &str = "haft envelope fingerprint 1";

/// How many nonces there are, 40 bits: twelve decimal digits, of which tokenizers make four tokens.
const NONCES: u64 = 1_000_000_000_000;

/// Bytes of the hash that the fingerprint of a key keeps: 128 bits.
const KEY_FINGERPRINT_BYTES: usize = 16;

/// Bytes of the hash that a fingerprint keeps: 64 bits.
const FINGERPRINT_BYTES: usize = 8;

/// The secret from which the keys of envelopes are derived, one for each conversation or turn.
///
/// The application draws 32 random bytes once and stores them, so that the same records are rendered to the same bytes
/// in a later turn of the conversation and in another process. An author who knows them can write content that closes
/// envelopes, so keep them out of prompts and logs. Only the hash states that they lead to are held here, and nothing prints those.
///
/// ```
/// use haft_core::record::Message;
/// use haft_core::trust::{EnvelopeScope, EnvelopeSecret, PromptRenderer};
///
/// let secret = EnvelopeSecret::from_bytes([42; 32]);
/// let hello = Message::user("Hello!")?;
/// let render = |scope| PromptRenderer::new(secret.derive_key(scope)).named_message(&hello);
/// let first = render(EnvelopeScope::Conversation("support-7"));
/// assert_eq!(render(EnvelopeScope::Conversation("support-7")), first);
/// assert_ne!(render(EnvelopeScope::Conversation("support-8")), first);
/// assert_ne!(render(EnvelopeScope::Turn("support-7")), first);
/// assert_eq!(format!("{secret:?}"), "EnvelopeSecret(…)");
/// # Ok::<(), haft_core::record::InvalidRecord>(())
/// ```
#[derive(Clone)]
pub struct EnvelopeSecret(MacKey);

/// What shares a key of envelopes.
///
/// The envelopes of a conversation have the same names in all its turns, because later turns show the same records. A
/// turn without a conversation has a key of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EnvelopeScope<'a> {
    /// All turns of a conversation, by its id.
    Conversation(&'a str),
    /// One turn, by its id.
    Turn(&'a str),
}

impl<'a> EnvelopeScope<'a> {
    /// The conversation if there is one, else the turn.
    ///
    /// ```
    /// use haft_core::trust::EnvelopeScope;
    ///
    /// assert_eq!(EnvelopeScope::of("t-1", Some("c-1")), EnvelopeScope::Conversation("c-1"));
    /// assert_eq!(EnvelopeScope::of("t-1", None), EnvelopeScope::Turn("t-1"));
    /// ```
    #[must_use]
    pub const fn of(turn: &'a str, conversation: Option<&'a str>) -> Self {
        match conversation {
            Some(conversation) => Self::Conversation(conversation),
            None => Self::Turn(turn),
        }
    }

    const fn parts(self) -> [&'a str; 2] {
        match self {
            Self::Conversation(id) => ["conversation", id],
            Self::Turn(id) => ["turn", id],
        }
    }
}

impl EnvelopeSecret {
    /// The secret of these 32 random bytes.
    #[must_use]
    pub fn from_bytes(secret: [u8; 32]) -> Self {
        Self(MacKey::new(secret))
    }

    /// Derives the key of a scope. A name that leaks from one scope is useless in all others.
    #[must_use]
    pub fn derive_key(&self, scope: EnvelopeScope<'_>) -> EnvelopeKey {
        let mut message = self.0.start();
        message.add_text(KEY_DOMAIN);
        scope.parts().into_iter().for_each(|text| message.add_text(text));
        EnvelopeKey(MacKey::new(message.finish()))
    }

    /// A text that differs for different secrets and says nothing else about them. It is stored with a turn, so that a
    /// process with another secret is noticed.
    ///
    /// ```
    /// use haft_core::trust::EnvelopeSecret;
    ///
    /// let fingerprint = EnvelopeSecret::from_bytes([42; 32]).fingerprint();
    /// assert_eq!(fingerprint, EnvelopeSecret::from_bytes([42; 32]).fingerprint());
    /// assert_ne!(fingerprint, EnvelopeSecret::from_bytes([43; 32]).fingerprint());
    /// ```
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut message = self.0.start();
        message.add_text(FINGERPRINT_DOMAIN);
        short_hex(message, FINGERPRINT_BYTES)
    }
}

impl fmt::Debug for EnvelopeSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EnvelopeSecret(…)")
    }
}

/// The key from which the names of the envelopes of a prompt are derived. An [`EnvelopeSecret`] derives one for each
/// conversation or turn.
///
/// An author who knows it can write content that closes envelopes. Its bytes are not held here, only the two hash states that they lead to, and
/// nothing prints those.
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
    /// hold. A body cannot know it, but a text that the model once saw and repeated can. The choice follows from the
    /// key, the slot and the texts alone, so that the same envelope is rendered alike everywhere.
    pub(super) fn nonce<'t>(
        &self,
        slot: &Slot<'_>,
        holds: &(impl IntoIterator<Item = &'t str> + Clone),
    ) -> String {
        let mut attempt = 0_u32;
        loop {
            let nonce = self.attempt(slot, attempt);
            attempt = attempt.wrapping_add(1);
            // The texts are finite and nonces differ, so that this ends.
            if !holds.clone().into_iter().any(|text| text.contains(&nonce)) {
                return nonce;
            }
        }
    }

    /// A text that differs for different keys and says nothing else about them.
    pub(super) fn fingerprint(&self) -> String {
        let mut message = self.0.start();
        message.add_text(FINGERPRINT_DOMAIN);
        short_hex(message, KEY_FINGERPRINT_BYTES)
    }

    fn attempt(&self, slot: &Slot<'_>, attempt: u32) -> String {
        let mut message = self.0.start();
        for text in [DOMAIN, slot.family, slot.scope, slot.record] {
            message.add_text(text);
        }
        message.add_bytes(&slot.part.to_be_bytes());
        message.add_bytes(&attempt.to_be_bytes());
        let first = message.finish().into_iter().take(size_of::<u64>());
        let number = first.fold(0_u64, |number, byte| (number << 8) | u64::from(byte));
        format!("{:012}", number % NONCES)
    }
}

/// The first bytes of the authentication code of a message, in hexadecimal.
fn short_hex(message: MacMessage, bytes: usize) -> String {
    Digest::from_bytes(message.finish()).hex().of_first_bytes(bytes).to_owned()
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
