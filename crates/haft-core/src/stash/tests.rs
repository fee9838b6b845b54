mod changes;
mod model;

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::Coded as _;

use super::{MAX_DEPTH, Stash, StashError, StashPath};

fn store(value: Value) -> Stash {
    Stash::from_value(value).unwrap()
}

fn keys(store: &Stash) -> Vec<String> {
    store.keys().iter().map(StashPath::to_string).collect()
}

#[test]
fn only_objects_start_a_store() {
    for (value, name) in [
        (json!([]), "array"),
        (json!("x"), "string"),
        (json!(1), "number"),
        (json!(true), "boolean"),
        (json!(null), "null"),
    ] {
        let error = Stash::from_value(value.clone()).unwrap_err();
        assert_eq!(error.code(), "E_INVALID_INITIAL_REGISTRY_VALUE");
        assert_eq!(error.to_string(), format!("a stash starts from an object, found {name}"));
        let error = serde_json::from_value::<Stash>(value).unwrap_err();
        assert_eq!(error.to_string(), format!("a stash starts from an object, found {name}"));
    }
    assert_eq!(store(json!({ "a": 1 })).all(), json!({ "a": 1 }));
    assert_eq!(Stash::new().all(), json!({}));
}

#[test]
fn a_path_reads_own_members_only() {
    let store = store(json!({
        "": { "": 1 },
        "a": { "b": [10, { "c": null }], "0": "zero" },
        "text": "abc",
        "x.y": 1,
    }));
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "keeps the table readable")]
    fn check(store: &Stash, path: impl Into<StashPath>, expect: Option<Value>) {
        let path = path.into();
        assert_eq!(store.get(&path), expect);
        assert_eq!(store.has(&path), expect.is_some());
    }
    check(&store, "", Some(json!({ "": 1 })));
    check(&store, ".", Some(json!(1)));
    check(&store, "..", None);
    check(&store, "a.b", Some(json!([10, { "c": null }])));
    check(&store, "a.b.0", Some(json!(10)));
    check(&store, "a.b.1.c", Some(json!(null)));
    check(&store, "a.b.1.c.d", None);
    check(&store, "a.b.2", None);
    check(&store, "a.b.01", None);
    check(&store, "a.b.-1", None);
    check(&store, "a.b.+0", None);
    check(&store, "a.b.99999999999999999999999", None);
    check(&store, "a.b.length", None);
    check(&store, "a.0", Some(json!("zero")));
    check(&store, "text.0", None);
    check(&store, "text.length", None);
    check(&store, "x.y", None);
    check(&store, ["x.y"], Some(json!(1)));
    check(&store, &["a".to_owned(), "0".to_owned()][..], Some(json!("zero")));
    check(&store, vec!["a", "0"], Some(json!("zero")));
    check(&store, String::from("a.0"), Some(json!("zero")));
    check(&store, [""; 0], Some(store.all()));
    for inherited in ["constructor", "toString", "__proto__", "prototype"] {
        check(&store, inherited, None);
    }
}

#[test]
fn falsy_values_are_present() {
    let store = store(json!({ "null": null, "zero": 0, "empty": "", "no": false }));
    for key in ["null", "zero", "empty", "no"] {
        assert!(store.has(key), "{key}");
    }
    assert_eq!(store.get("null"), Some(Value::Null));
    assert!(!store.has("undefined"));
}

#[test]
fn a_write_makes_what_is_missing() {
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "keeps the table readable")]
    fn check(start: Value, path: impl Into<StashPath>, expect: Value) {
        let store = store(start);
        store.set(path, 1).unwrap();
        assert_eq!(store.all(), expect);
    }
    check(json!({}), "a", json!({ "a": 1 }));
    check(json!({}), "", json!({ "": 1 }));
    check(json!({}), "a.b.c", json!({ "a": { "b": { "c": 1 } } }));
    check(json!({}), "a.0.b", json!({ "a": [{ "b": 1 }] }));
    check(json!({}), "a.2", json!({ "a": [null, null, 1] }));
    check(json!({}), "0", json!({ "0": 1 }));
    check(json!({}), "0.0", json!({ "0": [1] }));
    check(json!({}), "a.01", json!({ "a": { "01": 1 } }));
    check(json!({}), "a.-1", json!({ "a": { "-1": 1 } }));
    check(json!({}), "a.1e3", json!({ "a": { "1e3": 1 } }));
    check(json!({}), "a.", json!({ "a": { "": 1 } }));
    check(json!({}), ["a.b", "c"], json!({ "a.b": { "c": 1 } }));
    check(json!({ "a": {} }), "a.0", json!({ "a": { "0": 1 } }));
    check(json!({ "a": [5, 6] }), "a.0", json!({ "a": [1, 6] }));
    check(json!({ "a": [5, 6] }), "a.2", json!({ "a": [5, 6, 1] }));
    check(json!({ "a": [[]] }), "a.0.0", json!({ "a": [[1]] }));
    check(json!({ "a": { "b": 2 } }), "a", json!({ "a": 1 }));
    check(json!({ "a": null }), "a", json!({ "a": 1 }));
    for ordinary in ["__proto__", "constructor", "prototype"] {
        check(json!({}), ordinary, json!({ ordinary: 1 }));
        check(json!({}), ["a", ordinary, "b"], json!({ "a": { ordinary: { "b": 1 } } }));
    }
}

#[test]
fn an_impossible_write_is_refused_and_changes_nothing() {
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "keeps the table readable")]
    fn check(start: Value, path: impl Into<StashPath>, code: &str, message: &str) {
        let store = store(start.clone());
        let error = store.set(path, 1).unwrap_err();
        assert_eq!((error.code().as_str(), error.to_string().as_str()), (code, message));
        assert_eq!(store.all(), start);
    }
    let scalar = "E_REGISTRY_NOT_A_CONTAINER";
    check(
        json!({ "a": { "b": 1 } }),
        "a.b.c.d",
        scalar,
        "cannot write `a.b.c.d`: `a.b` has no members, it is of type number",
    );
    for (value, name) in [
        (json!(null), "null"),
        (json!(false), "boolean"),
        (json!(0), "number"),
        (json!(""), "string"),
    ] {
        let message = format!("cannot write `a.0`: `a` has no members, it is of type {name}");
        check(json!({ "a": value }), "a.0", scalar, &message);
    }
    for bad in ["x", "01", "-1", "", "length"] {
        let message = format!(
            "cannot write `a.{bad}.b`: `a.{bad}` is not an index of the array that it is in"
        );
        check(json!({ "a": [] }), ["a", bad, "b"], "E_REGISTRY_PATH", &message);
    }
    for (start, index) in
        [(json!({ "a": [] }), "1025"), (json!({}), "1025"), (json!({}), "18446744073709551616")]
    {
        let message = format!(
            "cannot write `a.{index}.b`: the index of `a.{index}` is past the end of the array \
             and past 1024; store an object there first if these are keys"
        );
        check(start, ["a", index, "b"], "E_REGISTRY_PATH", &message);
    }
    check(
        json!({ "a": 1 }),
        [""; 0],
        "E_REGISTRY_PATH",
        "the stash itself cannot be replaced: the path has no segments",
    );
}

#[test]
fn the_facts_of_a_refused_write_are_typed() {
    let error = store(json!({ "a": ["x"] })).set("a.0.b", 1).unwrap_err();
    let StashError::NotAContainer { path, at, found } = error else { panic!("{error}") };
    assert_eq!((path, at), (StashPath::from("a.0.b"), StashPath::from("a.0")));
    assert_eq!(found, crate::json::ValueKind::String);
}

#[test]
fn holes_end_at_the_cap_and_appending_does_not() {
    let store = Stash::new();
    store.set("a.1024", 1).unwrap();
    assert_eq!(store.get_as::<Vec<Option<u8>>>("a").unwrap().unwrap().len(), 1025);
    store.set("a.1025", 2).unwrap();
    assert_eq!(store.set("a.1027", 3).unwrap_err().code(), "E_REGISTRY_PATH");
    assert_eq!(store.get("a.1025"), Some(json!(2)));
    assert_eq!(store.get("a.1026"), None);
}

#[test]
fn leaves_are_listed_in_insertion_order() {
    let store = Stash::new();
    store.set("z.b", 1).unwrap();
    store.set("z.a", json!(null)).unwrap();
    store.set("list", json!([{ "x": 1 }])).unwrap();
    store.set("empty", json!({})).unwrap();
    store.set("no_items", json!([])).unwrap();
    store.set(["y.y"], "").unwrap();
    store.set("z.b", 2).unwrap();
    assert_eq!(keys(&store), ["z.b", "z.a", "list", "no_items", "y.y"]);
    assert!(store.keys().iter().all(|path| store.has(path)), "every path reads its leaf");
    store.remove("z.b");
    store.set("z.b", 3).unwrap();
    assert_eq!(keys(&store), ["z.a", "z.b", "list", "no_items", "y.y"]);
    assert_eq!((store.len(), store.is_empty()), (5, false));
    store.remove("z");
    assert_eq!(keys(&store), ["list", "no_items", "y.y"], "the rest stays in order");
    assert!(Stash::new().is_empty());
}

#[test]
fn text_keeps_the_order_both_ways() {
    let text =
        r#"{"z":{"b":1,"a":[{"d":-1,"c":2.5}]},"m":null,"a":"\u0001é","big":18446744073709551615}"#;
    let store: Stash = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&store).unwrap(), text);
    assert_eq!(keys(&store), ["z.b", "z.a", "m", "a", "big"]);
    assert_eq!(store.all(), serde_json::from_str::<Value>(text).unwrap());
}

#[test]
fn typed_values_keep_their_order_and_come_back() {
    #[derive(Serialize, serde::Deserialize, PartialEq, Debug)]
    struct Visit {
        when: u64,
        at: Place,
        also: Vec<Place>,
        note: Option<char>,
        by: BTreeMap<u8, bool>,
        unit: (),
        pair: (f32, i128),
    }
    #[derive(Serialize, serde::Deserialize, PartialEq, Debug)]
    enum Place {
        Home,
        City(String),
        Point(i8, i8),
        Room { number: u16, floor: i16 },
    }
    let visit = Visit {
        when: u64::MAX,
        at: Place::City("Paris".to_owned()),
        also: vec![Place::Home, Place::Point(-1, 2), Place::Room { number: 1, floor: -1 }],
        note: Some('ü'),
        by: BTreeMap::from([(1, true), (0, false)]),
        unit: (),
        pair: (0.5, -3),
    };
    let store = Stash::new();
    store.set("visit", &visit).unwrap();
    insta::assert_snapshot!(serde_json::to_string(&store).unwrap(), @r#"{"visit":{"when":18446744073709551615,"at":{"City":"Paris"},"also":["Home",{"Point":[-1,2]},{"Room":{"number":1,"floor":-1}}],"note":"ü","by":{"0":false,"1":true},"unit":null,"pair":[0.5,-3]}}"#);
    assert_eq!(store.get("visit"), Some(serde_json::to_value(&visit).unwrap()));
    assert_eq!(store.get_as("visit").unwrap(), Some(visit));
    store.set("edges", [i128::from(i64::MIN), u64::MAX.into()]).unwrap();
    assert_eq!(store.get("edges"), Some(json!([i64::MIN, u64::MAX])));
    let by_text = IndexMap::from([("b", 1), ("a", 2)]);
    store.set("map", by_text).unwrap();
    assert_eq!(keys(&store).last().unwrap(), "map.a");
}

#[test]
fn what_json_cannot_hold_is_refused() {
    #[track_caller]
    fn check(value: impl Serialize, reason: &str) {
        let store = store(json!({ "a": 1 }));
        let error = store.set("a", value).unwrap_err();
        assert_eq!(error.code(), "E_REGISTRY_NOT_JSON");
        assert_eq!(error.to_string(), format!("the value for `a` is not JSON: {reason}"));
        assert_eq!(store.all(), json!({ "a": 1 }));
    }
    check(f64::NAN, "NaN is not a JSON number");
    check([Some(f32::INFINITY)], "inf is not a JSON number");
    check(BTreeMap::from([("x", (1, f64::NEG_INFINITY))]), "-inf is not a JSON number");
    check(u128::MAX, "an integer is outside 64 bits");
    check(i128::from(i64::MIN) - 1, "an integer is outside 64 bits");
    check(i128::from(u64::MAX) + 1, "an integer is outside 64 bits");
    check(BTreeMap::from([((1, 2), 3)]), "a key is not text");
    check(BTreeMap::from([(None::<u8>, 3)]), "a key is not text");
    struct Broken;
    impl Serialize for Broken {
        fn serialize<S: serde::Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("broken"))
        }
    }
    check(Broken, "broken");
}

#[test]
fn a_wrong_type_is_an_error_and_an_absent_value_is_not() {
    let store = store(json!({ "a": "x" }));
    assert_eq!(store.get_as::<u8>("b").unwrap(), None);
    assert_eq!(store.get_as::<Option<u8>>("b").unwrap(), None);
    let error = store.get_as::<u8>("a").unwrap_err();
    assert_eq!(error.code(), "E_REGISTRY_WRONG_TYPE");
    assert_eq!(error.to_string(), "`a` does not hold the type that was asked for");
    assert!(std::error::Error::source(&error).is_some());
}

fn nested(levels: usize) -> Value {
    (1..levels).fold(json!([]), |inner, _| json!([inner]))
}

#[test]
fn nesting_is_bounded_so_that_text_reads_back() {
    let store = Stash::new();
    let path: StashPath = vec!["a"; MAX_DEPTH].into();
    store.set(&path, 1).unwrap();
    store.set("b", nested(MAX_DEPTH - 1)).unwrap();
    store.set_value("c", nested(MAX_DEPTH - 1)).unwrap();
    let text = serde_json::to_string(&store).unwrap();
    assert_eq!(serde_json::from_str::<Stash>(&text).unwrap(), store);

    let code = |result: Result<(), StashError>| result.unwrap_err().code();
    let too_deep = "E_REGISTRY_TOO_DEEP";
    let long: StashPath = vec!["a"; MAX_DEPTH + 1].into();
    assert_eq!(code(Stash::new().set(&long, 1)), too_deep);
    assert_eq!(code(store.set(&path, json!({}))), too_deep);
    assert_eq!(code(store.set("d", nested(MAX_DEPTH))), too_deep);
    assert_eq!(code(store.set_value("d", nested(MAX_DEPTH))), too_deep);
    assert_eq!(code(store.update("d", |_| nested(MAX_DEPTH))), too_deep);
    assert!(!store.has("d"));
    let seed = json!({ "a": nested(MAX_DEPTH) });
    assert_eq!(Stash::from_value(seed.clone()).unwrap_err().code(), too_deep);
    assert!(serde_json::from_value::<Stash>(seed).is_err());
}

#[test]
fn values_are_copied_in_and_out() {
    let mut seed = json!({ "a": { "b": [1] } });
    let store = store(seed.clone());
    seed["a"]["b"][0] = json!(2);
    let mut read = store.get("a").unwrap();
    read["b"][0] = json!(3);
    assert_eq!(store.get("a.b.0"), Some(json!(1)));
}

#[test]
fn a_clone_is_a_snapshot() {
    let store = store(json!({ "a": { "b": [1, { "c": 2 }] }, "d": 3 }));
    let before = store.clone();
    store.set("a.b.1.c", 4).unwrap();
    store.remove("d");
    before.set("e", 5).unwrap();
    assert_eq!(store.all(), json!({ "a": { "b": [1, { "c": 4 }] } }));
    assert_eq!(before.all(), json!({ "a": { "b": [1, { "c": 2 }] }, "d": 3, "e": 5 }));
}

#[test]
fn a_removed_value_is_returned_and_its_containers_stay() {
    let store = store(json!({ "a": { "b": [1, 2, 3] }, "n": null }));
    assert_eq!(store.remove("a.b.1"), Some(json!(2)));
    assert_eq!(store.get("a.b"), Some(json!([1, 3])));
    assert_eq!(store.remove("a.b"), Some(json!([1, 3])));
    assert_eq!(store.remove("n"), Some(Value::Null));
    for absent in ["a.b", "a.b.0", "x", "a.b.c.d"] {
        assert_eq!(store.remove(absent), None, "{absent}");
    }
    assert_eq!(store.remove([""; 0]), None);
    assert_eq!(store.all(), json!({ "a": {} }));
}

#[test]
fn updates_from_many_threads_do_not_get_lost() {
    let store = Stash::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..250 {
                    let next = |now: Option<&Value>| now.and_then(Value::as_u64).unwrap_or(0) + 1;
                    store.update("n", |now| next(now).into()).unwrap();
                }
            });
        }
    });
    assert_eq!(store.get_as::<u64>("n").unwrap(), Some(1000));
}

#[test]
fn a_panic_in_an_update_leaves_the_store_usable() {
    let store = Arc::new(store(json!({ "a": 1 })));
    let shared = Arc::clone(&store);
    let result = std::thread::spawn(move || shared.update("a", |_| panic!("on purpose"))).join();
    assert!(result.is_err());
    assert_eq!(store.get("a"), Some(json!(1)));
    store.set("a", 2).unwrap();
    assert_eq!(store.get("a"), Some(json!(2)));
}

#[test]
fn typed_entries_live_beside_the_json() {
    #[derive(Debug, PartialEq)]
    struct Handle(u8);
    let store = Stash::new();
    assert_eq!(store.typed::<Handle>(), None);
    assert_eq!(store.insert_typed(Handle(1)), None);
    assert_eq!(store.insert_typed("other type"), None);
    let snapshot = store.clone();
    assert_eq!(store.insert_typed(Handle(2)), Some(Arc::new(Handle(1))));
    assert_eq!(store.typed(), Some(Arc::new(Handle(2))));
    assert_eq!(snapshot.typed(), Some(Arc::new(Handle(1))));
    assert_eq!(serde_json::to_string(&store).unwrap(), "{}");
    assert!(store.is_empty());
    assert_eq!(store.remove_typed::<Handle>(), Some(Arc::new(Handle(2))));
    assert_eq!(store.remove_typed::<Handle>(), None);
    assert_eq!(store.typed::<&str>(), Some(Arc::new("other type")));
}

#[test]
fn debug_does_not_show_what_is_stored() {
    let store = store(json!({ "token": "secret" }));
    store.insert_typed(1_u8);
    assert_eq!(format!("{store:?}"), "Stash { len: 1, typed: 1, .. }");
}
