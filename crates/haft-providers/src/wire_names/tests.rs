use std::collections::HashSet;

use haft_core::call::{CallId, RecordId};
use proptest::prelude::*;

use super::{MAX_NAME_LENGTH, WireIds, WireNames, author_name, is_valid};

#[track_caller]
fn check(name: &str, begins: &str) {
    let names = WireNames::new([name]);
    let wire = names.wire_name(name);
    assert!(is_valid(&wire) && wire.starts_with(begins), "{wire}");
    assert_eq!(names.tool_name(&wire), name);
    assert_eq!(WireNames::default().wire_name(name), wire, "what is not known is spelled alike");
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
    let one = WireNames::new(["a.b"]).wire_name("a.b");
    let names = WireNames::new(["a.b", "a/b", "a_b", &one]);
    let wires: HashSet<_> = ["a.b", "a/b", "a_b", &one].map(|it| names.wire_name(it)).into();
    assert_eq!(wires.len(), 4);
    assert_eq!((&*names.wire_name("a_b"), &*names.wire_name(&one)), ("a_b", &*one));
    assert_eq!(names.tool_name("nobody"), "nobody");
}

proptest! {
    #[test]
    fn any_names_are_fit_and_distinct(all in prop::collection::hash_set("\\PC{1,80}", 0..20)) {
        let names = WireNames::new(all.iter().map(String::as_str));
        let mut seen = HashSet::new();
        for name in &all {
            let wire = names.wire_name(name);
            prop_assert!(is_valid(&wire), "{}", wire);
            prop_assert_eq!(names.tool_name(&wire), name);
            prop_assert!(seen.insert(wire));
        }
    }
}

#[test]
fn ids_are_kept_where_they_can_be() {
    let record = |text: &str| RecordId::first(CallId::of_text("tool", text));
    let mut ids = WireIds::default();
    assert_eq!(ids.assign(record("a"), Some("call_0")), "call_0");
    let second = ids.assign(record("b"), Some("call_0"));
    assert!(second.starts_with("call_") && second.len() == 37, "{second}");
    let long = "x".repeat(MAX_NAME_LENGTH + 1);
    for bad in ["", "a b", "fc|item", &long] {
        assert!(is_valid(&ids.assign(record(bad), Some(bad))));
    }
    // Somebody who knows our ids cannot make two calls one.
    let stolen = WireIds::default().derive(record("z"));
    assert_eq!(ids.assign(record("y"), Some(&stolen)), stolen);
    assert_eq!(ids.assign(record("z"), None), format!("{stolen}-2"));
}

#[test]
fn speakers_are_plain() {
    assert_eq!(author_name("Ada Lovelace"), "Ada_Lovelace");
    assert_eq!(author_name(""), "_");
    assert_eq!(author_name(&"é".repeat(100)).len(), MAX_NAME_LENGTH);
}
