use super::*;
use crate::clock::Timestamp;
use crate::record::tests::Held;
use crate::schema::args::RawArgs;
use crate::trust::TrustTier;

fn artifact() -> SpooledArtifact {
    SpooledArtifact::new(ArtifactKind::TEXT, Held::reader("one"), TrustTier::UNTRUSTED)
}

fn call() -> RecordId {
    RecordId::first(CallId::of_text("read", "{}"))
}

/// Whether a call can be taken up next to a retrieved record of this id.
fn fits_beside(id: &str) -> bool {
    let set = ArtifactSet::new();
    set.put_retrieved(id, artifact()).unwrap();
    set.check_call(call()).is_ok()
}

#[test]
fn a_call_and_a_retrieved_record_do_not_share_a_name() {
    let handle = ArtifactSet::new().handle(call()).as_str().to_owned();
    assert!(!fits_beside(&call().to_string()));
    assert!(!fits_beside(&handle));
    assert!(!fits_beside(&format!("{handle}.2")), "a part of its result");
    assert!(fits_beside(&format!("{handle}x")));
    assert!(fits_beside("notes"));
}

#[test]
fn only_plain_ids_are_handles() {
    let set = ArtifactSet::new();
    let longest = "x".repeat(64);
    for plain in ["notes", "a-b_c.d:e#f/g", longest.as_str()] {
        set.put_retrieved(plain, artifact()).unwrap();
        assert_eq!(set.handle_of_retrieved(plain).as_deref(), Some(plain));
    }
    for other in ["", "two words", "é", "\"", &"x".repeat(65)] {
        set.put_retrieved(other, artifact()).unwrap();
        let handle = set.handle_of_retrieved(other).unwrap();
        assert!(handle.starts_with("r-") && handle.len() == 18, "{other}: {handle}");
        assert!(set.get(&handle).is_some());
    }
}

#[test]
fn artifacts_of_a_call_that_is_removed_are_gone() {
    let set = ArtifactSet::new();
    let raw = RawArgs::from("{}");
    let mut record = ToolCall::requested_with_id(call(), "read".into(), raw, Timestamp::EPOCH);
    record.results = Some(ToolResults::Artifacts(vec![artifact(), artifact()]));
    set.put_call(&record).unwrap();
    let handle = set.handle(call());
    assert_eq!(set.handles_of(call()), [format!("{handle}.0"), format!("{handle}.1")]);
    set.remove_call(call());
    assert!(set.handles_of(call()).is_empty() && set.all().is_empty());
    assert!(set.get(&format!("{handle}.0")).is_none());
    set.remove_call(call());
}
