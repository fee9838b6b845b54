//! Which secret and scope the envelopes of a turn use.

use haft_core::store::TurnId;
use haft_core::trust::{EnvelopeKey, EnvelopeScope, EnvelopeSecret};
use serde::{Deserialize, Serialize};

/// From what the nonces of a turn are derived, as its journal has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NonceOrigin {
    /// The fingerprint of the secret.
    pub(super) secret: String,
    pub(super) scope: NonceScope,
}

/// What shares the nonces of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum NonceScope {
    /// The turns of its conversation.
    Conversation,
    /// No other turn.
    Turn,
}

impl NonceOrigin {
    /// The origin of a new turn.
    pub(super) fn new(secret: &EnvelopeSecret, conversation: Option<&str>) -> Self {
        let scope = match conversation {
            Some(_) => NonceScope::Conversation,
            None => NonceScope::Turn,
        };
        Self { secret: secret.fingerprint(), scope }
    }
}

/// Derives the key of a turn. A turn that stores no origin was begun by an agent without a secret; it gets the key of a
/// new turn.
pub(super) fn derive_envelope_key(
    secret: &EnvelopeSecret,
    origin: Option<&NonceOrigin>,
    turn: &TurnId,
    conversation: Option<&str>,
) -> EnvelopeKey {
    let is_own = origin.is_some_and(|origin| origin.scope == NonceScope::Turn);
    let conversation = conversation.filter(|_| !is_own);
    secret.derive_key(EnvelopeScope::of(turn.as_str(), conversation))
}
