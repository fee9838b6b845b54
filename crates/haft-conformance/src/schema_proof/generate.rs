//! Values for a schema: valid ones, and ones that nearly are.

use serde_json::{Map, Value};

use super::random::Random;
use super::scalars::with_exact_numbers;
use haft_core::json::{Document, canonical_text};
use haft_core::schema::{
    ArrayRules, Definitions, Field, MapRules, ObjectRules, Schema, Shape, UnknownFields,
};

/// Draws JSON values for schemas. The same seed gives the same values.
///
/// Every number it draws is spelled exactly by its own text, so that readers of text and readers of
/// doubles see the same number.
///
/// ```
/// use haft_core::schema::{Definitions, InputSchema, integer, object};
/// use haft_conformance::Generator;
/// use haft_core::{RawArgs, args::Strictness};
///
/// let schema = object().field("days", integer().min(1).max(14).required()).into();
/// let value = Generator::new(7).valid(&schema, &Definitions::new()).unwrap();
/// let input = InputSchema::new(schema).unwrap();
/// assert!(input.accept("forecast", &RawArgs::value(&value), Strictness::Strict).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct Generator {
    pub(super) random: Random,
}

/// How deep values of recursive schemas grow before they are kept as small as possible.
const DEEP: usize = 5;

/// A schema whose smallest value is deeper than this gets none.
const TOO_DEEP: usize = 24;

/// Keys of maps and keys that no schema declares.
const KEYS: [&str; 12] =
    ["a", "b", "key", "KEY", "", "a/b", "m~n", "ünï", "😀", "$ref", "__proto__", "with space"];

impl Generator {
    /// A generator that repeats itself for the same seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { random: Random::new(seed) }
    }

    /// A value that the schema accepts, or `None` if none was found, as for a pattern that is hard to
    /// satisfy. An example in the schema helps: examples are drawn too.
    #[must_use]
    pub fn valid(&mut self, schema: &Schema, definitions: &Definitions) -> Option<Value> {
        self.valid_at(schema, definitions, 0)
    }

    /// A value that is close to what the schema accepts: mostly a valid one with one thing wrong
    /// somewhere. Now and then it is still valid.
    #[must_use]
    pub fn near_miss(&mut self, schema: &Schema, definitions: &Definitions) -> Value {
        if self.random.once_in(16) {
            return self.draw_any(1);
        }
        let mut value = match self.valid(schema, definitions) {
            Some(value) => value,
            None => self.draw_near_miss(schema, definitions, 0),
        };
        for _ in 0..self.random.next_between(1, 2) {
            value = self.spoil_value(schema, definitions, value);
        }
        value
    }

    pub(super) fn valid_at(
        &mut self,
        schema: &Schema,
        definitions: &Definitions,
        depth: usize,
    ) -> Option<Value> {
        if depth > TOO_DEEP {
            return None;
        }
        let annotations = &schema.annotations;
        if schema.nullable && (depth > DEEP || self.random.once_in(4)) {
            return Some(Value::Null);
        }
        let shown = annotations.examples.iter().chain(&annotations.default);
        let shown: Vec<&Value> = shown.collect();
        if !shown.is_empty() && self.random.once_in(6) {
            return self.random.pick(&shown).map(|value| with_exact_numbers((*value).clone()));
        }
        let found = match &schema.shape {
            Shape::Any => Some(self.draw_any(2)),
            Shape::Boolean => Some(Value::Bool(self.random.once_in(2))),
            Shape::String(rules) => self.draw_string(rules),
            Shape::Integer(rules) => self.draw_integer(rules),
            Shape::Number(rules) => self.draw_number(rules),
            Shape::Enum(values) => {
                let value = self.random.pick(values).cloned().map(with_exact_numbers);
                value.map(|value| self.respell_number(value))
            }
            Shape::Array(rules) => self.draw_array(rules, definitions, depth),
            Shape::Tuple(places) => {
                places.iter().map(|it| self.valid_at(it, definitions, depth + 1)).collect()
            }
            Shape::Object(rules) => self.draw_object(rules, definitions, depth),
            Shape::Map(rules) => self.draw_map(rules, definitions, depth),
            Shape::Union(rules) => {
                let variant = self.random.next_below(rules.variants.len());
                let (_, variant) = rules.variants.get_index(variant)?;
                self.valid_at(variant, definitions, depth + 1)
            }
            Shape::Ref(name) => self.valid_at(definitions.get(name)?, definitions, depth + 1),
            // Shapes that are added to the core are added here.
            _ => None,
        };
        found.or_else(|| {
            schema.nullable.then_some(Value::Null).or_else(|| {
                self.random.pick(&shown).map(|value| with_exact_numbers((*value).clone()))
            })
        })
    }

    fn draw_array(
        &mut self,
        rules: &ArrayRules,
        definitions: &Definitions,
        depth: usize,
    ) -> Option<Value> {
        let count = self.draw_length(rules.min_items, rules.max_items, depth);
        let least = rules.min_items.unwrap_or_default();
        let mut list: Vec<Value> = Vec::new();
        let mut tries = 4 * count;
        while list.len() < count && tries > 0 {
            tries -= 1;
            match self.valid_at(&rules.items, definitions, depth + 1) {
                Some(value) if rules.unique && list.iter().any(|it| is_same_value(it, &value)) => {}
                Some(value) => list.push(value),
                None if list.len() < least => return None,
                None => break,
            }
        }
        (list.len() >= least).then_some(Value::Array(list))
    }

    fn draw_object(
        &mut self,
        rules: &ObjectRules,
        definitions: &Definitions,
        depth: usize,
    ) -> Option<Value> {
        let mut members = Map::new();
        for (name, field) in &rules.fields {
            if !field.is_required() && (depth > DEEP || self.random.once_in(2)) {
                continue;
            }
            match self.valid_at(&field.schema, definitions, depth + 1) {
                Some(value) => members.insert(name.clone(), value),
                None if field.is_required() => return None,
                None => continue,
            };
        }
        if rules.unknown == UnknownFields::Allow && self.random.once_in(2) {
            let key = self.draw_key();
            if !rules.fields.contains_key(&key) {
                let value = self.draw_any(1);
                members.insert(key, value);
            }
        }
        Some(Value::Object(members))
    }

    fn draw_map(
        &mut self,
        rules: &MapRules,
        definitions: &Definitions,
        depth: usize,
    ) -> Option<Value> {
        let count = self.draw_length(rules.min_entries, rules.max_entries, depth);
        let least = rules.min_entries.unwrap_or_default();
        let mut members = Map::new();
        while members.len() < count {
            match self.valid_at(&rules.values, definitions, depth + 1) {
                Some(value) => members.insert(self.fresh_key(&members), value),
                None if members.len() < least => return None,
                None => break,
            };
        }
        Some(Value::Object(members))
    }

    fn draw_length(&mut self, min: Option<usize>, max: Option<usize>, depth: usize) -> usize {
        let least = min.unwrap_or_default();
        let most = max.unwrap_or(usize::MAX).min(least.saturating_add(3));
        if depth > DEEP { least } else { self.random.next_between(least, most) }
    }

    pub(super) fn draw_key(&mut self) -> String {
        self.random.pick(&KEYS).copied().unwrap_or_default().to_owned()
    }

    /// A key that the object does not have.
    pub(super) fn fresh_key(&mut self, members: &Map<String, Value>) -> String {
        let mut key = self.draw_key();
        while members.contains_key(&key) {
            key.push(self.draw_character());
        }
        key
    }

    /// Something that looks like the schema where no valid value was found.
    fn draw_near_miss(
        &mut self,
        schema: &Schema,
        definitions: &Definitions,
        depth: usize,
    ) -> Value {
        if depth > DEEP {
            return self.draw_any(0);
        }
        if let Some(value) = self.valid_at(schema, definitions, depth) {
            return value;
        }
        match &schema.resolve(definitions).shape {
            Shape::Object(rules) => {
                let member = |(name, field): (&String, &Field)| {
                    (name.clone(), self.draw_near_miss(&field.schema, definitions, depth + 1))
                };
                Value::Object(rules.fields.iter().map(member).collect())
            }
            Shape::Array(rules) => {
                Value::Array(vec![self.draw_near_miss(&rules.items, definitions, depth + 1)])
            }
            Shape::Tuple(places) => {
                places.iter().map(|it| self.draw_near_miss(it, definitions, depth + 1)).collect()
            }
            Shape::String(_) => Value::from(self.draw_text(3)),
            _ => self.draw_any(0),
        }
    }

    /// Any JSON value, with lists and objects nested `levels` deep at most.
    pub(super) fn draw_any(&mut self, levels: usize) -> Value {
        let kinds = if levels == 0 { 6 } else { 8 };
        match self.random.next_below(kinds) {
            0 => Value::Null,
            1 => Value::Bool(self.random.once_in(2)),
            2 | 3 => self.any_number(),
            4 | 5 => {
                let length = self.random.next_below(8);
                Value::from(self.draw_text(length))
            }
            6 => (0..self.random.next_below(4)).map(|_| self.draw_any(levels - 1)).collect(),
            _ => {
                let count = self.random.next_below(4);
                let member = |_| (self.draw_key(), self.draw_any(levels - 1));
                Value::Object((0..count).map(member).collect())
            }
        }
    }
}

/// Whether two values are the same JSON value: `1` and `1.0` are.
pub(super) fn is_same_value(a: &Value, b: &Value) -> bool {
    match (Document::from_value(a), Document::from_value(b)) {
        (Ok(a), Ok(b)) => canonical_text(a.root()) == canonical_text(b.root()),
        _ => false,
    }
}
