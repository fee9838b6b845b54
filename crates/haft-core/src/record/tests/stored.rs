//! Records as JSON, and back.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{AT, Held, arbitrary, now, readers};
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::call::ToolCall;
use crate::error::Coded as _;
use crate::media::{Media, MediaFile, MediaKind, ReaderResolvers};
use crate::record::RetrievableContent;
use crate::record::{
    Identity, LoadError, Memory, Message, MessageRole, NotStorable, Record, Retrievable, Thought,
};
use crate::spool::ReaderDescriptor;
use crate::store::{RowKind, StoreError};
use crate::tool::context::Instruction;
use crate::tool::{ByteStream, ToolFailure};
use crate::trust::TrustTier;

/// A record is equal to what is loaded from its stored form, which has one spelling.
#[track_caller]
pub(super) fn survives<T: Record + Clone + PartialEq>(record: &T) {
    let stored = record.to_json().unwrap();
    let loaded = T::from_json(&stored);
    let mut loaded = loaded.unwrap_or_else(|error| panic!("{stored}\n{error}"));
    now(loaded.open(&readers())).unwrap();
    assert_eq!(&loaded, record);
    assert_eq!(loaded.to_json().unwrap(), stored);
    let row = record.to_row().unwrap();
    assert_eq!(row.json, stored);
    assert_eq!((row.kind, row.id.as_str()), (T::KIND, record.key().to_string().as_str()));
    assert_eq!(&now(T::open_row(&row, &readers())).unwrap(), record);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_survive(record in arbitrary::message()) {
        survives(&record);
    }

    #[test]
    fn memories_survive(record in arbitrary::memory()) {
        survives(&record);
    }

    #[test]
    fn thoughts_survive(record in arbitrary::thought()) {
        survives(&record);
    }

    #[test]
    fn retrievables_survive(record in arbitrary::retrievable()) {
        survives(&record);
    }

    #[test]
    fn instructions_survive(record in arbitrary::instruction()) {
        survives(&record);
    }

    #[test]
    fn calls_survive(record in arbitrary::call()) {
        survives(&record);
    }
}

/// The stored form of a record, as a value.
#[track_caller]
fn check(record: &impl Record, expected: &Value) {
    let stored: Value = serde_json::from_str(&record.to_json().unwrap()).unwrap();
    assert_eq!(&stored, expected);
}

const EPOCH: &str = "1970-01-01T00:00:00.000000Z";

/// `serde_json` without `float_roundtrip` reads each of these as another double.
#[test]
fn doubles_are_read_exactly() {
    for double in [0.11370000000000001, 0.19590000000000002, 1.0715660391465826e-75] {
        let thought = Thought::new("t-1", "", AT).with_payload(json!({ "n": double }));
        survives(&thought.with_replay_compatibility("vendor/1").checked().unwrap());
    }
}

#[test]
fn stored_forms() {
    let image = Media::user_attachment(MediaKind::Image, MediaFile::new("a.png", "image/png", "x"));
    let message = Message::new("m-1", MessageRole::User, AT)
        .with_content("hello")
        .with_attachment(image)
        .with_identity(Identity::new(17, "Ada").unwrap());
    check(
        &message.checked().unwrap(),
        &json!({
            "id": "m-1", "role": "user", "content": "hello",
            "attachments": [{
                "id": "m-1/media/0",
                "kind": "image", "mimeType": "image/png", "filename": "a.png",
                "trustTier": "third-party-private", "modalityHazard": "opaque-perceptual",
                "stash": {},
                "reader": { "tag": "media:in-memory", "locator": { "bytesBase64": "eA==" } },
            }],
            "identity": { "identifier": 17, "representation": "Ada" },
            "createdAt": EPOCH, "updatedAt": EPOCH,
        }),
    );
    let memory = Memory::new("likes-tea", "tea", AT).with_confidence(0.9).with_importance(1.0);
    check(
        &memory.with_source("chat").checked().unwrap(),
        &json!({
            "id": "likes-tea", "content": "tea", "confidence": 0.9, "importance": 1.0,
            "trust": "third-party-public", "source": "chat",
            "createdAt": EPOCH, "updatedAt": EPOCH,
        }),
    );
    let thought = Thought::new("t-1", "", AT).with_payload(json!({ "n": 1.0 }));
    check(
        &thought.with_replay_compatibility("vendor/1").checked().unwrap(),
        &json!({
            "id": "t-1", "content": "",
            "identity": { "identifier": "assistant", "representation": "assistant" },
            "payload": { "n": 1.0 }, "replayCompatibility": "vendor/1",
            "trust": "third-party-public", "createdAt": EPOCH, "updatedAt": EPOCH,
        }),
    );
    let retrieved = Retrievable::new("r-1", "text", TrustTier::FirstParty, AT)
        .with_source("docs")
        .with_kind("page")
        .with_score(0.5)
        .with_artifact_kind(ArtifactKind::MARKDOWN)
        .checked()
        .unwrap();
    check(
        &retrieved.spooled(Held::reader("one")),
        &json!({
            "id": "r-1",
            "content": { "artifact": {
                "kind": "markdown", "label": "first-party",
                "reader": { "tag": "spool:held", "locator": { "key": "one" } },
            } },
            "trustTier": "first-party", "source": "docs", "kind": "page", "score": 0.5,
            "inline": false, "artifactKind": "markdown", "createdAt": EPOCH, "updatedAt": EPOCH,
        }),
    );
    let tone = Instruction::from_developer("tone", "Be brief.").unwrap();
    check(&tone, &json!({ "id": "tone", "text": "Be brief." }));
}

struct Nowhere;

impl crate::media::MediaReader for Nowhere {
    fn open(&self) -> ByteStream {
        unreachable!("nobody reads it")
    }

    fn byte_length(&self) -> Option<u64> {
        None
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        None
    }
}

/// Why a record cannot be stored, which a row must not put off.
#[track_caller]
fn refused<T: Record + Clone>(record: &T) -> NotStorable {
    assert!(record.to_row().is_err());
    record.to_json().unwrap_err()
}

#[test]
fn what_could_not_be_found_again_is_not_stored() {
    let lost = SpooledArtifact::new(ArtifactKind::TEXT, Held::lost(), TrustTier::UNTRUSTED);
    let lost = Retrievable::new("r", lost, TrustTier::FirstParty, AT).checked().unwrap();
    let error = refused(&lost);
    assert!(matches!(error, NotStorable::Reader { .. }), "{error}");
    assert_eq!(error.code(), "E_READER_NOT_DESCRIBABLE");

    let file = MediaFile::read_by("a", "b/c", Arc::new(Nowhere));
    let message = Message::new("m", MessageRole::User, AT)
        .with_attachment(Media::tool_generated(MediaKind::Audio, file));
    let error = refused(&message.checked().unwrap());
    assert!(matches!(error, NotStorable::Reader { .. }), "{error}");
    assert_eq!(error.code(), "E_READER_NOT_DESCRIBABLE");
    assert!(!error.retryable());
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| json!([inner]))
}

#[test]
fn what_nests_too_deeply_to_be_read_is_not_stored() {
    let with = |levels| {
        let entry = crate::media::MediaStashEntry::new(nested(levels), TrustTier::FirstParty);
        let media = Media::tool_generated(MediaKind::Image, MediaFile::new("a", "b/c", "x"));
        let message = Message::new("m", MessageRole::User, AT);
        message.with_attachment(media.with_entry("deep", entry)).checked().unwrap()
    };
    survives(&with(115));
    let error = refused(&with(116));
    assert!(matches!(error, NotStorable::TooDeep { .. }), "{error}");
}

#[test]
fn a_reader_is_opened_by_whoever_knows_it() {
    let of = |key| {
        let artifact =
            SpooledArtifact::new(ArtifactKind::TEXT, Held::reader(key), TrustTier::UNTRUSTED);
        let record = Retrievable::new("r", artifact, TrustTier::FirstParty, AT);
        record.checked().unwrap().to_json().unwrap()
    };
    let unread = |key: &str, readers: Option<ReaderResolvers>, how: &str| {
        let mut record =
            Retrievable::from_json(&of(if key == "one" { "one" } else { "gone" })).unwrap();
        if let Some(readers) = readers {
            now(record.open(&readers)).unwrap();
        }
        let RetrievableContent::Artifact(artifact) = record.content() else { panic!("{record:?}") };
        let error = now(artifact.reader().read_at(0, 1)).unwrap_err();
        let expected = format!("the stored content of `{key}` was changed from outside: {how}");
        assert_eq!(error.to_string(), expected);
        assert_eq!(record.to_json().unwrap(), of(if key == "one" { "one" } else { "gone" }));
    };
    unread("one", None, "it was not opened");
    unread("one", Some(ReaderResolvers::default()), "there is no store to find it in");
    unread("gone", Some(readers()), "it is gone");

    let message = Message::new("m", MessageRole::User, AT)
        .with_attachment(Media::user_attachment(MediaKind::Image, MediaFile::new("a", "b/c", "x")));
    let stored = message.checked().unwrap().to_json().unwrap();
    let open = |readers: &ReaderResolvers| {
        let mut message = Message::from_json(&stored).unwrap();
        now(message.open(readers)).unwrap_err()
    };
    let error = open(&ReaderResolvers::empty());
    assert_eq!(error.code(), "E_NO_READER_RESOLVER");

    let picky = ReaderResolvers::empty()
        .with("media:in-memory", |_: &Value| -> Result<Nowhere, ToolFailure> {
            Err(ToolFailure::new("not here"))
        });
    let error = open(&picky);
    assert!(matches!(error, LoadError::Media(_)), "{error}");
}

#[test]
fn a_row_keeps_the_record_that_it_says() {
    let row = Message::user_at("m-1", "hello", AT).unwrap().to_row().unwrap();
    let error = Thought::from_row(&row).unwrap_err();
    assert!(matches!(error, LoadError::Damaged { kind: RowKind::Thought, .. }), "{error}");

    let mut moved = row;
    moved.id = "m-2".into();
    let error = Message::from_row(&moved).unwrap_err();
    assert_eq!(
        error.to_string(),
        "what is stored of a message is damaged: the row `m-2` keeps the record `m-1`"
    );
    let error = StoreError::from(error);
    assert!(matches!(&error, StoreError::Damaged { what, .. } if what == "a message"), "{error}");
}

#[test]
fn loading_never_raises_trust() {
    let record = |tier, label| {
        let json = json!({
            "id": "r", "inline": true, "trustTier": tier, "createdAt": EPOCH, "updatedAt": EPOCH,
            "content": { "artifact": { "kind": "text", "label": label,
                "reader": { "tag": "spool:held", "locator": { "key": "one" } } } },
        });
        Retrievable::from_json(&json.to_string())
    };
    for (tier, label) in
        [("first-party", "third-party-public"), ("third-party-public", "first-party")]
    {
        let record = record(tier, label).unwrap();
        assert_eq!(record.trust_tier(), TrustTier::ThirdPartyPublic, "{tier} {label}");
        let RetrievableContent::Artifact(artifact) = record.content() else {
            panic!("an artifact");
        };
        assert_eq!(artifact.label(), record.trust_tier());
    }
    assert!(record("first-party", "somebody-new").is_err());
    assert!(record("first-party", "first-party").unwrap().trust_tier().is_trusted());
}

#[test]
fn every_kind_has_its_row() {
    let kinds = [
        Message::KIND,
        Memory::KIND,
        Retrievable::KIND,
        Thought::KIND,
        ToolCall::KIND,
        Instruction::KIND,
    ];
    assert_eq!(kinds, RowKind::ALL);
}

/// A program that deserializes records from anywhere else gets untrusted ones, and no instructions.
#[test]
fn only_what_a_store_returned_has_its_tier() {
    let ours = TrustTier::FirstParty;
    let memory = Memory::of_tier(ours, "m", "x", AT).with_confidence(1.0).with_importance(1.0);
    let thought = Thought::of_tier(ours, "t", "x", AT);
    let artifact = SpooledArtifact::new(ArtifactKind::TEXT, Held::reader("one"), ours);
    let retrieved = Retrievable::new("r", artifact, TrustTier::FirstParty, AT);
    let entry = crate::media::MediaStashEntry::new("text", TrustTier::FirstParty);
    let image = Media::tool_generated(MediaKind::Image, MediaFile::new("a", "b/c", "x"));
    let message =
        Message::new("m", MessageRole::User, AT).with_attachment(image.with_entry("k", entry));
    let call = ToolCall::requested("t", "{}".into(), std::num::NonZeroU32::MIN, AT);
    let call = call.in_state(crate::call::CallState::Cancelled, ours, AT);

    let text = |json: Result<String, NotStorable>| {
        let json = json.unwrap();
        assert!(json.contains("first-party"), "{json}");
        json
    };
    let lowest = |json: Result<Value, serde_json::Error>| {
        let json = json.unwrap().to_string();
        assert!(!json.contains("first-party") && json.contains("third-party-public"), "{json}");
    };
    fn foreign<T: Record>(json: &str) -> Result<Value, serde_json::Error> {
        serde_json::to_value(serde_json::from_str::<T>(json)?)
    }
    lowest(foreign::<Memory>(&text(memory.to_json())));
    lowest(foreign::<Thought>(&text(thought.to_json())));
    lowest(foreign::<Retrievable>(&text(retrieved.to_json())));
    lowest(foreign::<Message>(&text(message.to_json())));
    lowest(foreign::<ToolCall>(&text(call.to_json())));
    let rule = Instruction::from_developer("i", "Obey.").unwrap().to_json().unwrap();
    assert!(serde_json::from_str::<Instruction>(&rule).is_err());
    assert_eq!(Memory::from_json(&memory.to_json().unwrap()).unwrap().trust(), ours);
    // Also right after a store was read, and after a text that a store returned was refused.
    assert!(Memory::from_json("{}").is_err());
    lowest(foreign::<Memory>(&text(memory.to_json())));
}
