//! Tiers go down and never up.

use proptest::prelude::{Just, Strategy, prop_oneof, proptest};

use super::super::{ModalityHazard, TrustTier};
use crate::media::{Media, MediaFile, MediaKind, MediaStashEntry, ReaderResolvers};
use crate::tool::Tool;

const TIERS: [TrustTier; 3] =
    [TrustTier::ThirdPartyPublic, TrustTier::ThirdPartyPrivate, TrustTier::FirstParty];

#[test]
fn the_floor_is_the_less_trusted() {
    for (n, a) in TIERS.into_iter().enumerate() {
        for (m, b) in TIERS.into_iter().enumerate() {
            assert_eq!(a.floor(b), TIERS[n.min(m)]);
            assert_eq!(TrustTier::join([a, b, a]), a.floor(b));
        }
        assert_eq!(TrustTier::join([a]), a);
    }
    assert_eq!(TrustTier::join([]), TrustTier::ThirdPartyPublic);
    assert_eq!(TrustTier::join([]), TrustTier::UNTRUSTED);
}

#[test]
fn trusted_is_the_ceiling_of_a_tools_text() {
    let tool = || Tool::builder("t").description("d").handler(|| "x");
    let plain = tool().build().unwrap();
    let trusted = tool().trusted().build().unwrap();
    assert_eq!(plain.text_tier(), TrustTier::UNTRUSTED);
    assert!(trusted.text_tier().is_trusted());
    let quoted = TrustTier::ThirdPartyPrivate;
    assert_eq!(trusted.text_tier().floor(quoted), quoted);
}

#[test]
fn tiers_are_stored_by_their_words() {
    for tier in TIERS {
        let text = serde_json::to_string(&tier).unwrap();
        assert_eq!(text, serde_json::to_string(&tier).unwrap());
        assert_eq!(serde_json::from_str::<TrustTier>(&text).unwrap(), tier);
    }
    for unknown in ["\"\"", "\"trusted\"", "\"First-Party\"", "1"] {
        assert!(serde_json::from_str::<TrustTier>(unknown).is_err(), "{unknown}");
    }
}

/// What can happen to a part on its way through a turn.
#[derive(Clone, Debug)]
enum Step {
    /// A query or a quotation: the floor with another label.
    Floor(TrustTier),
    /// A summary of it and of others.
    Summary(Vec<TrustTier>),
    /// A restart.
    Stored,
    /// It becomes the stash entry of a media item, and is read from there.
    Derived(TrustTier),
    /// It becomes a media item with an entry that claims more, and is stored and lowered.
    Media(TrustTier),
}

fn step() -> impl Strategy<Value = Step> {
    let tier = || proptest::sample::select(TIERS.to_vec());
    prop_oneof![
        tier().prop_map(Step::Floor),
        proptest::collection::vec(tier(), 0..4).prop_map(Step::Summary),
        Just(Step::Stored),
        tier().prop_map(Step::Derived),
        tier().prop_map(Step::Media),
    ]
}

fn medium(tier: TrustTier) -> Media {
    let file = MediaFile::new("f", "a/b", &b"x"[..]);
    Media::new(MediaKind::Image, tier, ModalityHazard::Inert, file).unwrap()
}

fn take(step: &Step, label: TrustTier) -> TrustTier {
    match step {
        Step::Floor(tier) => label.floor(*tier),
        Step::Summary(others) => TrustTier::join(others.iter().copied().chain([label])),
        Step::Stored => serde_json::from_str(&serde_json::to_string(&label).unwrap()).unwrap(),
        Step::Derived(of) => {
            let entry = MediaStashEntry::new("text", label);
            let media = medium(*of).with_entry("text:caption", entry);
            let (_, tier) = media.text(Media::TEXT_KEYS).unwrap();
            tier
        }
        Step::Media(to) => {
            let entry = MediaStashEntry::new("text", TrustTier::FirstParty);
            let media = medium(label).with_entry("text:caption", entry);
            let mut media = Media::from_json(&serde_json::to_string(&media).unwrap()).unwrap();
            media.open(&ReaderResolvers::default()).unwrap();
            let media = media.lowered_to(*to);
            let entry = media.entry("text:caption").unwrap().trust_tier();
            assert!(entry <= media.trust_tier());
            media.trust_tier().floor(entry)
        }
    }
}

proptest! {
    #[test]
    fn nothing_raises_a_tier(
        start in 0_usize..3,
        steps in proptest::collection::vec(step(), 0..12),
    ) {
        let mut label = TIERS[start];
        let mut lowest = label;
        for step in &steps {
            label = take(step, label);
            assert!(label <= lowest, "{step:?} raised {lowest:?}");
            lowest = label;
        }
        assert_eq!(label.is_trusted(), lowest == TrustTier::FirstParty);
    }
}
