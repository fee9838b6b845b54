//! How much work it is to validate a value by a foreign schema.
//!
//! If a schema refers to another one twice, and that one does the same, and so on, validation visits a value
//! exponentially often. Such schemas are short, and servers that send them are not trusted.

use std::collections::HashMap;
use std::ptr;

use serde_json::{Map, Value};

use super::references::{IN_PLACE, REFERENCES, Targets};

/// Most schemas that are applied to one value and its parts.
const MAX_WORK: u64 = 1_000_000;

/// Most schemas that are applied inside one another.
const MAX_DEPTH: usize = 400;

/// Whether validating a value takes too long.
pub(super) fn is_too_much(schema: &Value, value: &Value) -> bool {
    let targets = Targets::new(schema);
    let mut count = WorkCount { targets: &targets, known: HashMap::new(), depth: 0 };
    count.count(schema, value) > MAX_WORK
}

/// Whether a part of a schema refers to another one.
pub(super) fn has_references(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            REFERENCES.iter().any(|key| members.contains_key(*key))
                || members.values().any(has_references)
        }
        Value::Array(elements) => elements.iter().any(has_references),
        _ => false,
    }
}

struct WorkCount<'w, 's> {
    targets: &'w Targets<'s>,
    /// The work of the target of a reference on a value, by where both are.
    known: HashMap<(*const Value, *const Value), u64>,
    /// How many schemas are around the one that is counted.
    depth: usize,
}

impl WorkCount<'_, '_> {
    /// How many schemas are applied, at most. Each pair of a target and a value is counted once, so that counting does not
    /// take as long as what it counts.
    fn count(&mut self, schema: &Value, value: &Value) -> u64 {
        let Value::Object(members) = schema else { return 1 };
        if self.depth >= MAX_DEPTH {
            return u64::MAX;
        }
        self.depth += 1;
        let work = self.count_members(members, value);
        self.depth -= 1;
        work
    }

    fn count_members(&mut self, members: &Map<String, Value>, value: &Value) -> u64 {
        let mut work = 1_u64;
        for (key, part) in members {
            if work > MAX_WORK {
                return work;
            }
            let key = key.as_str();
            let more = if let (true, Some(reference)) = (REFERENCES.contains(&key), part.as_str()) {
                self.count_reference(reference, value)
            } else if IN_PLACE.contains(&key) {
                self.count_all(part, value)
            } else {
                self.count_parts(key, part, value)
            };
            work = work.saturating_add(more);
        }
        // These look a second time at what the schemas next to them have looked at.
        let repeats = ["unevaluatedProperties", "unevaluatedItems"];
        let is_repeated = repeats.iter().any(|key| members.contains_key(*key));
        if is_repeated { work.saturating_mul(2) } else { work }
    }

    fn count_reference(&mut self, reference: &str, value: &Value) -> u64 {
        let Some(target) = self.targets.find(reference) else { return 1 };
        let pair = (ptr::from_ref(target), ptr::from_ref(value));
        if let Some(work) = self.known.get(&pair) {
            return *work;
        }
        if self.known.len() as u64 > MAX_WORK {
            return u64::MAX;
        }
        // A dynamic reference may seem to lead back to itself.
        self.known.insert(pair, 0);
        let work = self.count(target, value);
        self.known.insert(pair, work);
        work
    }

    /// The work of one schema or of a list of them, all on the same value.
    fn count_all(&mut self, schemas: &Value, value: &Value) -> u64 {
        match schemas {
            Value::Array(list) => self.sum(list.iter().map(|schema| (schema, value))),
            schema => self.count(schema, value),
        }
    }

    /// The work of a keyword that looks at parts of a value.
    fn count_parts(&mut self, key: &str, part: &Value, value: &Value) -> u64 {
        match (key, part, value) {
            ("dependentSchemas" | "dependencies", Value::Object(schemas), _) => {
                self.sum(schemas.values().map(|schema| (schema, value)))
            }
            ("properties", Value::Object(schemas), Value::Object(members)) => {
                self.sum(schemas.iter().filter_map(|(name, it)| Some((it, members.get(name)?))))
            }
            ("patternProperties", Value::Object(schemas), Value::Object(members)) => {
                self.count_products(schemas, members)
            }
            ("additionalProperties" | "unevaluatedProperties", _, Value::Object(members)) => {
                self.sum(members.values().map(|it| (part, it)))
            }
            ("items" | "prefixItems", Value::Array(schemas), Value::Array(elements)) => {
                self.sum(schemas.iter().zip(elements))
            }
            (
                "items" | "additionalItems" | "unevaluatedItems" | "contains",
                _,
                Value::Array(elements),
            ) => self.sum(elements.iter().map(|it| (part, it))),
            ("propertyNames", _, Value::Object(members)) => {
                let name = Value::String(String::new());
                self.count(part, &name).saturating_mul(members.len() as u64)
            }
            _ => 0,
        }
    }

    /// Which pattern fits which name is not looked at: all count.
    fn count_products(
        &mut self,
        schemas: &Map<String, Value>,
        members: &Map<String, Value>,
    ) -> u64 {
        let pairs = schemas.values().flat_map(|it| members.values().map(move |value| (it, value)));
        self.sum(pairs)
    }

    fn sum<'p>(&mut self, pairs: impl Iterator<Item = (&'p Value, &'p Value)>) -> u64 {
        let mut work = 0_u64;
        for (schema, value) in pairs {
            work = work.saturating_add(self.count(schema, value));
            if work > MAX_WORK {
                break;
            }
        }
        work
    }
}
