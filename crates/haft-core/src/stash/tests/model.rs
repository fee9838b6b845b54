//! The store against a naive model: a plain JSON value and the path rules, written down directly.

use crate::error::Coded as _;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::stash::Stash;

#[derive(Clone, Debug)]
enum Step {
    Set(Vec<String>, Value),
    Update(Vec<String>, Value),
    Remove(Vec<String>),
    Get(Vec<String>),
}

fn index(segment: &str) -> Option<usize> {
    let number = segment.parse::<usize>().ok()?;
    (number.to_string() == segment).then_some(number)
}

fn get<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    let Some((first, rest)) = path.split_first() else { return Some(value) };
    match value {
        Value::Object(members) => get(members.get(first)?, rest),
        Value::Array(items) => get(items.get(index(first)?)?, rest),
        _ => None,
    }
}

/// The new value of a place: `old` with `value` put at `path` below it.
fn put(old: Option<&Value>, path: &[String], value: &Value) -> Result<Value, &'static str> {
    let Some((first, rest)) = path.split_first() else { return Ok(value.clone()) };
    let fresh = if index(first).is_some() { json!([]) } else { json!({}) };
    let mut new = old.unwrap_or(&fresh).clone();
    match &mut new {
        Value::Object(members) => {
            let member = put(members.get(first), rest, value)?;
            members.insert(first.clone(), member);
        }
        Value::Array(items) => {
            let at = index(first).ok_or("E_REGISTRY_PATH")?;
            if at > items.len() && at > 1024 {
                return Err("E_REGISTRY_PATH");
            }
            let element = put(items.get(at), rest, value)?;
            while items.len() <= at {
                items.push(Value::Null);
            }
            items[at] = element;
        }
        _ => return Err("E_REGISTRY_NOT_A_CONTAINER"),
    }
    Ok(new)
}

fn remove(value: &mut Value, path: &[String]) -> Option<Value> {
    let (first, rest) = path.split_first()?;
    match value {
        Value::Object(members) if rest.is_empty() => members.remove(first),
        Value::Object(members) => remove(members.get_mut(first)?, rest),
        Value::Array(items) => {
            let at = index(first).filter(|at| *at < items.len())?;
            if rest.is_empty() { Some(items.remove(at)) } else { remove(&mut items[at], rest) }
        }
        _ => None,
    }
}

fn leaves(value: &Value, at: &[String]) -> Vec<Vec<String>> {
    let Value::Object(members) = value else { return vec![at.to_vec()] };
    let below = |(key, member)| leaves(member, &[at, std::slice::from_ref(key)].concat());
    members.iter().flat_map(below).collect()
}

fn paths() -> impl Strategy<Value = Vec<String>> {
    let segment = prop_oneof![
        6 => prop_oneof![Just("a"), Just("b"), Just("0"), Just("1")],
        1 => prop_oneof![
            Just(""), Just("3"), Just("01"), Just("-1"), Just("x.y"), Just("__proto__"),
            Just("1024"), Just("1025"), Just("length"),
        ],
    ];
    vec(segment.prop_map(str::to_owned), 1..5)
}

fn values() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON", |it| it.is_finite()).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec(("[ab01]", inner), 0..3).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (paths(), values()).prop_map(|(path, value)| Step::Set(path, value)),
        1 => (paths(), values()).prop_map(|(path, value)| Step::Update(path, value)),
        2 => paths().prop_map(Step::Remove),
        2 => paths().prop_map(Step::Get),
    ]
}

proptest! {
    #[test]
    fn the_store_agrees_with_a_naive_model(steps in vec(steps(), 1..30)) {
        let store = Stash::new();
        let mut model = json!({});
        for step in steps {
            let snapshot = (store.clone(), model.clone());
            match step {
                Step::Set(path, value) => {
                    let expect = put(Some(&model), &path, &value);
                    let found = store.set(path, value);
                    prop_assert_eq!(found.map_err(|it| it.code().as_str().to_owned()), expect.clone().map(|_| ()).map_err(str::to_owned));
                    model = expect.unwrap_or(model);
                }
                Step::Update(path, value) => {
                    let change = |old: Option<&Value>| json!([old, value]);
                    let expect = put(Some(&model), &path, &change(get(&model, &path)));
                    let found = store.update(path, change);
                    prop_assert_eq!(found.map_err(|it| it.code().as_str().to_owned()), expect.clone().map(|_| ()).map_err(str::to_owned));
                    model = expect.unwrap_or(model);
                }
                Step::Remove(path) => {
                    prop_assert_eq!(store.remove(&path[..]), remove(&mut model, &path));
                }
                Step::Get(path) => {
                    prop_assert_eq!(store.has(&path[..]), get(&model, &path).is_some());
                    prop_assert_eq!(store.get(path.clone()), get(&model, &path).cloned());
                }
            }
            prop_assert_eq!(store.all(), model.clone());
            prop_assert_eq!(snapshot.0.all(), snapshot.1);
        }
        let mut found: Vec<Vec<String>> =
            store.keys().iter().map(|it| it.segments().map(str::to_owned).collect()).collect();
        let mut expect = leaves(&model, &[]);
        found.sort();
        expect.sort();
        prop_assert_eq!(found, expect);
        let text = serde_json::to_string(&store).unwrap();
        let again: Stash = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(serde_json::to_string(&again).unwrap(), text);
        prop_assert!(again == store);
    }
}
