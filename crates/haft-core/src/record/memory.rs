//! What is remembered from before.

use crate::error::codes;
use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    InvalidRecord, LoadError, NotStorable, Record, RecordFault, RecordFaults, RecordLoader,
    RecordName, Text, read_stored, write_stored,
};
use crate::clock::Timestamp;
use crate::store::RowKind;
use crate::tier::TrustTier;

/// Something that is remembered from earlier turns, with its confidence and importance.
///
/// Memories can be poisoned, so a memory has a trust label like all content. The default is untrusted.
///
/// ```
/// use haft_core::clock::Timestamp;
/// use haft_core::record::Memory;
///
/// let likes = Memory::builder("likes-tea", "the user likes tea", Timestamp::EPOCH);
/// let likes = likes.confidence(0.9).importance(0.2).build()?;
/// assert!(!likes.trust().is_trusted());
/// # Ok::<(), haft_core::record::InvalidRecord>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    id: RecordName,
    content: Text,
    confidence: f64,
    importance: f64,
    trust: TrustTier,
    source: Option<Arc<str>>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Memory {
    /// A builder of a memory. Confidence and importance must be set.
    pub fn builder(
        id: impl Into<String>,
        content: impl Into<Text>,
        at: Timestamp,
    ) -> MemoryBuilder {
        MemoryBuilder {
            id: id.into(),
            content: content.into(),
            confidence: None,
            importance: None,
            trust: None,
            ceiling: None,
            source: None,
            created_at: at,
            updated_at: at,
        }
    }

    /// A builder of the next version of it, changed at this time. It will never be trusted more than
    /// this one.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::record::Memory;
    ///
    /// let old = Memory::builder("likes", "Tea.", Timestamp::EPOCH);
    /// let old = old.confidence(0.9).importance(0.5).build()?;
    /// let new = old.to_builder(Timestamp::MAX).content("Coffee.").build()?;
    /// assert_eq!((new.id(), new.content().as_str()), (old.id(), "Coffee."));
    /// assert_eq!((new.created_at(), new.updated_at()), (Timestamp::EPOCH, Timestamp::MAX));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_builder(&self, at: Timestamp) -> MemoryBuilder {
        MemoryBuilder {
            id: self.id.as_str().to_owned(),
            content: self.content.clone(),
            confidence: Some(self.confidence),
            importance: Some(self.importance),
            trust: Some(self.trust),
            ceiling: Some(self.trust),
            source: self.source.clone(),
            created_at: self.created_at,
            updated_at: at,
        }
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

    /// How much it may be trusted: the label of the content that it was made from.
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

/// A memory that is still being put together.
#[derive(Clone, Debug)]
#[must_use]
pub struct MemoryBuilder {
    id: String,
    content: Text,
    confidence: Option<f64>,
    importance: Option<f64>,
    trust: Option<TrustTier>,
    /// What an earlier version was trusted.
    ceiling: Option<TrustTier>,
    source: Option<Arc<str>>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl MemoryBuilder {
    /// Replaces the content.
    pub fn content(mut self, text: impl Into<Text>) -> Self {
        self.content = text.into();
        self
    }

    /// Its confidence, from 0 to 1.
    pub fn confidence(mut self, confidence: f64) -> Self {
        self.confidence = Some(confidence);
        self
    }

    /// Its importance, from 0 to 1.
    pub fn importance(mut self, importance: f64) -> Self {
        self.importance = Some(importance);
        self
    }

    /// How much it may be trusted: the label of the content that it was made from. The default is untrusted.
    pub fn trust(mut self, label: TrustTier) -> Self {
        self.trust = Some(label);
        self
    }

    /// Where it comes from.
    pub fn source(mut self, source: impl Into<Arc<str>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// When it was changed last.
    pub fn updated_at(mut self, at: Timestamp) -> Self {
        self.updated_at = at;
        self
    }

    /// The memory.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::record::Memory;
    ///
    /// let memory = Memory::builder("likes", "Tea.", Timestamp::EPOCH).importance(0.5);
    /// assert!(memory.clone().confidence(0.9).build().is_ok());
    /// assert!(memory.confidence(1.5).build().is_err(), "a confidence is between 0 and 1");
    /// ```
    ///
    /// # Errors
    ///
    /// Every problem that was found.
    pub fn build(self) -> Result<Memory, InvalidRecord> {
        let mut faults = RecordFaults::default();
        let id = faults.name("id", &self.id);
        faults.check_not_empty("content", self.content.as_str());
        for (field, score) in [("confidence", self.confidence), ("importance", self.importance)] {
            match score {
                Some(score) => faults.check_unit_interval(field, score),
                None => faults.add(RecordFault::Missing { field }),
            }
        }
        if let Some(source) = &self.source {
            faults.check_not_empty("source", source);
        }
        let trust = self.trust.unwrap_or(TrustTier::UNTRUSTED);
        match (id, self.confidence, self.importance) {
            (Some(id), Some(confidence), Some(importance)) if faults.is_empty() => Ok(Memory {
                id,
                content: self.content,
                confidence,
                importance,
                trust: self.ceiling.map_or(trust, |ceiling| trust.floor(ceiling)),
                source: self.source,
                created_at: self.created_at,
                updated_at: self.updated_at,
            }),
            _ => Err(faults.of("memory", codes::INVALID_INITIAL_MEMORY_VALUE)),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredMemory<'a> {
    id: Cow<'a, str>,
    content: Cow<'a, str>,
    confidence: f64,
    importance: f64,
    trust: TrustTier,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Arc<str>>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Record for Memory {
    type Id = RecordName;

    const KIND: RowKind = RowKind::Memory;

    fn key(&self) -> RecordName {
        self.id.clone()
    }

    fn to_stored(&self) -> Result<String, NotStorable> {
        let stored = StoredMemory {
            id: self.id.as_str().into(),
            content: self.content.as_str().into(),
            confidence: self.confidence,
            importance: self.importance,
            trust: self.trust,
            source: self.source.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
        };
        write_stored(Self::KIND, &stored)
    }

    async fn from_stored(json: &str, _: &RecordLoader) -> Result<Self, LoadError> {
        let stored: StoredMemory<'_> = read_stored(Self::KIND, json)?;
        let mut memory = Self::builder(stored.id, stored.content.into_owned(), stored.created_at)
            .confidence(stored.confidence)
            .importance(stored.importance)
            .trust(stored.trust)
            .updated_at(stored.updated_at);
        memory.source = stored.source;
        Ok(memory.build()?)
    }
}
