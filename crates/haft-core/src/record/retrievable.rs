//! Records that were retrieved as material for the answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{InvalidRecord, LoadError, Record, RecordFaults, RecordName, Text};
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::clock::Timestamp;
use crate::error::codes;
use crate::media::ReaderResolvers;
use crate::spool::SpoolReader;
use crate::store::RowKind;
use crate::tier::{TrustTier, stored_tier};

/// Something that was retrieved as material for the answer. Its origin must be stated.
///
/// Text is stored outside the prompt and queried by a handle, unless the record says `inline`: see
/// [`to_spool`](Self::to_spool). The tier can be lowered and never raised; an artifact that is less trusted
/// than the record says lowers the record.
///
/// ```
/// use haft_core::clock::Timestamp;
/// use haft_core::record::{Record as _, Retrievable};
/// use haft_core::trust::TrustTier;
///
/// let page = Retrievable::new("page-1", "…", TrustTier::ThirdPartyPublic, Timestamp::EPOCH);
/// let page = page.with_source("https://example.com").with_score(0.7).checked()?;
/// assert_eq!(page.to_spool(), Some("…"));
/// # Ok::<(), haft_core::record::InvalidRecord>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retrievable {
    id: RecordName,
    content: RetrievableContent,
    #[serde(deserialize_with = "stored_tier")]
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

/// What was retrieved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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

    /// A record with the tier that the retriever declares.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        content: impl Into<RetrievableContent>,
        trust_tier: TrustTier,
        at: Timestamp,
    ) -> Self {
        let record = Self {
            id: RecordName::unchecked(id.into()),
            content: content.into(),
            trust_tier,
            source: None,
            kind: None,
            score: None,
            inline: false,
            artifact_kind: None,
            created_at: at,
            updated_at: at,
        };
        record.with_one_tier()
    }

    /// The next version of it, changed at this time.
    #[must_use]
    pub fn revised(&self, at: Timestamp) -> Self {
        Self { updated_at: at, ..self.clone() }
    }

    /// Replaces the content. An artifact that is trusted less lowers the record.
    #[must_use]
    pub fn with_content(self, content: impl Into<RetrievableContent>) -> Self {
        Self { content: content.into(), ..self }.with_one_tier()
    }

    /// Lowers the tier to at most this one.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::record::Retrievable;
    /// use haft_core::trust::TrustTier;
    ///
    /// let page = Retrievable::new("page", "…", TrustTier::FirstParty, Timestamp::EPOCH)
    ///     .lowered_to(TrustTier::ThirdPartyPublic);
    /// assert_eq!(page.trust_tier(), TrustTier::ThirdPartyPublic);
    /// ```
    #[must_use]
    pub fn lowered_to(mut self, tier: TrustTier) -> Self {
        self.trust_tier = self.trust_tier.floor(tier);
        self.with_one_tier()
    }

    /// Gives the record and its artifact the lower tier of the two.
    fn with_one_tier(mut self) -> Self {
        if let RetrievableContent::Artifact(artifact) = &self.content {
            self.trust_tier = self.trust_tier.floor(artifact.label());
            self.content = artifact.floor(self.trust_tier).into();
        }
        self
    }

    /// Sets where it was found.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Arc<str>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Sets the kind of record, as the application names it.
    #[must_use]
    pub fn with_kind(mut self, kind: impl Into<Arc<str>>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Sets its relevance, from 0 to 1.
    #[must_use]
    pub const fn with_score(mut self, score: f64) -> Self {
        self.score = Some(score);
        self
    }

    /// Shows it to the model in full instead of as a handle.
    #[must_use]
    pub const fn shown_inline(mut self) -> Self {
        self.inline = true;
        self
    }

    /// Shows it to the model as a handle, which is the default.
    #[must_use]
    pub const fn shown_as_handle(mut self) -> Self {
        self.inline = false;
        self
    }

    /// Sets the kind of artifact that its text becomes in a spool; the default is text.
    #[must_use]
    pub fn with_artifact_kind(mut self, kind: ArtifactKind) -> Self {
        self.artifact_kind = Some(kind);
        self
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

impl Record for Retrievable {
    type Id = RecordName;

    const KIND: RowKind = RowKind::Retrievable;

    fn key(&self) -> RecordName {
        self.id.clone()
    }

    fn check(&self) -> Result<(), InvalidRecord> {
        let mut faults = RecordFaults::default();
        faults.check_name("id", &self.id);
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
        faults.end("retrievable", codes::INVALID_INITIAL_RETRIEVABLE_VALUE)
    }

    fn restored(self) -> Result<Self, LoadError> {
        Ok(self.with_one_tier())
    }

    async fn open(&mut self, readers: &ReaderResolvers) -> Result<(), LoadError> {
        if let RetrievableContent::Artifact(artifact) = &mut self.content {
            *artifact = readers.open_artifact(artifact).await?;
        }
        Ok(())
    }
}
