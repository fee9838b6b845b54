use std::collections::HashSet;

use haft_core::call::{CallId, RecordId};
use proptest::prelude::*;

use super::{MAX_LENGTH, WireIds, WireNames, fits, speaker};

#[track_caller]
fn check(name: &str, begins: &str) {
    let names = WireNames::of([name]);
    let wire = names.wire(name);
    assert!(fits(&wire) && wire.starts_with(begins), "{wire}");
    assert_eq!(names.tool(&wire), name);
    assert_eq!(WireNames::default().wire(name), wire, "what is not known is spelled alike");
}

#[test]
fn names_are_spelled_and_found_again() {
    check("get_weather", "get_weather");
    check("github.issues.list", "github_issues_list_");
    check("größe", "gr__e_");
    check(&"x".repeat(64), &"x".repeat(64));
    check(&"x".repeat(65), &"x".repeat(55));
    check("🦀", "__");
}

#[test]
fn names_that_look_alike_stay_apart() {
    let one = WireNames::of(["a.b"]).wire("a.b");
    let names = WireNames::of(["a.b", "a/b", "a_b", &one]);
    let wires: HashSet<_> = ["a.b", "a/b", "a_b", &one].map(|it| names.wire(it)).into();
    assert_eq!(wires.len(), 4);
    assert_eq!((&*names.wire("a_b"), &*names.wire(&one)), ("a_b", &*one));
    assert_eq!(names.tool("nobody"), "nobody");
}

proptest! {
    #[test]
    fn any_names_are_fit_and_distinct(all in prop::collection::hash_set("\\PC{1,80}", 0..20)) {
        let names = WireNames::of(all.iter().map(String::as_str));
        let mut seen = HashSet::new();
        for name in &all {
            let wire = names.wire(name);
            prop_assert!(fits(&wire), "{}", wire);
            prop_assert_eq!(names.tool(&wire), name);
            prop_assert!(seen.insert(wire));
        }
    }
}

#[test]
fn ids_are_kept_where_they_can_be() {
    let record = |text: &str| RecordId::first(CallId::of_text("tool", text));
    let mut ids = WireIds::default();
    assert_eq!(ids.of(record("a"), Some("call_0")), "call_0");
    let second = ids.of(record("b"), Some("call_0"));
    assert!(second.starts_with("call_") && second.len() == 37, "{second}");
    let long = "x".repeat(MAX_LENGTH + 1);
    for bad in ["", "a b", "fc|item", &long] {
        assert!(fits(&ids.of(record(bad), Some(bad))));
    }
    // Somebody who knows our ids cannot make two calls one.
    let stolen = WireIds::default().minted(record("z"));
    assert_eq!(ids.of(record("y"), Some(&stolen)), stolen);
    assert_eq!(ids.of(record("z"), None), format!("{stolen}-2"));
}

#[test]
fn speakers_are_plain() {
    assert_eq!(speaker("Ada Lovelace"), "Ada_Lovelace");
    assert_eq!(speaker(""), "_");
    assert_eq!(speaker(&"é".repeat(100)).len(), MAX_LENGTH);
}
