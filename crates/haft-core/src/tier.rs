//! The two axes of trust: where content comes from, and what decoding it may bring to light.

use std::cell::Cell;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};

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

/// Parses a text that a store returned. Only here the records in it have the tiers that the text says.
pub(crate) fn parse_stored<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    let _scope = StoredScope { outer: IS_STORED.replace(true) };
    serde_json::from_str(json)
}

/// Deserializes the tier of a record: the stored one in [`parse_stored`], and the lowest one anywhere else. A program that
/// deserializes a record from untrusted input therefore gets an untrusted record.
pub(crate) fn stored_tier<'de, D>(deserializer: D) -> Result<TrustTier, D::Error>
where
    D: Deserializer<'de>,
{
    let tier = TrustTier::deserialize(deserializer)?;
    Ok(if IS_STORED.get() { tier } else { TrustTier::UNTRUSTED })
}

/// Deserializes a part of a record that is trusted as it is: in [`parse_stored`], and nowhere else.
pub(crate) fn stored_only<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    if !IS_STORED.get() {
        return Err(D::Error::custom("it is read from a store and from nothing else"));
    }
    T::deserialize(deserializer)
}

thread_local! {
    /// Whether this thread parses a text that a store returned.
    static IS_STORED: Cell<bool> = const { Cell::new(false) };
}

/// Restores what held before, also if the parser panics.
struct StoredScope {
    outer: bool,
}

impl Drop for StoredScope {
    fn drop(&mut self) {
        IS_STORED.set(self.outer);
    }
}
