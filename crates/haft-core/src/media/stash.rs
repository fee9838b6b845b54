//! What was derived from a media item.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tier::{TrustTier, stored_tier};

/// Something derived from a media item: a transcript, a caption, the output of a classifier.
///
/// It has a tier of its own, because the program that derived it may be less trusted than the media item. In the media
/// item's stash it is never more trusted than the media item.
///
/// ```
/// use haft_core::media::MediaStashEntry;
/// use haft_core::trust::TrustTier;
///
/// let entry = MediaStashEntry::new("a red door", TrustTier::ThirdPartyPublic).derived_from("img-1");
/// assert_eq!(entry.text(), Some("a red door"));
/// assert_eq!(entry.derived_from_media(), Some("img-1"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MediaStashEntry {
    value: Value,
    #[serde(deserialize_with = "stored_tier")]
    trust_tier: TrustTier,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    derived_from_media: Option<String>,
}

impl MediaStashEntry {
    /// An entry of this tier.
    #[must_use]
    pub fn new(value: impl Into<Value>, trust_tier: TrustTier) -> Self {
        Self { value: value.into(), trust_tier, derived_from_media: None }
    }

    /// States from which media item it was derived, if from another one.
    #[must_use]
    pub fn derived_from(mut self, media: impl Into<String>) -> Self {
        self.derived_from_media = Some(media.into());
        self
    }

    /// What was derived.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// What was derived, if it is text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.value.as_str()
    }

    /// How much it is trusted.
    #[must_use]
    pub const fn trust_tier(&self) -> TrustTier {
        self.trust_tier
    }

    /// From which media item it was derived.
    #[must_use]
    pub fn derived_from_media(&self) -> Option<&str> {
        self.derived_from_media.as_deref()
    }

    /// The entry, trusted no more than its media item.
    pub(super) fn floored(mut self, ceiling: TrustTier) -> Self {
        self.trust_tier = self.trust_tier.floor(ceiling);
        self
    }
}
