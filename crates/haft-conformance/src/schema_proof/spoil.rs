//! One thing wrong: a valid value, changed at one place in a way that models and readers get wrong.

use serde_json::{Map, Value};

use super::generate::Generator;
use super::scalars::{exact_double, integer_value};
use haft_core::schema::{
    ArrayRules, Definitions, IntegerRules, NumberRules, ObjectRules, Schema, Shape, StringRules,
    UnionRules,
};

impl Generator {
    /// Changes the value at one place, at any depth.
    pub(super) fn spoil_value(
        &mut self,
        schema: &Schema,
        definitions: &Definitions,
        value: Value,
    ) -> Value {
        let schema = schema.resolve(definitions);
        if self.random.once_in(3) {
            return self.spoil_here(schema, definitions, value);
        }
        match (&schema.shape, value) {
            (Shape::Object(rules), Value::Object(members)) if !members.is_empty() => {
                let below = |key: &str| rules.fields.get(key).map(|field| &field.schema);
                self.spoil_member(below, definitions, members)
            }
            (Shape::Map(rules), Value::Object(members)) if !members.is_empty() => {
                self.spoil_member(|_| Some(&rules.values), definitions, members)
            }
            (Shape::Array(rules), Value::Array(elements)) if !elements.is_empty() => {
                self.spoil_element(|_| Some(&*rules.items), definitions, elements)
            }
            (Shape::Tuple(places), Value::Array(elements)) if !elements.is_empty() => {
                self.spoil_element(|at| places.get(at), definitions, elements)
            }
            (Shape::Union(rules), Value::Object(members)) if !self.random.once_in(3) => {
                let tag = members.get(&rules.tag).and_then(Value::as_str).unwrap_or_default();
                let value = Value::Object(members.clone());
                match rules.variants.get(tag) {
                    Some(variant) => self.spoil_value(variant, definitions, value),
                    None => self.spoil_here(schema, definitions, value),
                }
            }
            (_, value) => self.spoil_here(schema, definitions, value),
        }
    }

    fn spoil_member<'s>(
        &mut self,
        below: impl Fn(&str) -> Option<&'s Schema>,
        definitions: &Definitions,
        mut members: Map<String, Value>,
    ) -> Value {
        let at = self.random.next_below(members.len());
        if let Some((key, value)) = members.iter_mut().nth(at) {
            let old = value.take();
            *value = match below(key) {
                Some(schema) => self.spoil_value(schema, definitions, old),
                None => self.draw_any(1),
            };
        }
        Value::Object(members)
    }

    fn spoil_element<'s>(
        &mut self,
        below: impl Fn(usize) -> Option<&'s Schema>,
        definitions: &Definitions,
        mut elements: Vec<Value>,
    ) -> Value {
        let at = self.random.next_below(elements.len());
        if let Some((value, schema)) = elements.get_mut(at).zip(below(at)) {
            *value = self.spoil_value(schema, definitions, value.take());
        }
        Value::Array(elements)
    }

    fn spoil_here(&mut self, schema: &Schema, definitions: &Definitions, value: Value) -> Value {
        if self.random.once_in(3) {
            return self.with_other_type(value);
        }
        match (&schema.shape, value) {
            (Shape::String(rules), value) => self.spoil_string(rules, value),
            (Shape::Integer(rules), value) => self.spoil_integer(rules, &value),
            (Shape::Number(rules), value) => self.spoil_number(rules, &value),
            (Shape::Enum(_), value) => self.spoil_choice(value),
            (Shape::Array(rules), Value::Array(list)) => self.spoil_list(rules, definitions, list),
            (Shape::Tuple(_), Value::Array(list)) => self.spoil_tuple(list),
            (Shape::Object(rules), Value::Object(members)) => self.spoil_object(rules, members),
            (Shape::Map(_), Value::Object(members)) => self.spoil_map(members),
            (Shape::Union(rules), Value::Object(members)) => self.spoil_union(rules, members),
            (_, value) => self.with_other_type(value),
        }
    }

    /// The value as something else: its text, a list of it, nothing, anything.
    fn with_other_type(&mut self, value: Value) -> Value {
        match (self.random.next_below(6), value) {
            (0, _) => Value::Null,
            (1, value) => Value::Array(vec![value]),
            (2, Value::String(text)) => text.parse().unwrap_or(Value::String(text)),
            (2, value) => Value::from(value.to_string()),
            (3, Value::Array(list)) => list.into_iter().next().unwrap_or_default(),
            (3, Value::Object(members)) => members.into_values().collect(),
            (4, _) => Value::from(""),
            _ => self.draw_any(1),
        }
    }

    fn spoil_string(&mut self, rules: &StringRules, value: Value) -> Value {
        let length = match self.random.next_below(6) {
            0 => rules.min_length.unwrap_or_default().saturating_sub(1),
            1 => rules.min_length.unwrap_or_default(),
            2 => rules.max_length.unwrap_or(7),
            3 => rules.max_length.unwrap_or(7).saturating_add(1),
            4 => 0,
            _ => 600,
        };
        // A long limit is not worth a long text.
        let length = length.min(1000);
        match (self.random.next_below(4), value) {
            // As many code points, twice as many UTF-16 units, four times as many bytes.
            (0, _) => Value::from("😀".repeat(length)),
            (1, Value::String(text)) => Value::from(format!("{text}{}", self.draw_character())),
            (2, Value::String(text)) => {
                let cut = self.random.next_below(text.chars().count());
                let keep = |(at, it): (usize, char)| (at != cut).then_some(it);
                Value::from(text.chars().enumerate().filter_map(keep).collect::<String>())
            }
            _ => Value::from(self.draw_text(length)),
        }
    }

    fn spoil_integer(&mut self, rules: &IntegerRules, value: &Value) -> Value {
        let near = value.as_i64().map_or(0, i128::from);
        let spoiled = match self.random.next_below(9) {
            0 => rules.min.and_then(|min| integer_value(min - 1)),
            1 => rules.max.and_then(|max| integer_value(max + 1)),
            2 => integer_value(near + 1),
            3 => value.as_f64().and_then(|it| exact_double(it + 0.5)),
            4 => rules.max.and_then(|max| exact_double(as_double(max))),
            5 => rules.min.and_then(|min| exact_double(as_double(min).next_down())),
            6 => rules.max.and_then(|max| exact_double(as_double(max).next_up())),
            _ => None,
        };
        spoiled.unwrap_or_else(|| self.any_number())
    }

    fn spoil_number(&mut self, rules: &NumberRules, value: &Value) -> Value {
        let bounds = [rules.min, rules.max, rules.above, rules.below, value.as_f64()];
        let bounds: Vec<f64> = bounds.into_iter().flatten().collect();
        let spoiled =
            self.random.pick(&bounds).copied().and_then(|bound| match self.random.next_below(5) {
                0 => exact_double(bound.next_up()),
                1 => exact_double(bound.next_down()),
                2 => exact_double(bound),
                3 => exact_double(-bound),
                _ => None,
            });
        spoiled.unwrap_or_else(|| self.any_number())
    }

    fn spoil_choice(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => match self.random.next_below(4) {
                0 => Value::from(text.to_uppercase()),
                1 => Value::from(text.to_lowercase()),
                2 => Value::from(format!("{text} ")),
                _ => Value::from(format!("{text}{}", self.draw_character())),
            },
            Value::Bool(value) => Value::from(!value),
            Value::Number(number) => {
                let whole_number = match number.as_i64() {
                    Some(value) => Some(i128::from(value)),
                    None => {
                        number.as_f64().filter(|it| it.fract() == 0.0).map(to_integer_saturating)
                    }
                };
                let next = whole_number.and_then(|value| integer_value(value.saturating_add(1)));
                let next = next.or_else(|| number.as_f64().and_then(|it| exact_double(it + 1.0)));
                next.unwrap_or_default()
            }
            value => self.with_other_type(value),
        }
    }

    fn spoil_list(
        &mut self,
        rules: &ArrayRules,
        definitions: &Definitions,
        mut list: Vec<Value>,
    ) -> Value {
        match self.random.next_below(5) {
            0 => {
                list.pop();
            }
            1 => list.truncate(rules.min_items.unwrap_or_default().saturating_sub(1)),
            // A repeat, in the same or in another spelling.
            2 | 3 => {
                let twin = self.random.pick(&list).cloned();
                list.extend(twin.map(|it| self.respell_number(it)));
            }
            _ => {
                let most = rules.max_items.unwrap_or(2).min(64);
                while list.len() <= most {
                    let more = self.valid_at(&rules.items, definitions, 4);
                    list.push(more.unwrap_or_default());
                }
            }
        }
        Value::Array(list)
    }

    fn spoil_tuple(&mut self, mut list: Vec<Value>) -> Value {
        match self.random.next_below(3) {
            0 => {
                list.pop();
            }
            1 => list.extend(list.first().cloned()),
            _ => list.reverse(),
        }
        Value::Array(list)
    }

    fn spoil_object(&mut self, rules: &ObjectRules, mut members: Map<String, Value>) -> Value {
        let at = self.random.next_below(members.len());
        let chosen = members.keys().nth(at).cloned();
        match (self.random.next_below(5), chosen) {
            (0, Some(key)) => {
                members.remove(&key);
            }
            (1, Some(key)) => {
                let value = members.remove(&key).unwrap_or_default();
                let twisted = if self.random.once_in(2) { key.to_uppercase() } else { key + "s" };
                members.insert(twisted, value);
            }
            (2, _) => {
                let at = self.random.next_below(rules.fields.len());
                if let Some((name, _)) = rules.fields.get_index(at) {
                    members.insert(name.clone(), Value::Null);
                }
            }
            (3, _) => {
                let aliases = rules.fields.values().flat_map(|field| &field.aliases);
                let aliases: Vec<&String> = aliases.collect();
                if let Some(alias) = self.random.pick(&aliases) {
                    let value = members.values().next().cloned().unwrap_or_default();
                    members.insert((*alias).clone(), value);
                }
            }
            _ => {
                let value = self.draw_any(1);
                members.insert(self.fresh_key(&members), value);
            }
        }
        Value::Object(members)
    }

    fn spoil_map(&mut self, mut members: Map<String, Value>) -> Value {
        let last = members.iter().next_back().map(|(key, value)| (key.clone(), value.clone()));
        match last {
            Some((key, _)) if self.random.once_in(2) => {
                members.remove(&key);
            }
            last => {
                let value = last.map(|(_, value)| value).unwrap_or_default();
                for _ in 0..self.random.next_between(1, 6) {
                    members.insert(self.fresh_key(&members), value.clone());
                }
            }
        }
        Value::Object(members)
    }

    fn spoil_union(&mut self, rules: &UnionRules, mut members: Map<String, Value>) -> Value {
        let at = self.random.next_below(rules.variants.len());
        let other = rules.variants.get_index(at).map(|(name, _)| name.clone()).unwrap_or_default();
        match self.random.next_below(5) {
            0 => drop(members.remove(&rules.tag)),
            1 => drop(members.insert(rules.tag.clone(), Value::from(other))),
            2 => drop(members.insert(rules.tag.clone(), Value::from(other.to_uppercase()))),
            3 => drop(members.insert(rules.tag.clone(), Value::from(other + "s"))),
            _ => drop(members.insert(rules.tag.clone(), self.draw_any(0))),
        }
        Value::Object(members)
    }
}

/// A whole double as an integer.
#[expect(clippy::cast_possible_truncation, reason = "saturates")]
const fn to_integer_saturating(value: f64) -> i128 {
    value as i128
}

#[expect(clippy::cast_precision_loss, reason = "the nearest double is what is wanted")]
const fn as_double(value: i128) -> f64 {
    value as f64
}
