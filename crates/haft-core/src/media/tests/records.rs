//! Media as JSON, and back.

use serde_json::{Value, json};

use super::super::{
    Media, MediaId, MediaKind, MediaStashEntry, MemoryReader, ReaderDescriptor, ReaderResolvers,
};
use super::{file, pieces};
use crate::error::Coded as _;
use crate::failure::ToolFailure;
use crate::tier::TrustTier;

fn media() -> Media {
    let entry = MediaStashEntry::new("a chart", TrustTier::FirstParty).derived_from("m0");
    Media::retrieved_public(MediaKind::Image, file())
        .with_id(MediaId::new("m1"))
        .with_source("https://example.com/chart.png")
        .with_entry("text:caption", entry)
}

fn known() -> Value {
    json!({
        "id": "m1",
        "kind": "image",
        "mimeType": "image/png",
        "filename": "chart.png",
        "source": "https://example.com/chart.png",
        "trustTier": "third-party-public",
        "modalityHazard": "opaque-perceptual",
        "stash": {
            "text:caption": {
                "value": "a chart",
                "trustTier": "third-party-public",
                "derivedFromMedia": "m0",
            },
        },
    })
}

/// As a store returned it.
fn read(stored: &Value) -> Media {
    crate::tier::parse_stored(&stored.to_string()).unwrap()
}

fn stored() -> Value {
    let mut stored = known();
    stored["reader"] =
        json!({ "tag": "media:in-memory", "locator": { "bytesBase64": "iVBORw==" } });
    stored
}

#[tokio::test]
async fn a_record_finds_the_bytes_again() {
    assert_eq!(serde_json::to_value(media()).unwrap(), stored());
    let mut loaded = read(&stored());
    let unread = loaded.bytes(100).await.unwrap_err();
    assert!(unread.to_string().contains("was not opened"), "{unread}");
    assert_eq!(serde_json::to_value(&loaded).unwrap(), stored());
    loaded.open(&ReaderResolvers::default()).unwrap();
    assert_eq!(loaded, media());
    assert_eq!(loaded.bytes(100).await.unwrap(), &b"\x89PNG"[..]);
}

#[test]
fn a_stored_entry_cannot_outrank_its_medium() {
    let mut forged = stored();
    forged["stash"]["text:caption"]["trustTier"] = json!("first-party");
    let mut loaded = read(&forged);
    loaded.open(&ReaderResolvers::default()).unwrap();
    assert_eq!(loaded.entry("text:caption").unwrap().trust_tier(), TrustTier::ThirdPartyPublic);
}

#[test]
fn records_have_no_other_keys_and_no_holes() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut record = stored();
        change(&mut record);
        serde_json::from_value::<Media>(record).is_err()
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|it| it["other"] = json!(1)));
    assert!(refused(&|it| it["stash"]["text:caption"]["other"] = json!(1)));
    assert!(refused(&|it| it["stash"]["text:caption"] = json!({ "value": 1 })));
    assert!(refused(&|it| it["reader"]["secret"] = json!(1)));
    assert!(refused(&|it| it["trustTier"] = json!("trusted")));
    for key in ["kind", "mimeType", "filename", "trustTier", "modalityHazard", "reader"] {
        let remove = |it: &mut Value| {
            it.as_object_mut().unwrap().remove(key);
        };
        assert!(refused(&remove), "{key}");
    }
}

#[track_caller]
fn check_load(record: &Value, resolvers: &ReaderResolvers, code: &str, message: &str) {
    let error = read(record).open(resolvers).unwrap_err();
    assert_eq!((error.code().as_str(), error.to_string().as_str()), (code, message));
}

#[test]
fn what_cannot_be_loaded_says_why() {
    let all = ReaderResolvers::default();
    let code = "E_NO_READER_RESOLVER";
    let message = "no resolver is registered for the reader `media:in-memory`";
    check_load(&stored(), &ReaderResolvers::empty(), code, message);
    let mut broken = stored();
    broken["reader"]["locator"] = json!({ "bytesBase64": "?" });
    let message =
        "the reader `media:in-memory` could not be made again: `bytesBase64` is not base64";
    check_load(&broken, &all, "E_NOT_A_MEDIA_READER", message);
    let mut nameless = stored();
    nameless["filename"] = json!("");
    nameless["id"] = json!("");
    let message = "the medium was refused: `filename` is empty; `id` is empty";
    check_load(&nameless, &all, "E_INVALID_INITIAL_MEDIA_VALUE", message);
    assert!(serde_json::to_value(pieces(&[])).is_err());
}

#[test]
fn applications_bring_their_own_readers() {
    let by_name = |locator: &Value| match locator.as_str() {
        Some(name) => Ok(MemoryReader::new(name.as_bytes().to_vec())),
        None => Err(ToolFailure::new("not a name")),
    };
    let resolvers = ReaderResolvers::default().with("media:name", by_name);
    let found = resolvers.resolve(&ReaderDescriptor::new("media:name", json!("abc"))).unwrap();
    assert_eq!(found.byte_length(), Some(3));
    assert!(resolvers.resolve(&ReaderDescriptor::new("media:name", json!(1))).is_err());
    assert_eq!(format!("{resolvers:?}"), r#"{"media:in-memory", "media:name"}"#);
    let replaced = resolvers.with("media:name", |_| Ok(MemoryReader::new("")));
    let found = replaced.resolve(&ReaderDescriptor::new("media:name", json!(1))).unwrap();
    assert_eq!(found.byte_length(), Some(0));
}
