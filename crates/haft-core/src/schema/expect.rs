//! A schema in words: what it expects, and a value it would accept.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{Definitions, IntegerRules, NumberRules, Schema, Shape, StringRules};

/// How many allowed values a message lists.
const MAX_CHOICES: usize = 24;

impl Schema {
    /// What this schema accepts, as a noun phrase: `an integer from 1 to 14`.
    #[must_use]
    pub fn expectation(&self, definitions: &Definitions) -> String {
        self.expectation_within(definitions, 3)
    }

    /// Describes the elements of lists and maps up to a depth, because a list can contain itself.
    fn expectation_within(&self, definitions: &Definitions, depth: usize) -> String {
        let inner = |schema: &Self| match depth.checked_sub(1) {
            Some(depth) => schema.expectation_within(definitions, depth),
            None => "any value of its kind".to_owned(),
        };
        let mut text = match &self.resolve(definitions).shape {
            Shape::Any | Shape::Ref(_) => "any value".to_owned(),
            Shape::Boolean => "true or false".to_owned(),
            Shape::String(rules) => describe_string(rules),
            Shape::Integer(rules) => describe_integer(rules),
            Shape::Number(rules) => describe_number(rules),
            Shape::Enum(values) => describe_choices(values),
            Shape::Array(rules) => {
                let items = inner(&rules.items);
                let count = describe_count("element", rules.min_items, rules.max_items);
                let unique = if rules.unique { " without repeats" } else { "" };
                format!("a list{count}{unique}, each element {items}")
            }
            Shape::Tuple(places) => format!("a list of exactly {} elements", places.len()),
            Shape::Object(rules) => {
                let names: Vec<_> =
                    rules.fields.keys().take(MAX_CHOICES).map(|name| format!("`{name}`")).collect();
                match names.as_slice() {
                    [] => "an object".to_owned(),
                    names => format!("an object with {}", names.join(", ")),
                }
            }
            Shape::Map(rules) => {
                let count = describe_count("member", rules.min_entries, rules.max_entries);
                format!("an object{count}, each value {}", inner(&rules.values))
            }
            Shape::Union(rules) => {
                let names: Vec<_> =
                    rules.variants.keys().map(|it| Value::from(it.as_str())).collect();
                format!("an object whose `{}` is {}", rules.tag, describe_choices(&names))
            }
        };
        if self.nullable {
            text.push_str(" or null");
        }
        text
    }

    /// A value that this schema accepts, if one is easily found: an example, the default, or the
    /// smallest value that meets the constraints.
    #[must_use]
    pub fn sample(&self, definitions: &Definitions) -> Option<Value> {
        self.sample_within(definitions, 4)
    }

    fn sample_within(&self, definitions: &Definitions, depth: usize) -> Option<Value> {
        let noted = self.annotations.examples.first().or(self.annotations.default.as_ref());
        if let Some(value) = noted {
            return Some(value.clone());
        }
        let depth = depth.checked_sub(1)?;
        match &self.resolve(definitions).shape {
            Shape::Boolean => Some(Value::Bool(true)),
            Shape::String(rules) if rules.pattern.is_none() => {
                let fits = is_within(&4, rules.min_length.as_ref(), rules.max_length.as_ref());
                fits.then(|| Value::from("text"))
            }
            Shape::Integer(rules) if rules.multiple_of.is_none() => {
                let fits = is_within(&1, rules.min.as_ref(), rules.max.as_ref());
                let value = if fits { 1 } else { rules.min.or(rules.max)? };
                i64::try_from(value).ok().map(Value::from)
            }
            Shape::Number(rules) if rules.above.is_none() && rules.below.is_none() => {
                let fits = is_within(&1.5, rules.min.as_ref(), rules.max.as_ref());
                Some(Value::from(if fits { 1.5 } else { rules.min.or(rules.max)? }))
            }
            Shape::Enum(values) => values.first().cloned(),
            Shape::Array(rules)
                if rules.min_items.unwrap_or(1) <= 1 && rules.max_items != Some(0) =>
            {
                rules.items.sample_within(definitions, depth).map(|it| Value::Array(vec![it]))
            }
            Shape::Object(rules) => {
                let mut object = Map::new();
                for (name, field) in rules.fields.iter().filter(|(_, field)| field.is_required()) {
                    object.insert(name.clone(), field.schema.sample_within(definitions, depth)?);
                }
                Some(Value::Object(object))
            }
            Shape::Union(rules) => rules
                .variants
                .first()
                .and_then(|(_, variant)| variant.sample_within(definitions, depth)),
            _ => None,
        }
    }
}

fn is_within<N: PartialOrd>(value: &N, min: Option<&N>, max: Option<&N>) -> bool {
    min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max)
}

fn describe_string(rules: &StringRules) -> String {
    let mut text = match (rules.min_length, rules.max_length) {
        (Some(1), None) => "a non-empty string".to_owned(),
        (min, max) => format!("a string{}", describe_count("character", min, max)),
    };
    if let Some(pattern) = &rules.pattern {
        let _ = write!(text, " that matches {}", pattern.as_str());
    }
    text
}

fn describe_integer(rules: &IntegerRules) -> String {
    let mut text = "an integer".to_owned();
    // The edges of the machine's integers are no numbers to read.
    let edges = [i128::from(i64::MIN), i128::from(i64::MAX), i128::from(u64::MAX)];
    let told = |bound: Option<i128>| bound.filter(|it| !edges.contains(it));
    write_range(&mut text, told(rules.min), told(rules.max));
    if told(rules.min) != rules.min || told(rules.max) != rules.max {
        text.push_str(" that fits 64 bits");
    }
    if let Some(step) = rules.multiple_of {
        let _ = write!(text, ", a multiple of {step}");
    }
    text
}

fn describe_number(rules: &NumberRules) -> String {
    let mut text = "a number".to_owned();
    // The edges of a single are no numbers to read.
    let told = |bound: Option<f64>| bound.filter(|it| it.abs() != f64::from(f32::MAX));
    write_range(&mut text, told(rules.min), told(rules.max));
    if told(rules.min) != rules.min || told(rules.max) != rules.max {
        text.push_str(" that fits 32 bits");
    }
    if let Some(bound) = rules.above {
        let _ = write!(text, " above {bound}");
    }
    if let Some(bound) = rules.below {
        let _ = write!(text, " below {bound}");
    }
    text
}

fn write_range<N: std::fmt::Display>(text: &mut String, min: Option<N>, max: Option<N>) {
    let _ = match (min, max) {
        (Some(min), Some(max)) => write!(text, " from {min} to {max}"),
        (Some(min), None) => write!(text, " of at least {min}"),
        (None, Some(max)) => write!(text, " of at most {max}"),
        (None, None) => Ok(()),
    };
}

fn describe_count(unit: &str, min: Option<usize>, max: Option<usize>) -> String {
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    match (min, max) {
        (Some(min), Some(max)) if min == max => format!(" of exactly {min} {unit}{}", plural(min)),
        (Some(min), Some(max)) => format!(" of {min} to {max} {unit}s"),
        (Some(min), None) => format!(" of at least {min} {unit}{}", plural(min)),
        (None, Some(max)) => format!(" of at most {max} {unit}{}", plural(max)),
        (None, None) => String::new(),
    }
}

fn describe_choices(values: &[Value]) -> String {
    let shown: Vec<_> = values.iter().take(MAX_CHOICES).map(Value::to_string).collect();
    let more = values.len().saturating_sub(MAX_CHOICES);
    match (shown.as_slice(), more) {
        ([only], 0) => only.clone(),
        (shown, 0) => format!("one of {}", shown.join(", ")),
        (shown, more) => format!("one of {} and {more} more", shown.join(", ")),
    }
}
