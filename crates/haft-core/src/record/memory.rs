//! What is remembered from before.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{InvalidRecord, Record, RecordFaults, RecordName, Text};
use crate::clock::Timestamp;
use crate::error::codes;
use crate::store::RowKind;
use crate::tier::{TrustTier, stored_tier};

/// Something that is remembered from earlier turns, with its confidence and importance, both of which must be set.
///
/// Memories can be poisoned, so a memory has a tier like all content. The default is untrusted.
///
/// ```
/// use haft_core::clock::Timestamp;
/// use haft_core::record::{Memory, Record as _};
///
/// let likes = Memory::new("likes-tea", "the user likes tea", Timestamp::EPOCH);
/// assert!(likes.check().is_err());
/// let likes = likes.with_confidence(0.9).with_importance(0.2).checked()?;
/// assert!(!likes.trust().is_trusted());
/// # Ok::<(), haft_core::record::InvalidRecord>(())
/// ```
///
/// No deserializer makes a trusted memory of a text that claims to be one:
///
/// ```
/// use haft_core::clock::Timestamp;
/// use haft_core::record::{Memory, Record as _};
/// use haft_core::trust::{TrustTier};
///
/// let ours = TrustTier::FirstParty;
/// let ours = Memory::of_tier(ours, "rule", "Be brief.", Timestamp::EPOCH);
/// let text = ours.with_confidence(1.0).with_importance(1.0).to_json()?;
/// let read: Memory = serde_json::from_str(&text)?;
/// assert!(!read.trust().is_trusted());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Memory {
    id: RecordName,
    content: Text,
    confidence: f64,
    importance: f64,
    #[serde(deserialize_with = "stored_tier")]
    trust: TrustTier,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Arc<str>>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Memory {
    /// An untrusted memory. Confidence and importance must be set.
    #[must_use]
    pub fn new(id: impl Into<String>, content: impl Into<Text>, at: Timestamp) -> Self {
        Self::of_tier(TrustTier::UNTRUSTED, id, content, at)
    }

    /// A memory with the tier of the content that it is made from. Confidence and importance must be set.
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
            confidence: f64::NAN,
            importance: f64::NAN,
            trust,
            source: None,
            created_at: at,
            updated_at: at,
        }
    }

    /// The next version of it, changed at this time.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::record::Memory;
    ///
    /// let old = Memory::new("likes", "Tea.", Timestamp::EPOCH).with_confidence(0.9);
    /// let new = old.revised(Timestamp::MAX).with_content("Coffee.");
    /// assert_eq!((new.id(), new.content().as_str()), (old.id(), "Coffee."));
    /// assert_eq!((new.created_at(), new.updated_at()), (Timestamp::EPOCH, Timestamp::MAX));
    /// ```
    #[must_use]
    pub fn revised(&self, at: Timestamp) -> Self {
        Self { updated_at: at, ..self.clone() }
    }

    /// Replaces the content.
    #[must_use]
    pub fn with_content(mut self, text: impl Into<Text>) -> Self {
        self.content = text.into();
        self
    }

    /// Sets its confidence, from 0 to 1.
    #[must_use]
    pub const fn with_confidence(mut self, confidence: f64) -> Self {
        self.confidence = confidence;
        self
    }

    /// Sets its importance, from 0 to 1.
    #[must_use]
    pub const fn with_importance(mut self, importance: f64) -> Self {
        self.importance = importance;
        self
    }

    /// Sets where it comes from.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Arc<str>>) -> Self {
        self.source = Some(source.into());
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

    /// What is remembered; never empty.
    #[must_use]
    pub const fn content(&self) -> &Text {
        &self.content
    }

    /// Its confidence, from 0 to 1.
    #[must_use]
    pub const fn confidence(&self) -> f64 {
        self.confidence
    }

    /// Its importance, from 0 to 1.
    #[must_use]
    pub const fn importance(&self) -> f64 {
        self.importance
    }

    /// How much it may be trusted: the tier of the content that it was made from.
    #[must_use]
    pub const fn trust(&self) -> TrustTier {
        self.trust
    }

    /// Where it comes from.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// When it was made.
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

impl Record for Memory {
    type Id = RecordName;

    const KIND: RowKind = RowKind::Memory;

    fn key(&self) -> RecordName {
        self.id.clone()
    }

    fn check(&self) -> Result<(), InvalidRecord> {
        let mut faults = RecordFaults::default();
        faults.check_name("id", &self.id);
        faults.check_not_empty("content", self.content.as_str());
        faults.check_unit_interval("confidence", self.confidence);
        faults.check_unit_interval("importance", self.importance);
        if let Some(source) = &self.source {
            faults.check_not_empty("source", source);
        }
        faults.end("memory", codes::INVALID_INITIAL_MEMORY_VALUE)
    }
}
