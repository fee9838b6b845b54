//! Reasoning.

use crate::error::codes;
use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Identity, InvalidRecord, LoadError, NotStorable, ProviderPayload, Record, RecordFaults,
    RecordLoader, RecordName, Text, read_stored, write_stored,
};
use crate::clock::Timestamp;
use crate::store::RowKind;
use crate::tier::TrustTier;

/// Reasoning of the agent: text, a payload that only its vendor understands, or both.
///
/// A payload needs a tag that says which providers understand it; there can be a tag without a payload. Text can be
/// empty only if there is a payload.
///
/// ```
/// use haft_core::clock::Timestamp;
/// use haft_core::record::Thought;
///
/// let sealed = Thought::builder("t-1", Timestamp::EPOCH)
///     .payload(serde_json::json!({ "signature": "…" }))
///     .replay_compatibility("vendor/1")
///     .build()?;
/// assert!(sealed.replays_with(&["vendor/1"]) && !sealed.replays_with(&["other"]));
/// # Ok::<(), haft_core::record::InvalidRecord>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Thought {
    id: RecordName,
    content: Text,
    identity: Identity,
    replay: ProviderPayload,
    trust: TrustTier,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Thought {
    /// The same record under another id.
    pub(crate) fn renamed(&self, id: RecordName) -> Self {
        Self { id, ..self.clone() }
    }

    /// A builder of a thought. It is the assistant's unless another author is named.
    pub fn builder(id: impl Into<String>, at: Timestamp) -> ThoughtBuilder {
        ThoughtBuilder {
            id: id.into(),
            content: Text::default(),
            identity: None,
            payload: None,
            replay_compatibility: None,
            trust: None,
            ceiling: None,
            created_at: at,
            updated_at: at,
        }
    }

    /// A builder of the next version of it, changed at this time. It will never be trusted more than
    /// this one.
    pub fn to_builder(&self, at: Timestamp) -> ThoughtBuilder {
        ThoughtBuilder {
            id: self.id.as_str().to_owned(),
            content: self.content.clone(),
            identity: Some(self.identity.clone()),
            payload: self.payload().cloned(),
            replay_compatibility: self.replay_compatibility().map(Arc::from),
            trust: Some(self.trust),
            ceiling: Some(self.trust),
            created_at: self.created_at,
            updated_at: at,
        }
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
        self.replay.payload()
    }

    /// The tag of those who understand the payload.
    #[must_use]
    pub fn replay_compatibility(&self) -> Option<&str> {
        self.replay.compatibility()
    }

    /// Whether it can be sent back to a provider that understands these tags. A thought without a tag, or with the tag
    /// `plain-text`, can be sent to any provider.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::record::Thought;
    ///
    /// let thought = Thought::builder("t-1", Timestamp::EPOCH)
    ///     .content("The user wants tea.")
    ///     .payload(serde_json::json!({"signature": "abc"}))
    ///     .replay_compatibility("model-a")
    ///     .build()?;
    /// assert!(thought.replays_with(&["model-a"]));
    /// assert!(!thought.replays_with(&["model-b"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn replays_with(&self, understood: &[&str]) -> bool {
        self.replay.fits(understood)
    }

    /// How much it may be trusted: the label of the content that it is about.
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

/// A thought that is still being put together.
#[derive(Clone, Debug)]
#[must_use]
pub struct ThoughtBuilder {
    id: String,
    content: Text,
    identity: Option<Identity>,
    payload: Option<Value>,
    replay_compatibility: Option<Arc<str>>,
    trust: Option<TrustTier>,
    /// What an earlier version was trusted.
    ceiling: Option<TrustTier>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl ThoughtBuilder {
    /// What was thought.
    pub fn content(mut self, text: impl Into<Text>) -> Self {
        self.content = text.into();
        self
    }

    /// Who thought it.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Sets the value that its vendor wants back unchanged. `null` counts as no value.
    pub fn payload(mut self, payload: Value) -> Self {
        self.payload = Some(payload);
        self
    }

    /// The tag of those who understand the payload.
    pub fn replay_compatibility(mut self, tag: impl Into<Arc<str>>) -> Self {
        self.replay_compatibility = Some(tag.into());
        self
    }

    /// How much it may be trusted: the label of the content that it is about. The default is untrusted.
    pub fn trust(mut self, label: TrustTier) -> Self {
        self.trust = Some(label);
        self
    }

    /// When it was changed last.
    pub fn updated_at(mut self, at: Timestamp) -> Self {
        self.updated_at = at;
        self
    }

    /// The thought.
    ///
    /// # Errors
    ///
    /// Every problem that was found.
    pub fn build(self) -> Result<Thought, InvalidRecord> {
        let mut faults = RecordFaults::default();
        let id = faults.name("id", &self.id);
        let replay = ProviderPayload::new(self.payload, self.replay_compatibility, &mut faults);
        if replay.payload().is_none() {
            faults.check_not_empty("content", self.content.as_str());
        }
        let (Some(id), true) = (id, faults.is_empty()) else {
            return Err(faults.of("thought", codes::INVALID_INITIAL_THOUGHT_VALUE));
        };
        let trust = self.trust.unwrap_or(TrustTier::UNTRUSTED);
        Ok(Thought {
            id,
            content: self.content,
            identity: self.identity.unwrap_or_else(Identity::assistant),
            replay,
            trust: self.ceiling.map_or(trust, |ceiling| trust.floor(ceiling)),
            created_at: self.created_at,
            updated_at: self.updated_at,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredThought<'a> {
    id: Cow<'a, str>,
    content: Cow<'a, str>,
    identity: Cow<'a, Identity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Cow<'a, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replay_compatibility: Option<Cow<'a, str>>,
    trust: TrustTier,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Record for Thought {
    type Id = RecordName;

    const KIND: RowKind = RowKind::Thought;

    fn key(&self) -> RecordName {
        self.id.clone()
    }

    fn is_known_storable(&self) -> bool {
        self.replay.payload().is_none()
    }

    fn to_stored(&self) -> Result<String, NotStorable> {
        let stored = StoredThought {
            id: self.id.as_str().into(),
            content: self.content.as_str().into(),
            identity: Cow::Borrowed(&self.identity),
            payload: self.payload().map(Cow::Borrowed),
            replay_compatibility: self.replay_compatibility().map(Cow::Borrowed),
            trust: self.trust,
            created_at: self.created_at,
            updated_at: self.updated_at,
        };
        write_stored(Self::KIND, &stored)
    }

    async fn from_stored(json: &str, _: &RecordLoader) -> Result<Self, LoadError> {
        let stored: StoredThought<'_> = read_stored(Self::KIND, json)?;
        let mut thought = Self::builder(stored.id, stored.created_at)
            .content(stored.content.into_owned())
            .identity(stored.identity.into_owned())
            .trust(stored.trust)
            .updated_at(stored.updated_at);
        thought.payload = stored.payload.map(Cow::into_owned);
        thought.replay_compatibility = stored.replay_compatibility.map(Arc::from);
        Ok(thought.build()?)
    }
}
