//! What a record has to be.

use std::slice::from_ref;

use serde_json::{Value, json};

use super::{AT, Held};
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::clock::Timestamp;
use crate::error::{Coded as _, InvalidName};
use crate::id::TurnId;
use crate::media::{Media, MediaFile, MediaKind};
use crate::record::RecordFault as F;
use crate::record::{
    Identifier, Identity, InvalidRecord, Memory, Message, MessageRole, Record as _, RecordName,
    Retrievable, RetrievableContent, Text, Thought,
};
use crate::tokens::Estimators;
use crate::tool::context::Instruction;
use crate::trust::TrustTier;

const INVALID_NAME: InvalidName = InvalidName {
    what: "the id of a record",
    why: "has to be 1 to 256 characters without control characters",
};

const ID_EMPTY: F = F::Name { field: "id", why: INVALID_NAME };

#[track_caller]
fn refused<T: std::fmt::Debug>(made: Result<T, InvalidRecord>, code: &str, faults: &[F]) {
    let error = made.unwrap_err();
    assert_eq!(error.faults, faults);
    assert_eq!(error.code(), code);
}

#[test]
fn names() {
    let check = |text: &str, expected: Result<(), InvalidName>| {
        assert_eq!(
            text.parse::<RecordName>().map(|name| assert_eq!(name.as_str(), text)),
            expected
        );
        let json = serde_json::to_string(text).unwrap();
        assert_eq!(serde_json::from_str::<RecordName>(&json).is_ok(), expected.is_ok(), "{text}");
    };
    check("a", Ok(()));
    check("any text, whatever: 日本語 / ..", Ok(()));
    check(&"é".repeat(256), Ok(()));
    check("", Err(INVALID_NAME));
    check(&"é".repeat(257), Err(INVALID_NAME));
    check("a\nb", Err(INVALID_NAME));
    check("\u{7f}", Err(INVALID_NAME));
}

/// A turn whose messages cannot be named would fail after its first calls.
#[test]
fn records_of_the_turn_with_the_longest_id_can_be_named() {
    let turn: TurnId = "é".repeat(200).parse().unwrap();
    for name in ["message", "thought"] {
        let name = format!("{turn}/{}/{name}-{}", u32::MAX, u64::MAX);
        assert_eq!(name.parse::<RecordName>().map(|it| it.to_string()), Ok(name));
    }
}

#[test]
fn identities() {
    let ada = Identity::new(17, "Ada").unwrap();
    assert_eq!((ada.identifier(), ada.representation()), (&Identifier::Number(17), "Ada"));
    let named = Identity::named("Ada").unwrap();
    assert_eq!(named, Identity::new("Ada", "Ada").unwrap());
    assert_eq!(named.identifier().to_string(), "Ada");
    let code = "E_INVALID_INITIAL_IDENTITY_VALUE";
    let (no_id, no_name) = (F::Empty { field: "identifier" }, F::Empty { field: "representation" });
    refused(Identity::new("", ""), code, &[no_id, no_name.clone()]);
    refused(Identity::new(0, ""), code, &[no_name]);
    let forged = r#"{"identifier":"","representation":"x"}"#;
    assert!(serde_json::from_str::<Identity>(forged).is_err());
    assert!(
        serde_json::from_str::<Identity>(r#"{"identifier":1.5,"representation":"x"}"#).is_err()
    );
}

fn image(name: &str) -> Media {
    Media::user_attachment(MediaKind::Image, MediaFile::new(name, "image/png", "x"))
}

#[test]
fn a_message_says_something() {
    let code = "E_INVALID_INITIAL_MESSAGE_VALUE";
    let builder = || Message::new("m", MessageRole::User, AT);
    refused(builder().checked(), code, &[F::NothingSaid]);
    refused(builder().with_attachments([]).checked(), code, &[F::NothingSaid]);
    refused(builder().with_content("").checked(), code, &[F::Empty { field: "content" }]);
    // Also beside an attachment.
    let silent = builder().with_content("").with_attachment(image("a"));
    refused(silent.checked(), code, &[F::Empty { field: "content" }]);
    let bad = image("").check().unwrap_err();
    let bad = F::Media { field: "attachments", index: 1, why: bad };
    let all = Message::new("", MessageRole::User, AT).with_content("");
    let all = all.with_attachment(image("a")).with_attachment(image(""));
    refused(all.checked(), code, &[ID_EMPTY, F::Empty { field: "content" }, bad]);

    assert_eq!(
        builder().with_content("x").with_attachments([]).checked().unwrap().attachments(),
        []
    );
    let only = builder().with_attachment(image("a")).checked().unwrap();
    let named = image("a").with_id(crate::media::MediaId::of_message(only.id().as_str(), 0));
    assert_eq!((only.content(), only.attachments()), (None, &[named][..]));
}

#[test]
fn the_refusal_says_everything() {
    let error = Memory::new("", "", AT).with_confidence(2.0).checked().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the memory was refused: `id` has to be 1 to 256 characters without control characters; \
         `content` is empty; `confidence` is 2, and has to be from 0 to 1; `importance` is missing"
    );
}

#[test]
fn the_author_follows_from_the_role() {
    for (role, word) in [(MessageRole::User, "user"), (MessageRole::Assistant, "assistant")] {
        let message = Message::new("m", role, AT).with_content("x").checked().unwrap();
        assert_eq!(message.identity(), &Identity::named(word).unwrap());
        assert_eq!(role.as_str(), word);
    }
    let thought = Thought::new("t", "x", AT).checked().unwrap();
    assert_eq!(thought.identity(), &Identity::named("assistant").unwrap());
}

#[test]
fn scores_are_from_zero_to_one() {
    let bad = [-0.1, 1.000_000_1, f64::INFINITY, f64::NEG_INFINITY, -f64::MIN_POSITIVE];
    let good = [0.0, 0.5, 1.0];
    let at = |c, i| Memory::new("m", "x", AT).with_confidence(c).with_importance(i).checked();
    let scored = |s| Retrievable::new("r", "x", TrustTier::FirstParty, AT).with_score(s).checked();
    for found in bad {
        let fault = |field| F::OutOfRange { field, found };
        let faults = [fault("confidence"), fault("importance")];
        refused(at(found, found), "E_INVALID_INITIAL_MEMORY_VALUE", &faults);
        refused(at(0.5, found), "E_INVALID_INITIAL_MEMORY_VALUE", &[fault("importance")]);
        refused(scored(found), "E_INVALID_INITIAL_RETRIEVABLE_VALUE", &[fault("score")]);
    }
    assert!(at(f64::NAN, 1.0).is_err() && scored(f64::NAN).is_err());
    for score in good {
        let memory = at(score, score).unwrap();
        assert_eq!((memory.confidence(), memory.importance()), (score, score));
        assert_eq!(scored(score).unwrap().score(), Some(score));
    }
}

#[test]
fn a_memory_is_untrusted_unless_somebody_vouches() {
    let builder = || Memory::new("m", "x", AT).with_confidence(1.0).with_importance(1.0);
    assert_eq!(builder().checked().unwrap().trust(), TrustTier::UNTRUSTED);
    let ours = TrustTier::FirstParty;
    assert_eq!(Memory::of_tier(ours, "m", "x", AT).trust(), ours);
    let faults = [F::Empty { field: "source" }];
    refused(builder().with_source("").checked(), "E_INVALID_INITIAL_MEMORY_VALUE", &faults);
}

/// Content, payload and tag of a thought, and what is wrong with them.
#[track_caller]
fn thought(content: Option<&str>, payload: Option<Value>, tag: Option<&str>, faults: &[F]) {
    let mut builder = Thought::new("t", content.unwrap_or_default(), AT);
    if let Some(payload) = payload.clone() {
        builder = builder.with_payload(payload);
    }
    if let Some(tag) = tag {
        builder = builder.with_replay_compatibility(tag);
    }
    if !faults.is_empty() {
        return refused(builder.checked(), "E_INVALID_INITIAL_THOUGHT_VALUE", faults);
    }
    let thought = builder.checked().unwrap();
    assert_eq!(thought.content().as_str(), content.unwrap_or_default());
    assert_eq!(thought.payload(), payload.filter(|it| !it.is_null()).as_ref());
    assert_eq!(thought.replay_compatibility(), tag);
}

#[test]
fn a_payload_and_its_tag() {
    let empty = F::Empty { field: "content" };
    let no_tag = F::Empty { field: "replayCompatibility" };
    let payload = || Some(json!({ "signature": "s" }));
    thought(Some("x"), None, None, &[]);
    thought(None, None, None, from_ref(&empty));
    thought(Some(""), None, None, from_ref(&empty));
    // Null is no payload.
    thought(None, Some(Value::Null), Some("v"), from_ref(&empty));
    thought(Some("x"), Some(Value::Null), None, &[]);
    // A payload makes up for text, and needs a tag.
    thought(None, payload(), Some("v"), &[]);
    thought(Some(""), payload(), Some("v"), &[]);
    thought(Some("x"), payload(), Some("v"), &[]);
    thought(None, payload(), None, &[F::Unpaired]);
    thought(Some("x"), Some(json!(false)), None, &[F::Unpaired]);
    thought(None, payload(), Some(""), from_ref(&no_tag));
    // A tag can stand alone, beside text.
    thought(Some("x"), None, Some("v"), &[]);
    thought(None, None, Some("v"), from_ref(&empty));
    thought(None, None, Some(""), &[no_tag, empty]);
    let deep = |levels| (0..levels).fold(Value::Null, |inner, _| json!({ "a": inner }));
    thought(None, Some(deep(100)), Some("v"), &[]);
    thought(None, Some(deep(101)), Some("v"), &[F::TooDeep { field: "payload" }]);
}

#[test]
fn who_can_have_a_thought_back() {
    let check = |tag: Option<&str>, understood: &[&str], expected| {
        let thought = Thought::new("t", "x", AT);
        let thought = match tag {
            Some(tag) => thought.with_replay_compatibility(tag),
            None => thought,
        };
        assert_eq!(thought.checked().unwrap().replays_with(understood), expected, "{tag:?}");
    };
    check(None, &[], true);
    check(Some("plain-text"), &[], true);
    check(Some("vendor/1"), &["vendor/1"], true);
    check(Some("vendor/1"), &["vendor/2", "plain-text"], false);
    check(Some("vendor/1"), &[], false);
}

#[test]
fn a_retrieved_record_has_content() {
    let code = "E_INVALID_INITIAL_RETRIEVABLE_VALUE";
    let tier = TrustTier::FirstParty;
    let all = Retrievable::new("", "", tier, AT).with_source("").with_kind("").with_score(-1.0);
    let empty = |field| F::Empty { field };
    let score = F::OutOfRange { field: "score", found: -1.0 };
    let faults = [ID_EMPTY, empty("content"), empty("source"), empty("kind"), score];
    refused(all.checked(), code, &faults);
}

fn artifact(tier: TrustTier) -> SpooledArtifact {
    SpooledArtifact::new(ArtifactKind::TEXT, Held::reader("one"), tier)
}

#[test]
fn what_goes_to_a_spool() {
    let tier = TrustTier::ThirdPartyPrivate;
    let check = |record: Retrievable, expected: Option<&str>| {
        assert_eq!(record.to_spool(), expected);
        assert_eq!(record.inline(), expected.is_none() && record.artifact_kind().is_none());
    };
    let text = || Retrievable::new("r", "text", tier, AT);
    check(text().checked().unwrap(), Some("text"));
    check(text().shown_inline().checked().unwrap(), None);
    check(text().shown_inline().shown_as_handle().checked().unwrap(), Some("text"));
    let stored = text().with_artifact_kind(ArtifactKind::JSON).checked().unwrap();
    check(stored.spooled(Held::reader("one")), None);

    let spooled = stored.spooled(Held::reader("one"));
    let expected =
        SpooledArtifact::new(ArtifactKind::JSON, Held::reader("one"), stored.trust_tier());
    assert_eq!(spooled.content(), &RetrievableContent::Artifact(expected));
    assert_eq!(spooled.trust_tier(), tier);
    let plain = text().checked().unwrap().spooled(Held::reader("two"));
    let RetrievableContent::Artifact(plain) = plain.content() else { panic!("an artifact") };
    assert_eq!(plain.kind(), &ArtifactKind::TEXT);
}

#[test]
fn an_artifact_never_gains_trust_by_being_retrieved() {
    use TrustTier::{FirstParty, ThirdPartyPrivate, ThirdPartyPublic};
    for (declared, of_artifact, expected) in [
        (FirstParty, FirstParty, FirstParty),
        (FirstParty, ThirdPartyPublic, ThirdPartyPublic),
        (ThirdPartyPrivate, FirstParty, ThirdPartyPrivate),
        (ThirdPartyPublic, ThirdPartyPrivate, ThirdPartyPublic),
    ] {
        let record = Retrievable::new("r", artifact(of_artifact), declared, AT);
        let record = record.checked().unwrap();
        assert_eq!(record.trust_tier(), expected);
        assert_eq!(record.content(), &RetrievableContent::Artifact(artifact(expected)));
    }
}

#[test]
fn an_instruction_has_an_id_and_a_text() {
    let code = "E_INVALID_TURN_CONTEXT";
    refused(Instruction::from_developer("", ""), code, &[ID_EMPTY, F::Empty { field: "text" }]);
    let fixed = Instruction::from_developer("i", "text").unwrap();
    assert_eq!(fixed, fixed.clone());
    assert_ne!(fixed, Instruction::from_developer("i", "other").unwrap());
    assert_ne!(fixed, Instruction::from_developer("j", "text").unwrap());
}

#[test]
fn a_revision_keeps_what_is_not_said_and_never_gains_trust() {
    let later = Timestamp::MAX;
    let message = Message::user_at("m", "one", AT).unwrap();
    let revised = message.revised(later).with_content("two");
    assert_eq!((revised.id(), revised.created_at()), (message.id(), AT));
    assert_eq!((revised.updated_at(), revised.identity()), (later, message.identity()));
    assert_eq!(revised.content().map(Text::as_str), Some("two"));
    assert_eq!(message.revised(AT), message);

    let ours = TrustTier::FirstParty;
    let private = TrustTier::ThirdPartyPrivate;
    let memory = Memory::of_tier(private, "m", "x", AT).with_confidence(0.1).with_importance(0.2);
    let memory = memory.with_source("chat").checked().unwrap();
    assert_eq!(memory.revised(AT), memory);
    assert_eq!(memory.revised(later).lowered_to(ours).trust(), private);
    let lowered = memory.revised(later).lowered_to(TrustTier::UNTRUSTED);
    assert_eq!(lowered.trust(), TrustTier::UNTRUSTED);

    let thought = Thought::of_tier(private, "t", "", AT)
        .with_payload(json!(1))
        .with_replay_compatibility("v");
    let thought = thought.checked().unwrap();
    assert_eq!(thought.revised(AT), thought);
    assert_eq!(thought.revised(later).lowered_to(ours).trust(), private);

    let record = Retrievable::new("r", "x", TrustTier::ThirdPartyPrivate, AT);
    let record = record.shown_inline().with_score(0.5).checked().unwrap();
    assert_eq!(record.revised(AT), record);
    let raised = record.revised(later).with_content(artifact(TrustTier::FirstParty));
    let raised = raised.lowered_to(TrustTier::FirstParty);
    assert_eq!(raised.trust_tier(), TrustTier::ThirdPartyPrivate);
}

#[test]
fn text_is_counted_once() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let asked = Arc::new(AtomicUsize::new(0));
    let mut estimators = Estimators::default();
    let counter = Arc::clone(&asked);
    let count = move |text: &str| {
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(crate::tokens::TokenCount::exact(text.len() as u64))
    };
    estimators.register("bytes", count).unwrap();
    let message = Message::user_at("m", "hello", AT).unwrap();
    for _ in 0..3 {
        let tokens = message.content().unwrap().count(&estimators, "bytes").unwrap().tokens;
        assert_eq!(tokens, 5);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}
