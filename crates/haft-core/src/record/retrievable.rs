//! Records that were retrieved as material for the answer.

use crate::error::codes;
use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    InvalidRecord, LoadError, NotStorable, Record, RecordFaults, RecordLoader, RecordName, Text,
    read_stored, write_stored,
};
use crate::artifact::{ArtifactKind, ArtifactRecord, SpooledArtifact};
use crate::clock::Timestamp;
use crate::spool::SpoolReader;
use crate::store::RowKind;
use crate::tier::TrustTier;

/// Something that was retrieved as material for the answer. Its origin must be stated.
///
/// Text is stored outside the prompt and queried by a handle, unless the record says `inline`: see
/// [`to_spool`](Self::to_spool). The tier can be lowered and never raised; an artifact that is less trusted
/// than the record says lowers the record.
///
/// ```
/// use haft_core::clock::Timestamp;
/// use haft_core::record::Retrievable;
/// use haft_core::trust::TrustTier;
///
/// let page = Retrievable::builder("page-1", "…", TrustTier::ThirdPartyPublic, Timestamp::EPOCH);
/// let page = page.source("https://example.com").score(0.7).build()?;
/// assert_eq!(page.to_spool(), Some("…"));
/// # Ok::<(), haft_core::record::InvalidRecord>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Retrievable {
    id: RecordName,
    content: RetrievableContent,
    trust_tier: TrustTier,
    source: Option<Arc<str>>,
    kind: Option<Arc<str>>,
    score: Option<f64>,
    inline: bool,
    artifact_kind: Option<ArtifactKind>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// What was retrieved.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RetrievableContent {
    /// Text, at hand.
    Text(Text),
    /// Content that is stored outside the prompt.
    Artifact(SpooledArtifact),
}

impl Retrievable {
    /// The same record under another id.
    pub(crate) fn renamed(&self, id: RecordName) -> Self {
        Self { id, ..self.clone() }
    }

    /// A builder of a record with the tier that the retriever declares.
    pub fn builder(
        id: impl Into<String>,
        content: impl Into<RetrievableContent>,
        trust_tier: TrustTier,
        at: Timestamp,
    ) -> RetrievableBuilder {
        RetrievableBuilder {
            id: id.into(),
            content: content.into(),
            trust_tier,
            source: None,
            kind: None,
            score: None,
            inline: false,
            artifact_kind: None,
            created_at: at,
            updated_at: at,
        }
    }

    /// A builder of the next version of it, changed at this time. It will never be trusted more than
    /// this one.
    pub fn to_builder(&self, at: Timestamp) -> RetrievableBuilder {
        RetrievableBuilder {
            id: self.id.as_str().to_owned(),
            content: self.content.clone(),
            trust_tier: self.trust_tier,
            source: self.source.clone(),
            kind: self.kind.clone(),
            score: self.score,
            inline: self.inline,
            artifact_kind: self.artifact_kind.clone(),
            created_at: self.created_at,
            updated_at: at,
        }
    }

    /// The text that must be moved to a spool before the model sees the record, or `None` if it is in a spool already
    /// or is shown in full.
    #[must_use]
    pub fn to_spool(&self) -> Option<&str> {
        match &self.content {
            RetrievableContent::Text(text) if !self.inline => Some(text.as_str()),
            RetrievableContent::Text(_) | RetrievableContent::Artifact(_) => None,
        }
    }

    /// The same record with its text in a spool, where `reader` reads it.
    #[must_use]
    pub fn spooled(&self, reader: Arc<dyn SpoolReader>) -> Self {
        let kind = self.artifact_kind.clone().unwrap_or_default();
        let artifact = SpooledArtifact::new(kind, reader, self.trust_tier);
        Self { content: RetrievableContent::Artifact(artifact), ..self.clone() }
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> &RecordName {
        &self.id
    }

    /// What was retrieved.
    #[must_use]
    pub const fn content(&self) -> &RetrievableContent {
        &self.content
    }

    /// Where it comes from.
    #[must_use]
    pub const fn trust_tier(&self) -> TrustTier {
        self.trust_tier
    }

    /// Where it was found.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// The kind of record, as the application names it.
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// Its relevance, from 0 to 1.
    #[must_use]
    pub const fn score(&self) -> Option<f64> {
        self.score
    }

    /// Whether the model sees it in full instead of a handle.
    #[must_use]
    pub const fn inline(&self) -> bool {
        self.inline
    }

    /// The kind of artifact that its text becomes in a spool, if it was set.
    #[must_use]
    pub const fn artifact_kind(&self) -> Option<&ArtifactKind> {
        self.artifact_kind.as_ref()
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

/// A retrieved record that is still being put together.
#[derive(Clone, Debug)]
#[must_use]
pub struct RetrievableBuilder {
    id: String,
    content: RetrievableContent,
    trust_tier: TrustTier,
    source: Option<Arc<str>>,
    kind: Option<Arc<str>>,
    score: Option<f64>,
    inline: bool,
    artifact_kind: Option<ArtifactKind>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl RetrievableBuilder {
    /// Replaces the content.
    pub fn content(mut self, content: impl Into<RetrievableContent>) -> Self {
        self.content = content.into();
        self
    }

    /// Lowers the tier to at most this one.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::record::Retrievable;
    /// use haft_core::trust::TrustTier;
    ///
    /// let page = Retrievable::builder("page", "…", TrustTier::FirstParty, Timestamp::EPOCH)
    ///     .lowered_to(TrustTier::ThirdPartyPublic)
    ///     .build()?;
    /// assert_eq!(page.trust_tier(), TrustTier::ThirdPartyPublic);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lowered_to(mut self, tier: TrustTier) -> Self {
        self.trust_tier = self.trust_tier.floor(tier);
        self
    }

    /// Where it was found.
    pub fn source(mut self, source: impl Into<Arc<str>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The kind of record, as the application names it.
    pub fn kind(mut self, kind: impl Into<Arc<str>>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Its relevance, from 0 to 1.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::record::Retrievable;
    /// use haft_core::trust::TrustTier;
    ///
    /// let hit = Retrievable::builder("hit", "…", TrustTier::ThirdPartyPrivate, Timestamp::EPOCH)
    ///     .source("search")
    ///     .score(0.8)
    ///     .build()?;
    /// assert_eq!((hit.source(), hit.score()), (Some("search"), Some(0.8)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn score(mut self, score: f64) -> Self {
        self.score = Some(score);
        self
    }

    /// Shows it to the model in full instead of as a handle.
    pub fn inline(mut self) -> Self {
        self.inline = true;
        self
    }

    /// Shows it to the model as a handle, which is the default.
    pub fn as_handle(mut self) -> Self {
        self.inline = false;
        self
    }

    /// Sets the kind of artifact that its text becomes in a spool; the default is text.
    pub fn artifact_kind(mut self, kind: ArtifactKind) -> Self {
        self.artifact_kind = Some(kind);
        self
    }

    /// When it was changed last.
    pub fn updated_at(mut self, at: Timestamp) -> Self {
        self.updated_at = at;
        self
    }

    /// The record.
    ///
    /// # Errors
    ///
    /// Every problem that was found.
    pub fn build(self) -> Result<Retrievable, InvalidRecord> {
        let mut faults = RecordFaults::default();
        let id = faults.name("id", &self.id);
        if let RetrievableContent::Text(text) = &self.content {
            faults.check_not_empty("content", text.as_str());
        }
        for (field, text) in [("source", &self.source), ("kind", &self.kind)] {
            if let Some(text) = text {
                faults.check_not_empty(field, text);
            }
        }
        if let Some(score) = self.score {
            faults.check_unit_interval("score", score);
        }
        let (Some(id), true) = (id, faults.is_empty()) else {
            return Err(faults.of("retrievable", codes::INVALID_INITIAL_RETRIEVABLE_VALUE));
        };
        let (content, trust_tier) = match self.content {
            RetrievableContent::Artifact(artifact) => {
                let tier = self.trust_tier.floor(artifact.label());
                (artifact.floor(tier).into(), tier)
            }
            text @ RetrievableContent::Text(_) => (text, self.trust_tier),
        };
        Ok(Retrievable {
            id,
            content,
            trust_tier,
            source: self.source,
            kind: self.kind,
            score: self.score,
            inline: self.inline,
            artifact_kind: self.artifact_kind,
            created_at: self.created_at,
            updated_at: self.updated_at,
        })
    }
}

impl From<Text> for RetrievableContent {
    fn from(text: Text) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for RetrievableContent {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for RetrievableContent {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<SpooledArtifact> for RetrievableContent {
    fn from(artifact: SpooledArtifact) -> Self {
        Self::Artifact(artifact)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredRetrievable<'a> {
    id: Cow<'a, str>,
    content: StoredContent<'a>,
    trust_tier: TrustTier,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    inline: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    artifact_kind: Option<ArtifactKind>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StoredContent<'a> {
    Text(Cow<'a, str>),
    Artifact(ArtifactRecord),
}

impl Record for Retrievable {
    type Id = RecordName;

    const KIND: RowKind = RowKind::Retrievable;

    fn key(&self) -> RecordName {
        self.id.clone()
    }

    fn to_stored(&self) -> Result<String, NotStorable> {
        let content = match &self.content {
            RetrievableContent::Text(text) => StoredContent::Text(text.as_str().into()),
            RetrievableContent::Artifact(artifact) => {
                StoredContent::Artifact(artifact.to_record()?)
            }
        };
        let stored = StoredRetrievable {
            id: self.id.as_str().into(),
            content,
            trust_tier: self.trust_tier,
            source: self.source.clone(),
            kind: self.kind.clone(),
            score: self.score,
            inline: self.inline,
            artifact_kind: self.artifact_kind.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
        };
        write_stored(Self::KIND, &stored)
    }

    async fn from_stored(json: &str, loader: &RecordLoader) -> Result<Self, LoadError> {
        let stored: StoredRetrievable<'_> = read_stored(Self::KIND, json)?;
        let content = match stored.content {
            StoredContent::Text(text) => RetrievableContent::from(text.into_owned()),
            StoredContent::Artifact(artifact) => loader.load_artifact(artifact).await?.into(),
        };
        let builder = RetrievableBuilder {
            id: stored.id.into_owned(),
            content,
            trust_tier: stored.trust_tier,
            source: stored.source,
            kind: stored.kind,
            score: stored.score,
            inline: stored.inline,
            artifact_kind: stored.artifact_kind,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
        };
        Ok(builder.build()?)
    }
}
