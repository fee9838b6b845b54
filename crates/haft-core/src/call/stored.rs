//! The stored form of a call.
//!
//! Arguments are stored as text, because a JSON value would lose digits of long integers, and because text that is not
//! JSON must be stored too. When a call is loaded, its id is computed again and compared.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RecordId;
use super::record::{CallError, CallState, ToolCall, ToolResults};
use crate::artifact::{ArtifactRecord, SpooledArtifact};
use crate::clock::Timestamp;
use crate::gate::GrantId;
use crate::id::CallId;
use crate::json::{Document, OWN_DEPTH, OWN_TEXT};
use crate::media::{Media, MediaRecord};
use crate::record::{
    LoadError, NotStorable, ProviderPayload, Record, RecordFaults, RecordList, RecordLoader,
    nesting_depth, read_stored, write_stored,
};
use crate::schema::Change;
use crate::schema::args::{Args, RawArgs};
use crate::store::RowKind;
use crate::tier::TrustTier;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredCall<'a> {
    id: RecordId,
    tool: Cow<'a, str>,
    /// JSON text, or text that was meant to be.
    raw: Cow<'a, str>,
    /// JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accepted: Option<Cow<'a, str>>,
    /// JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edited: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grant: Option<GrantId>,
    #[serde(default, skip_serializing_if = "<[Change]>::is_empty")]
    changes: Cow<'a, [Change]>,
    state: CallState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    results: Option<StoredResults<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Cow<'a, CallError>>,
    /// For the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<Cow<'a, str>>,
    label: TrustTier,
    from_artifact_tool: bool,
    inline: bool,
    iteration: u32,
    ordinal: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_id: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Cow<'a, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replay_compatibility: Option<Cow<'a, str>>,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StoredResults<'a> {
    Text(Cow<'a, str>),
    Artifacts(Vec<ArtifactRecord>),
    Media(Vec<MediaRecord>),
}

impl Record for ToolCall {
    type Id = RecordId;

    const KIND: RowKind = RowKind::ToolCall;

    fn key(&self) -> RecordId {
        self.id
    }

    fn is_known_storable(&self) -> bool {
        let accepted = match (&self.accepted, self.raw.parsed()) {
            (Some(accepted), Ok(raw)) => accepted.is_same(raw),
            (accepted, _) => accepted.is_none(),
        };
        // Text that was read is within the bounds of text that is read again.
        accepted
            && self.raw.was_read()
            && self.edited.is_none()
            && self.changes.is_empty()
            && self.payload().is_none()
            && matches!(self.results, None | Some(ToolResults::Text(_)))
            && self.check().is_ok()
    }

    fn to_stored(&self) -> Result<String, NotStorable> {
        self.check()?;
        let accepted = self.accepted.as_ref().map(Args::to_string);
        let stored = StoredCall {
            id: self.id,
            tool: Cow::Borrowed(&self.tool),
            raw: self.raw.to_text(),
            accepted: accepted.map(Cow::Owned),
            edited: self.edited.as_deref().map(RawArgs::to_text),
            grant: self.grant,
            changes: self.changes.as_slice().into(),
            state: self.state,
            results: self.results.as_ref().map(StoredResults::of).transpose()?,
            error: self.error.as_ref().map(Cow::Borrowed),
            cause: self.cause.as_deref().map(Cow::Borrowed),
            label: self.label,
            from_artifact_tool: self.from_artifact_tool,
            inline: self.inline,
            iteration: self.iteration,
            ordinal: self.ordinal,
            provider_id: self.provider_id.as_deref().map(Cow::Borrowed),
            payload: self.payload().map(Cow::Borrowed),
            replay_compatibility: self.replay_compatibility().map(Cow::Borrowed),
            created_at: self.created_at,
            updated_at: self.updated_at,
            completed_at: self.completed_at,
        };
        readable(&stored.raw, self.raw.parsed().is_ok())?;
        readable(stored.accepted.as_deref().unwrap_or_default(), true)?;
        write_stored(Self::KIND, &stored)
    }

    async fn from_stored(json: &str, loader: &RecordLoader) -> Result<Self, LoadError> {
        let stored: StoredCall<'_> = read_stored(Self::KIND, json)?;
        let damaged = |reason| LoadError::damaged(Self::KIND, reason);
        let raw = RawArgs::from_text_of(&stored.raw, &stored.tool, stored.id.call_id())
            .ok_or_else(|| {
                damaged("its id is not that of its tool and its raw arguments".into())
            })?;
        let accepted = stored.accepted.map(|text| Document::parse_own(&text).map(Args::new));
        let accepted = accepted.transpose();
        let accepted = accepted.map_err(|error| damaged(format!("`accepted`: {error}")))?;
        let mut faults = RecordFaults::default();
        let payload = stored.payload.map(Cow::into_owned);
        let replay =
            ProviderPayload::new(payload, stored.replay_compatibility.map(Arc::from), &mut faults);
        if !faults.is_empty() {
            return Err(Self::refused(faults).into());
        }
        let results = match stored.results {
            Some(results) => Some(results.load(loader).await?),
            None => None,
        };
        let mut call = Self {
            id: stored.id,
            tool: stored.tool.into(),
            raw,
            accepted,
            edited: stored.edited.map(|text| Box::new(RawArgs::text(&text))),
            grant: stored.grant,
            changes: stored.changes.into_owned(),
            state: stored.state,
            results,
            error: stored.error.map(Cow::into_owned),
            cause: stored.cause.map(|cause| cause.into_owned().into()),
            label: stored.label,
            from_artifact_tool: stored.from_artifact_tool,
            inline: stored.inline,
            iteration: stored.iteration,
            ordinal: stored.ordinal,
            provider_id: stored.provider_id.map(Cow::into_owned),
            replay,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
            completed_at: stored.completed_at,
        };
        // Earlier versions stored media without names.
        call.name_media();
        call.check()?;
        Ok(call)
    }
}

impl<'a> StoredResults<'a> {
    fn of(results: &'a ToolResults) -> Result<Self, NotStorable> {
        Ok(match results {
            ToolResults::Text(text) => Self::Text(text.as_str().into()),
            ToolResults::Artifacts(all) => Self::Artifacts(
                all.iter().map(SpooledArtifact::to_record).collect::<Result<_, _>>()?,
            ),
            ToolResults::Media(all) => {
                Self::Media(all.iter().map(Media::to_record).collect::<Result<_, _>>()?)
            }
        })
    }

    async fn load(self, loader: &RecordLoader) -> Result<ToolResults, LoadError> {
        Ok(match self {
            Self::Text(text) => ToolResults::Text(text.into_owned()),
            Self::Media(all) => ToolResults::Media(
                all.into_iter().map(|it| loader.load_media(it)).collect::<Result<_, _>>()?,
            ),
            Self::Artifacts(all) => {
                let mut artifacts = Vec::with_capacity(all.len());
                for artifact in all {
                    artifacts.push(loader.load_artifact(artifact).await?);
                }
                ToolResults::Artifacts(artifacts)
            }
        })
    }
}

/// Refuses JSON text that could not be parsed again.
fn readable(text: &str, is_json: bool) -> Result<(), NotStorable> {
    let why = match is_json {
        true if text.len() > OWN_TEXT => "they are too long",
        true if nesting_depth(text) > OWN_DEPTH => "they are nested too deeply",
        _ => return Ok(()),
    };
    Err(NotStorable::Extent { what: "the arguments of a call", why })
}

impl RecordList<ToolCall> {
    /// How often a call is in the list. It is computed from the list, so that it is correct after every change.
    #[must_use]
    pub fn call_count(&self, id: CallId) -> usize {
        self.count_keys(|key| key.call_id() == id)
    }
}
