use proptest::prelude::*;
use serde_json::json;

use super::super::{Stash, StashChanges};

fn apply(stash: &Stash, changes: StashChanges) -> Stash {
    match changes {
        StashChanges::None => {}
        StashChanges::Parts(parts) => {
            for (path, value) in parts {
                match value {
                    Some(value) => stash.set_value(path, value).unwrap(),
                    None => drop(stash.remove(path)),
                }
            }
        }
        StashChanges::Whole(value) => return Stash::from_value(value).unwrap(),
    }
    stash.clone()
}

#[test]
fn what_is_set_to_its_own_value_has_not_changed() {
    let stash = Stash::from_value(json!({"a": {"b": [1, 2]}})).unwrap();
    stash.track_changes();
    stash.set("a.b", [1, 2]).unwrap();
    assert_eq!(stash.take_changes(), StashChanges::None);
    stash.remove("a.c");
    assert_eq!(stash.take_changes(), StashChanges::None);
}

#[test]
fn an_array_from_which_something_was_removed_is_written_as_a_whole() {
    let stash = Stash::from_value(json!({"a": [1, 2, 3]})).unwrap();
    stash.track_changes();
    stash.remove("a.0");
    assert_eq!(stash.take_changes(), StashChanges::Parts(vec![("a".into(), Some(json!([2, 3])))]));
}

#[test]
fn more_paths_than_are_listed_are_the_whole_store() {
    let stash = Stash::new();
    stash.track_changes();
    for n in 0..5000 {
        stash.set(["many".to_owned(), format!("k{n}")], n).unwrap();
        stash.remove(["many".to_owned(), format!("k{n}")]);
    }
    assert_eq!(stash.take_changes(), StashChanges::Whole(json!({"many": {}})));
}

/// A change: a path of up to three segments out of a few, and what is written there.
fn change() -> impl Strategy<Value = (Vec<String>, Option<serde_json::Value>)> {
    let segment = prop_oneof![Just("a"), Just("b"), Just("0"), Just("1")];
    let path = proptest::collection::vec(segment.prop_map(str::to_owned), 1..4);
    let value = prop_oneof![
        Just(json!(1)),
        Just(json!({})),
        Just(json!([])),
        Just(json!([1, 2])),
        Just(json!(null))
    ];
    (path, proptest::option::of(value))
}

proptest! {
    /// The changes lead from the store as it was to the store as it is, however they are grouped.
    #[test]
    fn changes_lead_to_the_store_as_it_is(groups in proptest::collection::vec(proptest::collection::vec(change(), 0..6), 0..6)) {
        let stash = Stash::new();
        stash.track_changes();
        let mut copy = Stash::new();
        for group in groups {
            for (path, value) in group {
                match value {
                    // Paths that lead through other values are refused, which changes nothing.
                    Some(value) => drop(stash.set_value(path, value)),
                    None => drop(stash.remove(path)),
                }
            }
            copy = apply(&copy, stash.take_changes());
            prop_assert_eq!(&copy, &stash);
        }
    }
}
