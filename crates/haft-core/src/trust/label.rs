//! The label of a part: fixed when the part is produced, never raised.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use super::{ModalityHazard, TrustTier};
use crate::media::Media;

/// The trust of one model-visible part.
///
/// It is made once, where the provenance of the content is known, and travels with the content. From then on it can
/// only be lowered, by [`TrustLabel::floor`] and [`TrustLabel::join`].
///
/// ```
/// use haft_core::trust::{TrustLabel, TrustTier};
///
/// let ours = TrustLabel::declared(TrustTier::FirstParty);
/// let page = TrustLabel::declared(TrustTier::ThirdPartyPublic);
/// assert_eq!(page.floor(ours), page);
/// assert!(!TrustLabel::join([ours, page]).is_trusted());
/// ```
///
/// No function raises it:
///
/// ```compile_fail,E0423
/// use haft_core::trust::{TrustLabel, TrustTier};
/// let raised = TrustLabel(TrustTier::FirstParty);
/// ```
///
/// ```compile_fail,E0616
/// use haft_core::trust::{TrustLabel, TrustTier};
/// let mut label = TrustLabel::UNTRUSTED;
/// label.0 = TrustTier::FirstParty;
/// ```
///
/// Its stored form is the name of its tier. An unknown name is read as the lowest tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TrustLabel(TrustTier);

impl TrustLabel {
    /// The label of content without known provenance: text of a tool that is not trusted, error text (it may
    /// quote anything) and handles. It is the least trusted tier and not the middle one, because an
    /// unknown origin must not outrank a known one.
    pub const UNTRUSTED: Self = Self(TrustTier::ThirdPartyPublic);

    /// The label of a media item. The tool that returned it has no say in it.
    #[must_use]
    pub fn of_media(media: &Media) -> Self {
        Self(media.trust_tier())
    }

    /// The label of content whose provenance its record declares, such as a retrieved text.
    #[must_use]
    pub const fn declared(tier: TrustTier) -> Self {
        Self(tier)
    }

    /// The less trusted of the two.
    #[must_use]
    pub fn floor(self, other: Self) -> Self {
        Self(self.0.floor(other.0))
    }

    /// The label of content made from several sources: the result of a query, a summary, a call with references among
    /// its arguments. Without any source it is [`TrustLabel::UNTRUSTED`].
    ///
    /// ```
    /// use haft_core::trust::{TrustLabel, TrustTier};
    ///
    /// let own = TrustLabel::declared(TrustTier::FirstParty);
    /// assert!(TrustLabel::join([own, own]).is_trusted());
    /// assert!(!TrustLabel::join([own, TrustLabel::UNTRUSTED]).is_trusted());
    /// ```
    #[must_use]
    pub fn join(sources: impl IntoIterator<Item = Self>) -> Self {
        Self(TrustTier::join(sources.into_iter().map(Self::tier)))
    }

    /// The tier.
    #[must_use]
    pub const fn tier(self) -> TrustTier {
        self.0
    }

    /// Whether the part is shown in a trusted envelope.
    #[must_use]
    pub const fn is_trusted(self) -> bool {
        matches!(self.0, TrustTier::FirstParty)
    }
}

impl Serialize for TrustLabel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TrustLabel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Word;
        impl Visitor<'_> for Word {
            type Value = TrustLabel;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a trust tier")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<TrustLabel, E> {
                Ok(match word {
                    "first-party" => TrustLabel(TrustTier::FirstParty),
                    "third-party-private" => TrustLabel(TrustTier::ThirdPartyPrivate),
                    _ => TrustLabel::UNTRUSTED,
                })
            }
        }
        deserializer.deserialize_str(Word)
    }
}

/// What a hazard is called in the attribute `modality` of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "one word per hazard, and the hazards are a contract")]
pub enum EnvelopeModality {
    /// Nothing that could instruct.
    Inert,
    /// Text was or can be extracted.
    Extractable,
    /// The model sees or hears it and does not read it.
    Opaque,
}

impl EnvelopeModality {
    /// The value of the attribute.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inert => "inert",
            Self::Extractable => "extractable",
            Self::Opaque => "opaque",
        }
    }
}

impl From<ModalityHazard> for EnvelopeModality {
    fn from(hazard: ModalityHazard) -> Self {
        match hazard {
            ModalityHazard::Inert => Self::Inert,
            ModalityHazard::ExtractableInstructions => Self::Extractable,
            ModalityHazard::OpaquePerceptual => Self::Opaque,
        }
    }
}
