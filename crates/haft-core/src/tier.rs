//! The two axes of trust: where content comes from, and what decoding it may bring to light.

use serde::{Deserialize, Serialize};

/// Provenance of a piece of content. The order is the order of trust: content made from several parts has the lowest
/// tier among them.
///
/// A record gets its tier once, where the provenance of its content is known, and keeps it in a private field. From then on
/// [`floor`](Self::floor) and [`join`](Self::join) are the only operations on it, and they never raise it.
///
/// ```
/// use haft_core::trust::TrustTier::{FirstParty, ThirdPartyPrivate, ThirdPartyPublic};
/// use haft_core::trust::TrustTier;
///
/// assert_eq!(FirstParty.floor(ThirdPartyPrivate), ThirdPartyPrivate);
/// assert_eq!(TrustTier::join([]), TrustTier::UNTRUSTED);
/// assert!(!TrustTier::join([FirstParty, ThirdPartyPublic]).is_trusted());
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
    /// The tier of content without known provenance: text of a tool that is not trusted, error text (it may quote
    /// anything) and handles. It is the lowest tier and not the middle one, because an unknown origin must not outrank
    /// a known one.
    pub const UNTRUSTED: Self = Self::ThirdPartyPublic;

    /// The less trusted of the two.
    #[must_use]
    pub fn floor(self, other: Self) -> Self {
        self.min(other)
    }

    /// The lowest of these tiers. Nothing vouches for content without sources, so the floor of no tiers is the lowest
    /// tier.
    #[must_use]
    pub fn join(tiers: impl IntoIterator<Item = Self>) -> Self {
        tiers.into_iter().min().unwrap_or(Self::UNTRUSTED)
    }

    /// Whether content of this tier is shown in a trusted envelope.
    #[must_use]
    pub const fn is_trusted(self) -> bool {
        matches!(self, Self::FirstParty)
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
