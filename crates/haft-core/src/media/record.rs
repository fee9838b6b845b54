//! Media as JSON: what is known of one, with or without the way back to its bytes.

use indexmap::IndexMap;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

use super::{
    Media, MediaError, MediaFile, MediaId, MediaKind, MediaStashEntry, ReaderDescriptor,
    ReaderResolvers,
};
use crate::tier::{ModalityHazard, TrustTier};

/// A media item as it is stored: everything that is known of it, and the descriptor of its reader.
///
/// ```
/// use haft_core::media::{Media, MediaFile, MediaKind, MediaRecord, ReaderResolvers};
///
/// let file = MediaFile::new("a.png", "image/png", &b"\x89PNG"[..]);
/// let media = Media::tool_generated(MediaKind::Image, file);
/// let stored = serde_json::to_string(&media.to_record()?)?;
/// let record: MediaRecord = serde_json::from_str(&stored)?;
/// assert_eq!(record.load(&ReaderResolvers::default())?, media);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MediaRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<MediaId>,
    kind: MediaKind,
    mime_type: String,
    filename: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    trust_tier: TrustTier,
    modality_hazard: ModalityHazard,
    #[serde(default)]
    #[cfg_attr(
        feature = "schemars",
        schemars(with = "std::collections::BTreeMap<String, MediaStashEntry>")
    )]
    stash: IndexMap<String, MediaStashEntry>,
    reader: ReaderDescriptor,
}

impl MediaRecord {
    /// The media item, with a reader that the resolvers make. Entries of the stash are held below the
    /// media item's tier, whatever was stored.
    ///
    /// # Errors
    ///
    /// The record is not a valid media item, or its reader cannot be made.
    pub fn load(self, resolvers: &ReaderResolvers) -> Result<Media, MediaError> {
        let reader = resolvers.resolve(&self.reader)?;
        let file = MediaFile::read_by(self.filename, self.mime_type, reader);
        let mut media =
            Media::new_unchecked(self.kind, self.trust_tier, self.modality_hazard, file);
        media.id = self.id;
        media.source = self.source;
        for (key, entry) in self.stash {
            media.insert(key, entry);
        }
        media.check()?;
        Ok(media)
    }
}

impl Media {
    /// The form in which it is stored.
    ///
    /// # Errors
    ///
    /// The reader has no descriptor.
    pub fn to_record(&self) -> Result<MediaRecord, MediaError> {
        let reader = self.reader.describe();
        let reader =
            reader.ok_or_else(|| MediaError::NotDescribable { filename: self.filename.clone() })?;
        Ok(MediaRecord {
            id: self.id.clone(),
            kind: self.kind,
            mime_type: self.mime_type.clone(),
            filename: self.filename.clone(),
            source: self.source.clone(),
            trust_tier: self.trust_tier,
            modality_hazard: self.modality_hazard,
            stash: self.stash.clone(),
            reader,
        })
    }
}

/// What is known of it. The reader is not touched.
impl Serialize for Media {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Media", 8)?;
        match &self.id {
            Some(id) => out.serialize_field("id", id)?,
            None => out.skip_field("id")?,
        }
        out.serialize_field("kind", &self.kind)?;
        out.serialize_field("mimeType", &self.mime_type)?;
        out.serialize_field("filename", &self.filename)?;
        match &self.source {
            Some(source) => out.serialize_field("source", source)?,
            None => out.skip_field("source")?,
        }
        out.serialize_field("trustTier", &self.trust_tier)?;
        out.serialize_field("modalityHazard", &self.modality_hazard)?;
        out.serialize_field("stash", &self.stash)?;
        out.end()
    }
}
