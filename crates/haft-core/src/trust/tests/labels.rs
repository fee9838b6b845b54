//! Tiers go down and never up.

use proptest::prelude::{Just, Strategy, prop_oneof, proptest};

use super::super::{EnvelopeModality, ModalityHazard, TrustLabel, TrustTier};
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
    assert_eq!(TrustLabel::join([]), TrustLabel::UNTRUSTED);
}

#[test]
fn trusted_is_the_ceiling_of_a_tools_text() {
    let tool = || Tool::builder("t").description("d").handler(|| "x");
    let plain = tool().build().unwrap();
    let trusted = tool().trusted().build().unwrap();
    assert_eq!(TrustLabel::of_tool_text(&plain), TrustLabel::UNTRUSTED);
    assert!(TrustLabel::of_tool_text(&trusted).is_trusted());
    let quoted = TrustLabel::declared(TrustTier::ThirdPartyPrivate);
    assert_eq!(TrustLabel::of_tool_text(&trusted).floor(quoted), quoted);
}

#[test]
fn labels_are_stored_by_the_words_of_the_tiers() {
    for tier in TIERS {
        let text = serde_json::to_string(&TrustLabel::declared(tier)).unwrap();
        assert_eq!(text, serde_json::to_string(&tier).unwrap());
        assert_eq!(serde_json::from_str::<TrustLabel>(&text).unwrap().tier(), tier);
    }
    for unknown in ["\"\"", "\"trusted\"", "\"First-Party\"", "\"third-party-public\""] {
        assert_eq!(serde_json::from_str::<TrustLabel>(unknown).unwrap(), TrustLabel::UNTRUSTED);
    }
    assert!(serde_json::from_str::<TrustLabel>("1").is_err());
}

#[test]
fn hazards_have_their_words() {
    let word = |hazard: ModalityHazard| EnvelopeModality::from(hazard).as_str();
    assert_eq!(word(ModalityHazard::Inert), "inert");
    assert_eq!(word(ModalityHazard::ExtractableInstructions), "extractable");
    assert_eq!(word(ModalityHazard::OpaquePerceptual), "opaque");
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

fn take(step: &Step, label: TrustLabel) -> TrustLabel {
    match step {
        Step::Floor(tier) => label.floor(TrustLabel::declared(*tier)),
        Step::Summary(others) => {
            TrustLabel::join(others.iter().copied().map(TrustLabel::declared).chain([label]))
        }
        Step::Stored => serde_json::from_str(&serde_json::to_string(&label).unwrap()).unwrap(),
        Step::Derived(of) => {
            let entry = MediaStashEntry::new("text", label.tier());
            let media = medium(*of).with_entry("text:caption", entry);
            let (_, tier) = media.text(Media::TEXT_KEYS).unwrap();
            TrustLabel::declared(tier)
        }
        Step::Media(to) => {
            let entry = MediaStashEntry::new("text", TrustTier::FirstParty);
            let media = medium(label.tier()).with_entry("text:caption", entry);
            let stored = serde_json::to_value(media.to_record().unwrap()).unwrap();
            let record: crate::media::MediaRecord = serde_json::from_value(stored).unwrap();
            let media = record.load(&ReaderResolvers::default()).unwrap().lowered_to(*to);
            let entry = media.entry("text:caption").unwrap().trust_tier();
            assert!(entry <= media.trust_tier());
            TrustLabel::of_media(&media).floor(TrustLabel::declared(entry))
        }
    }
}

proptest! {
    #[test]
    fn nothing_raises_a_tier(
        start in 0_usize..3,
        steps in proptest::collection::vec(step(), 0..12),
    ) {
        let mut label = TrustLabel::declared(TIERS[start]);
        let mut lowest = label.tier();
        for step in &steps {
            label = take(step, label);
            assert!(label.tier() <= lowest, "{step:?} raised {lowest:?}");
            lowest = label.tier();
        }
        assert_eq!(label.is_trusted(), lowest == TrustTier::FirstParty);
    }
}
