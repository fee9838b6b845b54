//! The documents every shape is tried with: values of all kinds, each as the field `v`, beside an
//! unknown key and under an alias. All are objects, the only root a tool's arguments can have.

use serde_json::{Value, json};

/// All documents.
pub(super) fn all() -> Vec<Value> {
    let mut documents = vec![json!({}), json!({ "v": 1, "value": 2 })];
    for value in values() {
        documents.push(json!({ "v": value }));
        documents.push(json!({ "v": value, "extra": 1 }));
        documents.push(json!({ "value": value }));
    }
    documents
}

fn values() -> Vec<Value> {
    let mut values = scalars();
    values.extend(composites());
    values
}

fn scalars() -> Vec<Value> {
    let numbers = [
        json!(0),
        json!(1),
        json!(-1),
        json!(3),
        json!(3.0),
        json!(3.5),
        json!(-0.0),
        json!(127),
        json!(128),
        json!(-129),
        json!(255),
        json!(256),
        json!(65_536),
        json!(u32::MAX),
        json!(u64::from(u32::MAX) + 1),
        json!(9_007_199_254_740_993_u64),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e20),
        json!(1e300),
        json!(1e-7),
        json!(0.1),
    ];
    let words = [
        "",
        "a",
        "ab",
        "abc",
        "3",
        "3.0",
        "true",
        "null",
        "red",
        "Red",
        "RED",
        "green",
        "circle",
        "é",
        "😀",
        "a\u{0}b",
        "2024-02-29",
        "ada@example.org",
        "[1,2]",
        "{\"x\":1}",
        "a text of more than twenty characters",
    ];
    let mut values = vec![Value::Null, json!(true), json!(false)];
    values.extend(numbers);
    values.extend(words.map(Value::from));
    values
}

fn composites() -> [Value; 32] {
    [
        json!([]),
        json!([1]),
        json!([1, 2]),
        json!([1, 2, 3]),
        json!([3.0]),
        json!([1, 1]),
        json!([1, "a"]),
        json!([-1]),
        json!(["a"]),
        json!(["a", "b"]),
        json!(["a", "a"]),
        json!(["red"]),
        json!([null]),
        json!([[]]),
        json!([true]),
        json!([{ "x": 1, "y": 2 }]),
        json!({}),
        json!({ "a": 1 }),
        json!({ "a": "x" }),
        json!({ "a": -1, "b": 3.0 }),
        json!({ "x": 1, "y": 2 }),
        json!({ "x": 1.0, "y": 2 }),
        json!({ "x": 1 }),
        json!({ "x": 1, "y": 2, "z": 3 }),
        json!({ "x": null, "y": 2 }),
        json!({ "kind": "circle", "radius": 1 }),
        json!({ "kind": "circle" }),
        json!({ "kind": "circle", "radius": 1, "extra": 0 }),
        json!({ "kind": "other" }),
        json!({ "kind": "circle", "value": { "radius": 2.5 } }),
        json!({ "circle": { "radius": 1 } }),
        json!({ "circle": { "radius": 1 }, "point": null }),
    ]
}
