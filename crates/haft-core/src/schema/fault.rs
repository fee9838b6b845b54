//! What is wrong with a schema itself, found when a tool is built.

use std::fmt;

use serde_json::Value;

use super::check::{Checker, CoercionMode, SchemaPosition};
use super::rules::same_scalar;
use super::{Definitions, Field, IntegerRules, ObjectRules, Schema, Shape};
use crate::json::{Document, JsonWriter};

/// Something wrong with a definition, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaFault {
    /// Where in the definition: `input.units`, `name`.
    pub at: String,
    /// What is wrong.
    pub what: String,
}

impl SchemaFault {
    /// A fault of one part of a definition.
    #[must_use]
    pub fn new(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into() }
    }
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.at, self.what)
    }
}

/// Schemas nested deeper than this are refused; arguments could not be either.
const MAX_DEPTH: usize = crate::json::MAX_DEPTH / 2;

/// Every fault of a schema and its definitions.
pub(super) fn faults(root: &Schema, definitions: &Definitions) -> Vec<SchemaFault> {
    let mut finder = Finder { definitions, faults: Vec::new(), depth: 0 };
    if !matches!(root.shape, Shape::Object(_)) || root.nullable {
        finder.add("input", "the input schema of a tool must be an object");
    }
    finder.visit(root, "input");
    for (name, schema) in definitions {
        let at = format!("input.$defs.{name}");
        if matches!(schema.shape, Shape::Ref(_)) {
            finder.add(&at, "a definition must not be a bare reference");
        } else {
            finder.visit(schema, &at);
        }
    }
    finder.faults
}

struct Finder<'s> {
    definitions: &'s Definitions,
    faults: Vec<SchemaFault>,
    depth: usize,
}

impl Finder<'_> {
    fn add(&mut self, at: &str, what: impl Into<String>) {
        self.faults.push(SchemaFault::new(at, what));
    }

    fn visit(&mut self, schema: &Schema, at: &str) {
        if self.depth >= MAX_DEPTH {
            return self.add(at, format!("schemas nest at most {MAX_DEPTH} levels deep"));
        }
        self.depth += 1;
        self.shape(schema, at);
        self.depth -= 1;
    }

    fn shape(&mut self, schema: &Schema, at: &str) {
        let before = self.faults.len();
        match &schema.shape {
            Shape::Any | Shape::Boolean => {}
            Shape::String(rules) => {
                self.order(rules.min_length, rules.max_length, at);
                if let Some(fault) = rules.pattern.as_ref().and_then(|it| it.fault()) {
                    let text =
                        rules.pattern.as_ref().map(super::Pattern::as_str).unwrap_or_default();
                    self.add(at, format!("the pattern `{text}` cannot be used: {fault}"));
                }
            }
            Shape::Integer(rules) => {
                self.order(rules.min, rules.max, at);
                let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
                for bound in [rules.min, rules.max].into_iter().flatten() {
                    if !range.contains(&bound) {
                        self.add(at, format!("the bound {bound} does not fit 64 bits"));
                    }
                }
                if let Some(step) = rules.multiple_of {
                    self.step(rules, step, at);
                }
            }
            Shape::Number(rules) => {
                self.order(rules.min, rules.max, at);
                for (low, high) in
                    [(rules.above, rules.max), (rules.above, rules.below), (rules.min, rules.below)]
                {
                    if let (Some(low), Some(high)) = (low, high)
                        && low >= high
                    {
                        self.add(at, format!("no number lies between {low} and {high}"));
                    }
                }
                for bound in [rules.min, rules.max, rules.above, rules.below].into_iter().flatten()
                {
                    if !bound.is_finite() {
                        self.add(at, format!("the bound {bound} is not a finite number"));
                    }
                }
            }
            Shape::Enum(values) => self.choices(values, at),
            Shape::Array(rules) => {
                self.order(rules.min_items, rules.max_items, at);
                self.visit(&rules.items, &format!("{at}[]"));
                // Two elements could become equal after they were found to differ.
                if rules.unique && has_default(&rules.items, self.definitions, &mut Vec::new()) {
                    self.add(at, "elements of a list without repeats cannot have defaults inside");
                }
            }
            Shape::Tuple(places) => {
                for (index, schema) in places.iter().enumerate() {
                    self.visit(schema, &format!("{at}[{index}]"));
                }
            }
            Shape::Object(rules) => self.object(rules, at),
            Shape::Map(rules) => {
                self.order(rules.min_entries, rules.max_entries, at);
                self.visit(&rules.values, &format!("{at}.*"));
            }
            Shape::Union(rules) => {
                if rules.variants.is_empty() {
                    self.add(at, "a union needs at least one variant");
                }
                for name in &rules.repeated {
                    self.add(at, format!("the variant `{name}` is declared twice"));
                }
                for (name, variant) in &rules.variants {
                    self.visit(variant, &format!("{at}.{name}"));
                }
            }
            Shape::Ref(name) => {
                if !self.definitions.contains_key(name) {
                    self.add(at, format!("there is no definition `{name}`"));
                }
            }
        }
        // Values are only worth checking against a schema that is sound itself.
        if self.faults.len() == before {
            self.values(schema, at);
        }
    }

    fn object(&mut self, rules: &ObjectRules, at: &str) {
        for name in &rules.repeated {
            self.add(at, format!("the field `{name}` is declared twice"));
        }
        for (name, field) in &rules.fields {
            let place = format!("{at}.{name}");
            for alias in &field.aliases {
                if rules.fields.contains_key(alias) {
                    self.add(&place, format!("the alias `{alias}` is also a field"));
                }
            }
            if field.is_required() && field.schema.annotations.default.is_some() {
                self.add(&place, "a required field cannot have a default");
            }
            self.visit(&field.schema, &place);
        }
        self.shared_aliases(rules, at);
    }

    fn shared_aliases(&mut self, rules: &ObjectRules, at: &str) {
        let mut names: Vec<&String> =
            rules.fields.values().flat_map(|it: &Field| &it.aliases).collect();
        names.sort_unstable();
        for pair in names.windows(2) {
            if let [a, b] = pair
                && a == b
            {
                self.add(at, format!("the alias `{a}` is used twice"));
            }
        }
    }

    fn choices(&mut self, values: &[Value], at: &str) {
        if values.is_empty() {
            self.add(at, "an enumeration needs at least one value");
        }
        for (index, value) in values.iter().enumerate() {
            if value.is_array() || value.is_object() {
                self.add(at, format!("{value} is not a scalar"));
            }
            if values.iter().take(index).any(|earlier| same(earlier, value)) {
                self.add(at, format!("{value} is listed twice"));
            }
        }
    }

    fn step(&mut self, rules: &IntegerRules, step: u64, at: &str) {
        // Readers of JSON Schema take the step as a double.
        const EXACT: u64 = 1 << 53;
        match step {
            0 => return self.add(at, "nothing is a multiple of 0"),
            1..=EXACT => {}
            _ => return self.add(at, format!("the step {step} is above 2^53")),
        }
        if let (Some(min), Some(max)) = (rules.min, rules.max)
            && max.div_euclid(i128::from(step)) * i128::from(step) < min
        {
            self.add(at, format!("no multiple of {step} lies between {min} and {max}"));
        }
    }

    /// The default and the examples must be accepted: the model is shown them.
    fn values(&mut self, schema: &Schema, at: &str) {
        let annotations = &schema.annotations;
        let shown = annotations.default.iter().map(|value| ("default", value));
        let shown = shown.chain(annotations.examples.iter().map(|value| ("example", value)));
        for (word, value) in shown {
            let doc = document(value);
            let mut checker = Checker::new(self.definitions, CoercionMode::Strict);
            if !checker.check(schema, doc.root(), &SchemaPosition::ROOT) {
                let mut problem = checker.problems.into_iter().next();
                if let Some(problem) = &mut problem {
                    // It would be the very value that is refused.
                    problem.example = None;
                }
                let why = problem.map(|it| it.to_string()).unwrap_or_default();
                let why = why.strip_prefix("the arguments: ").unwrap_or(&why);
                self.add(at, format!("the {word} {value} is not accepted: {why}"));
            }
        }
    }

    fn order<N: PartialOrd + fmt::Display>(&mut self, min: Option<N>, max: Option<N>, at: &str) {
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            self.add(at, format!("the lower bound {min} is above the upper bound {max}"));
        }
    }
}

fn document(value: &Value) -> Document {
    let mut doc = JsonWriter::new();
    doc.value(value);
    doc.finish()
}

/// Whether two scalars are the same JSON value: `1` and `1.0` are.
fn same(a: &Value, b: &Value) -> bool {
    same_scalar(document(a).root(), b)
}

/// Whether a default lies somewhere inside the schema.
fn has_default<'s>(
    schema: &'s Schema,
    definitions: &'s Definitions,
    seen: &mut Vec<&'s str>,
) -> bool {
    let mut inside = |schema: &'s Schema| has_default(schema, definitions, seen);
    match &schema.shape {
        Shape::Array(rules) => inside(&rules.items),
        Shape::Map(rules) => inside(&rules.values),
        Shape::Tuple(places) => places.iter().any(inside),
        Shape::Union(rules) => rules.variants.values().any(inside),
        Shape::Object(rules) => rules
            .fields
            .values()
            .any(|field| field.schema.annotations.default.is_some() || inside(&field.schema)),
        Shape::Ref(name) if seen.contains(&name.as_str()) => false,
        Shape::Ref(name) => {
            seen.push(name);
            let target = definitions.get(name);
            target.is_some_and(|target| has_default(target, definitions, seen))
        }
        Shape::Any
        | Shape::Boolean
        | Shape::String(_)
        | Shape::Integer(_)
        | Shape::Number(_)
        | Shape::Enum(_) => false,
    }
}
