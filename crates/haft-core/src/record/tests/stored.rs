//! Records as JSON, and back.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{AT, Held, arbitrary, loader, now};
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::call::ToolCall;
use crate::error::Coded as _;
use crate::media::{Media, MediaFile, MediaKind};
use crate::record::RetrievableContent;
use crate::record::{
    Identity, LoadError, Memory, Message, MessageRole, NotStorable, Record, RecordLoader,
    Retrievable, Thought,
};
use crate::spool::ReaderDescriptor;
use crate::store::{RowKind, StoreError};
use crate::tool::context::Instruction;
use crate::tool::{ByteStream, ToolFailure};
use crate::trust::TrustTier;

/// A record is equal to what is loaded from its stored form, which has one spelling.
#[track_caller]
pub(super) fn survives<T: Record + Clone + PartialEq>(record: &T) {
    let stored = record.to_stored().unwrap();
    let loaded = now(T::from_stored(&stored, &loader()));
    let loaded = loaded.unwrap_or_else(|error| panic!("{stored}\n{error}"));
    assert_eq!(&loaded, record);
    assert_eq!(loaded.to_stored().unwrap(), stored);
    let row = Arc::new(record.clone()).to_row().unwrap();
    assert_eq!(row.json, stored);
    assert_eq!((row.kind, row.id.as_str()), (T::KIND, record.key().to_string().as_str()));
    assert_eq!(&now(T::from_row(&row, &loader())).unwrap(), record);
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
    let stored: Value = serde_json::from_str(&record.to_stored().unwrap()).unwrap();
    assert_eq!(&stored, expected);
}

const EPOCH: &str = "1970-01-01T00:00:00.000000Z";

/// `serde_json` without `float_roundtrip` reads each of these as another double.
#[test]
fn doubles_are_read_exactly() {
    for double in [0.11370000000000001, 0.19590000000000002, 1.0715660391465826e-75] {
        let thought = Thought::builder("t-1", AT).payload(json!({ "n": double }));
        survives(&thought.replay_compatibility("vendor/1").build().unwrap());
    }
}

#[test]
fn stored_forms() {
    let image = Media::user_attachment(MediaKind::Image, MediaFile::new("a.png", "image/png", "x"));
    let message = Message::builder("m-1", MessageRole::User, AT)
        .content("hello")
        .attachment(image)
        .identity(Identity::new(17, "Ada").unwrap());
    check(
        &message.build().unwrap(),
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
    let memory = Memory::builder("likes-tea", "tea", AT).confidence(0.9).importance(1.0);
    check(
        &memory.source("chat").build().unwrap(),
        &json!({
            "id": "likes-tea", "content": "tea", "confidence": 0.9, "importance": 1.0,
            "trust": "third-party-public", "source": "chat",
            "createdAt": EPOCH, "updatedAt": EPOCH,
        }),
    );
    let thought = Thought::builder("t-1", AT).payload(json!({ "n": 1.0 }));
    check(
        &thought.replay_compatibility("vendor/1").build().unwrap(),
        &json!({
            "id": "t-1", "content": "",
            "identity": { "identifier": "assistant", "representation": "assistant" },
            "payload": { "n": 1.0 }, "replayCompatibility": "vendor/1",
            "trust": "third-party-public", "createdAt": EPOCH, "updatedAt": EPOCH,
        }),
    );
    let retrieved = Retrievable::builder("r-1", "text", TrustTier::FirstParty, AT)
        .source("docs")
        .kind("page")
        .score(0.5)
        .artifact_kind(ArtifactKind::MARKDOWN)
        .build()
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
    assert!(Arc::new(record.clone()).to_row().is_err());
    record.to_stored().unwrap_err()
}

#[test]
fn what_could_not_be_found_again_is_not_stored() {
    let lost = SpooledArtifact::new(ArtifactKind::TEXT, Held::lost(), TrustTier::UNTRUSTED);
    let lost = Retrievable::builder("r", lost, TrustTier::FirstParty, AT).build().unwrap();
    let error = refused(&lost);
    assert!(matches!(error, NotStorable::Artifact(_)), "{error}");
    assert_eq!(error.code(), "E_READER_NOT_DESCRIBABLE");

    let file = MediaFile::read_by("a", "b/c", Arc::new(Nowhere));
    let message = Message::builder("m", MessageRole::User, AT)
        .attachment(Media::tool_generated(MediaKind::Audio, file));
    let error = refused(&message.build().unwrap());
    assert!(matches!(error, NotStorable::Media(_)), "{error}");
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
        let message = Message::builder("m", MessageRole::User, AT);
        message.attachment(media.with_entry("deep", entry)).build().unwrap()
    };
    survives(&with(115));
    let error = refused(&with(116));
    assert!(matches!(error, NotStorable::Extent { .. }), "{error}");
}

#[test]
fn a_reader_is_opened_by_whoever_knows_it() {
    let of = |key| {
        let artifact =
            SpooledArtifact::new(ArtifactKind::TEXT, Held::reader(key), TrustTier::UNTRUSTED);
        let record = Retrievable::builder("r", artifact, TrustTier::FirstParty, AT);
        record.build().unwrap().to_stored().unwrap()
    };
    let error = now(Retrievable::from_stored(&of("one"), &RecordLoader::new())).unwrap_err();
    assert!(matches!(&error, LoadError::NoResolver { tag } if tag == "spool:held"), "{error}");
    assert_eq!(error.code(), "E_NO_READER_RESOLVER");

    let lost = now(Retrievable::from_stored(&of("gone"), &loader())).unwrap();
    let RetrievableContent::Artifact(artifact) = lost.content() else { panic!("{lost:?}") };
    let error = now(artifact.reader().read_at(0, 1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the stored content of `gone` was changed from outside: it is gone"
    );

    let twice = loader().spool(Arc::new(super::Keys([("gone", Held::reader("gone"))].into())));
    now(Retrievable::from_stored(&of("gone"), &twice)).unwrap();

    let message = Message::builder("m", MessageRole::User, AT)
        .attachment(Media::user_attachment(MediaKind::Image, MediaFile::new("a", "b/c", "x")));
    let stored = message.build().unwrap().to_stored().unwrap();
    let none = RecordLoader::new().media(crate::media::ReaderResolvers::empty());
    let error = now(Message::from_stored(&stored, &none)).unwrap_err();
    assert_eq!(error.code(), "E_NO_READER_RESOLVER");

    let picky = crate::media::ReaderResolvers::empty()
        .with("media:in-memory", |_: &Value| -> Result<Nowhere, ToolFailure> {
            Err(ToolFailure::new("not here"))
        });
    let error = now(Message::from_stored(&stored, &RecordLoader::new().media(picky))).unwrap_err();
    assert!(matches!(error, LoadError::Media(_)), "{error}");
}

#[test]
fn a_row_keeps_the_record_that_it_says() {
    let row = Arc::new(Message::user_at("m-1", "hello", AT).unwrap()).to_row().unwrap();
    let error = now(Thought::from_row(&row, &loader())).unwrap_err();
    assert!(matches!(error, LoadError::Damaged { kind: RowKind::Thought, .. }), "{error}");

    let mut moved = row;
    moved.id = "m-2".into();
    let error = now(Message::from_row(&moved, &loader())).unwrap_err();
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
        now(Retrievable::from_stored(&json.to_string(), &loader()))
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
