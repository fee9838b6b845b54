//! The two axes of trust: where content comes from, and what decoding it may bring to light.

use serde::{Deserialize, Serialize};

/// Provenance of a piece of content. The order is the order of trust: content made from several parts has the lowest
/// tier among them.
///
/// ```
/// use haft_core::trust::TrustTier::{FirstParty, ThirdPartyPrivate, ThirdPartyPublic};
/// use haft_core::trust::TrustTier;
///
/// assert_eq!(FirstParty.floor(ThirdPartyPrivate), ThirdPartyPrivate);
/// assert_eq!(TrustTier::join([]), ThirdPartyPublic);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::exhaustive_enums, reason = "the three tiers are part of the contract")]
pub enum TrustTier {
    /// From the open web or anybody else.
    ThirdPartyPublic,
    /// From a third party, but not public: a user's upload, a mailbox, a database.
    ThirdPartyPrivate,
    /// Written by the developer or the operator.
    FirstParty,
}

impl TrustTier {
    /// The less trusted of the two.
    #[must_use]
    pub fn floor(self, other: Self) -> Self {
        self.min(other)
    }

    /// The lowest of these tiers. Nothing vouches for content without sources, so the floor of no tiers is the lowest
    /// tier.
    #[must_use]
    pub fn join(tiers: impl IntoIterator<Item = Self>) -> Self {
        tiers.into_iter().min().unwrap_or(Self::ThirdPartyPublic)
    }
}

/// What perceiving a media item may extract from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::exhaustive_enums, reason = "the three hazards are part of the contract")]
pub enum ModalityHazard {
    /// Nothing that could instruct.
    Inert,
    /// Text that could be read as instructions.
    ExtractableInstructions,
    /// Pixels or sound, which may carry what no text scan sees.
    OpaquePerceptual,
}
