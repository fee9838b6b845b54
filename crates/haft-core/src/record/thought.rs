//! Reasoning.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Identity, InvalidRecord, Record, RecordFaults, RecordName, Text, check_payload, payload_fits,
};
use crate::clock::Timestamp;
use crate::error::codes;
use crate::store::RowKind;
use crate::tier::{TrustTier, stored_tier};

/// Reasoning of the agent: text, a payload that only its vendor understands, or both.
///
/// A payload needs a tag that says which providers understand it; there can be a tag without a payload. Text can be
/// empty only if there is a payload.
///
/// ```
/// use haft_core::clock::Timestamp;
/// use haft_core::record::{Record as _, Thought};
///
/// let sealed = Thought::new("t-1", "", Timestamp::EPOCH)
///     .with_payload(serde_json::json!({ "signature": "…" }))
///     .with_replay_compatibility("vendor/1")
///     .checked()?;
/// assert!(sealed.replays_with(&["vendor/1"]) && !sealed.replays_with(&["other"]));
/// # Ok::<(), haft_core::record::InvalidRecord>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Thought {
    id: RecordName,
    content: Text,
    identity: Identity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Arc<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replay_compatibility: Option<Arc<str>>,
    #[serde(deserialize_with = "stored_tier")]
    trust: TrustTier,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Thought {
    /// The same record under another id.
    pub(crate) fn renamed(&self, id: RecordName) -> Self {
        Self { id, ..self.clone() }
    }

    /// An untrusted thought. It is the assistant's unless another author is named.
    #[must_use]
    pub fn new(id: impl Into<String>, content: impl Into<Text>, at: Timestamp) -> Self {
        Self::of_tier(TrustTier::UNTRUSTED, id, content, at)
    }

    /// A thought with the tier of the content that it is about.
    #[must_use]
    pub fn of_tier(
        trust: TrustTier,
        id: impl Into<String>,
        content: impl Into<Text>,
        at: Timestamp,
    ) -> Self {
        Self {
            id: RecordName::unchecked(id.into()),
            content: content.into(),
            identity: Identity::assistant(),
            payload: None,
            replay_compatibility: None,
            trust,
            created_at: at,
            updated_at: at,
        }
    }

    /// The next version of it, changed at this time.
    #[must_use]
    pub fn revised(&self, at: Timestamp) -> Self {
        Self { updated_at: at, ..self.clone() }
    }

    /// Sets who thought it.
    #[must_use]
    pub fn with_identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }

    /// Sets the value that its vendor wants back unchanged. `null` counts as no value.
    #[must_use]
    pub fn with_payload(mut self, payload: Value) -> Self {
        self.payload = Some(payload).filter(|it| !it.is_null()).map(Arc::new);
        self
    }

    /// Sets the tag of those who understand the payload.
    #[must_use]
    pub fn with_replay_compatibility(mut self, tag: impl Into<Arc<str>>) -> Self {
        self.replay_compatibility = Some(tag.into());
        self
    }

    /// Lowers its tier to at most this one.
    #[must_use]
    pub fn lowered_to(mut self, tier: TrustTier) -> Self {
        self.trust = self.trust.floor(tier);
        self
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> &RecordName {
        &self.id
    }

    /// The text of the thought; empty only if there is a payload.
    #[must_use]
    pub const fn content(&self) -> &Text {
        &self.content
    }

    /// Who thought it.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The value that its vendor wants back unchanged; never `null`.
    #[must_use]
    pub fn payload(&self) -> Option<&Value> {
        self.payload.as_deref()
    }

    /// The tag of those who understand the payload.
    #[must_use]
    pub fn replay_compatibility(&self) -> Option<&str> {
        self.replay_compatibility.as_deref()
    }

    /// Whether it can be sent back to a provider that understands these tags. A thought without a tag, or with the tag
    /// `plain-text`, can be sent to any provider.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::record::Thought;
    ///
    /// let thought = Thought::new("t-1", "The user wants tea.", Timestamp::EPOCH)
    ///     .with_payload(serde_json::json!({"signature": "abc"}))
    ///     .with_replay_compatibility("model-a");
    /// assert!(thought.replays_with(&["model-a"]));
    /// assert!(!thought.replays_with(&["model-b"]));
    /// ```
    #[must_use]
    pub fn replays_with(&self, understood: &[&str]) -> bool {
        payload_fits(self.replay_compatibility(), understood)
    }

    /// How much it may be trusted: the tier of the content that it is about.
    #[must_use]
    pub const fn trust(&self) -> TrustTier {
        self.trust
    }

    /// When it was thought.
    #[must_use]
    pub const fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// When it was changed last.
    #[must_use]
    pub const fn updated_at(&self) -> Timestamp {
        self.updated_at
    }
}

impl Record for Thought {
    type Id = RecordName;

    const KIND: RowKind = RowKind::Thought;

    fn key(&self) -> RecordName {
        self.id.clone()
    }

    fn check(&self) -> Result<(), InvalidRecord> {
        let mut faults = RecordFaults::default();
        faults.check_name("id", &self.id);
        check_payload(self.payload(), self.replay_compatibility.as_ref(), &mut faults);
        if self.payload.is_none() {
            faults.check_not_empty("content", self.content.as_str());
        }
        faults.end("thought", codes::INVALID_INITIAL_THOUGHT_VALUE)
    }
}
