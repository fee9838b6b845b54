//! What is wrong with a schema itself, found when a tool is built.

use std::fmt;

use serde_json::Value;

use super::check::{Checker, CoercionMode, SchemaPosition};
use super::rules::same_scalar;
use super::{
    ArrayRules, Definitions, Field, IntegerRules, NumberRules, ObjectRules, Schema, Shape,
    StringRules, UnionRules,
};
use crate::json::{Document, JsonWriter};

/// Something wrong with a definition, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaFault {
    /// Where in the definition: `input.units`, `name`.
    pub at: FaultLocation,
    /// What is wrong.
    pub what: String,
}

impl SchemaFault {
    /// A fault of one part of a definition.
    #[must_use]
    pub fn new(at: FaultLocation, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.at, self.what)
    }
}

/// The part of a tool definition that a fault is in.
///
/// ```
/// use haft_core::schema::{FaultLocation, InputSchema, integer, object};
///
/// let faults = InputSchema::new(object().field("days", integer().min(3).max(1))).unwrap_err();
/// let at = &faults[0].at;
/// assert_eq!(at.to_string(), "input.days");
/// assert!(matches!(at, FaultLocation::Input { field: Some(name), .. } if name == "days"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultLocation {
    /// The name.
    Name,
    /// The description.
    Description,
    /// The input schema.
    Input {
        /// The field of the input that the fault is in; `None` for the schema as a whole and for its definitions.
        field: Option<String>,
        /// The path of the faulty schema: `input.days[]`.
        path: String,
    },
    /// The artifact kind.
    Artifact,
    /// The question of the approval.
    Approval,
    /// The concurrency class.
    Concurrency,
    /// The handler.
    Handler,
    /// The metadata at this dot path.
    Meta(String),
    /// The part of the definition's digest with this name.
    DefinitionPart(String),
    /// The query of this name, one of an artifact format.
    Query(String),
}

impl FaultLocation {
    /// The input schema as a whole.
    #[must_use]
    pub fn input() -> Self {
        Self::Input { field: None, path: INPUT.to_owned() }
    }
}

impl fmt::Display for FaultLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("name"),
            Self::Description => f.write_str("description"),
            Self::Input { path, .. } => f.write_str(path),
            Self::Artifact => f.write_str("artifact"),
            Self::Approval => f.write_str("approval"),
            Self::Concurrency => f.write_str("concurrency"),
            Self::Handler => f.write_str("handler"),
            Self::Meta(path) => write!(f, "meta.{path}"),
            Self::DefinitionPart(name) => write!(f, "definition.{name}"),
            Self::Query(name) => f.write_str(name),
        }
    }
}

/// The path of the input schema.
const INPUT: &str = "input";

/// Schemas nested deeper than this are refused; arguments could not be either.
const MAX_DEPTH: usize = crate::json::MAX_DEPTH / 2;

/// Every fault of a schema and its definitions.
pub(super) fn find_schema_faults(root: &Schema, definitions: &Definitions) -> Vec<SchemaFault> {
    let mut finder = FaultFinder { definitions, faults: Vec::new(), depth: 0, field: None };
    if !matches!(root.shape, Shape::Object(_)) || root.nullable {
        finder.add(INPUT, "the input schema of a tool must be an object");
    }
    finder.visit_schema(root, INPUT);
    for (name, schema) in definitions {
        let at = format!("{INPUT}.$defs.{name}");
        if matches!(schema.shape, Shape::Ref(_)) {
            finder.add(&at, "a definition must not be a bare reference");
        } else {
            finder.visit_schema(schema, &at);
        }
    }
    finder.faults
}

struct FaultFinder<'s> {
    definitions: &'s Definitions,
    faults: Vec<SchemaFault>,
    depth: usize,
    /// The field of the input that is being visited.
    field: Option<&'s str>,
}

impl<'s> FaultFinder<'s> {
    fn add(&mut self, at: &str, what: impl Into<String>) {
        let field = self.field.map(str::to_owned);
        let at = FaultLocation::Input { field, path: at.to_owned() };
        self.faults.push(SchemaFault::new(at, what));
    }

    fn visit_schema(&mut self, schema: &'s Schema, at: &str) {
        if self.depth >= MAX_DEPTH {
            return self.add(at, format!("schemas nest at most {MAX_DEPTH} levels deep"));
        }
        self.depth += 1;
        let before = self.faults.len();
        self.check_shape(&schema.shape, at);
        // Values are only worth checking against a schema that is sound itself.
        if self.faults.len() == before {
            self.check_default_and_examples(schema, at);
        }
        self.depth -= 1;
    }

    fn check_shape(&mut self, shape: &'s Shape, at: &str) {
        match shape {
            Shape::Any | Shape::Boolean => {}
            Shape::String(rules) => self.check_string(rules, at),
            Shape::Integer(rules) => self.check_integer(rules, at),
            Shape::Number(rules) => self.check_number(rules, at),
            Shape::Enum(values) => self.check_enum(values, at),
            Shape::Array(rules) => self.check_array(rules, at),
            Shape::Tuple(elements) => {
                for (index, schema) in elements.iter().enumerate() {
                    self.visit_schema(schema, &format!("{at}[{index}]"));
                }
            }
            Shape::Object(rules) => self.check_object(rules, at),
            Shape::Map(rules) => {
                self.check_bounds(rules.min_entries, rules.max_entries, at);
                self.visit_schema(&rules.values, &format!("{at}.*"));
            }
            Shape::Union(rules) => self.check_union(rules, at),
            Shape::Ref(name) => {
                if !self.definitions.contains_key(name) {
                    self.add(at, format!("there is no definition `{name}`"));
                }
            }
        }
    }

    fn check_string(&mut self, rules: &StringRules, at: &str) {
        self.check_bounds(rules.min_length, rules.max_length, at);
        if let Some(pattern) = &rules.pattern
            && let Some(fault) = pattern.fault()
        {
            let text = pattern.as_str();
            self.add(at, format!("the pattern `{text}` cannot be used: {fault}"));
        }
    }

    fn check_integer(&mut self, rules: &IntegerRules, at: &str) {
        self.check_bounds(rules.min, rules.max, at);
        let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
        for bound in [rules.min, rules.max].into_iter().flatten() {
            if !range.contains(&bound) {
                self.add(at, format!("the bound {bound} does not fit 64 bits"));
            }
        }
        if let Some(step) = rules.multiple_of {
            self.check_multiple_of(rules, step, at);
        }
    }

    fn check_number(&mut self, rules: &NumberRules, at: &str) {
        self.check_bounds(rules.min, rules.max, at);
        for (low, high) in
            [(rules.above, rules.max), (rules.above, rules.below), (rules.min, rules.below)]
        {
            if let (Some(low), Some(high)) = (low, high)
                && low >= high
            {
                self.add(at, format!("no number lies between {low} and {high}"));
            }
        }
        for bound in [rules.min, rules.max, rules.above, rules.below].into_iter().flatten() {
            if !bound.is_finite() {
                self.add(at, format!("the bound {bound} is not a finite number"));
            }
        }
    }

    fn check_array(&mut self, rules: &'s ArrayRules, at: &str) {
        self.check_bounds(rules.min_items, rules.max_items, at);
        self.visit_schema(&rules.items, &format!("{at}[]"));
        // Two elements could become equal after they were found to differ.
        if rules.unique && has_default(&rules.items, self.definitions, &mut Vec::new()) {
            self.add(at, "elements of a list without repeats cannot have defaults inside");
        }
    }

    fn check_union(&mut self, rules: &'s UnionRules, at: &str) {
        if rules.variants.is_empty() {
            self.add(at, "a union needs at least one variant");
        }
        for name in &rules.repeated {
            self.add(at, format!("the variant `{name}` is declared twice"));
        }
        for (name, variant) in &rules.variants {
            let place = format!("{at}.{name}");
            if !has_tag(variant.resolve(self.definitions), &rules.tag, name) {
                let tag = &rules.tag;
                self.add(
                    &place,
                    format!("a variant is an object whose `{tag}` must be \"{name}\""),
                );
                continue;
            }
            self.visit_schema(variant, &place);
        }
    }

    fn check_object(&mut self, rules: &'s ObjectRules, at: &str) {
        for name in &rules.repeated {
            self.add(at, format!("the field `{name}` is declared twice"));
        }
        for (name, field) in &rules.fields {
            if at == INPUT {
                self.field = Some(name);
            }
            let place = format!("{at}.{name}");
            for alias in &field.aliases {
                if rules.fields.contains_key(alias) {
                    self.add(&place, format!("the alias `{alias}` is also a field"));
                }
            }
            if field.is_required() && field.schema.annotations.default.is_some() {
                self.add(&place, "a required field cannot have a default");
            }
            self.visit_schema(&field.schema, &place);
        }
        if at == INPUT {
            self.field = None;
        }
        self.check_shared_aliases(rules, at);
    }

    fn check_shared_aliases(&mut self, rules: &ObjectRules, at: &str) {
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

    fn check_enum(&mut self, values: &[Value], at: &str) {
        if values.is_empty() {
            self.add(at, "an enumeration needs at least one value");
        }
        for (index, value) in values.iter().enumerate() {
            if value.is_array() || value.is_object() {
                self.add(at, format!("{value} is not a scalar"));
            }
            if values.iter().take(index).any(|earlier| is_same_scalar(earlier, value)) {
                self.add(at, format!("{value} is listed twice"));
            }
        }
    }

    fn check_multiple_of(&mut self, rules: &IntegerRules, step: u64, at: &str) {
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
    fn check_default_and_examples(&mut self, schema: &Schema, at: &str) {
        let annotations = &schema.annotations;
        let shown = annotations.default.iter().map(|value| ("default", value));
        let shown = shown.chain(annotations.examples.iter().map(|value| ("example", value)));
        for (word, value) in shown {
            let doc = to_document(value);
            let mut checker = Checker::new(self.definitions, CoercionMode::Strict);
            if !checker.check(schema, doc.root(), &SchemaPosition::ROOT) {
                let mut problem = checker.problems.into_parts().0.into_iter().next();
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

    fn check_bounds<N: PartialOrd + fmt::Display>(
        &mut self,
        min: Option<N>,
        max: Option<N>,
        at: &str,
    ) {
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            self.add(at, format!("the lower bound {min} is above the upper bound {max}"));
        }
    }
}

pub(super) fn to_document(value: &Value) -> Document {
    let mut doc = JsonWriter::new();
    doc.value(value);
    doc.finish()
}

/// Whether two scalars are the same JSON value: `1` and `1.0` are.
fn is_same_scalar(a: &Value, b: &Value) -> bool {
    same_scalar(to_document(a).root(), b)
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

/// Whether a variant of a union is an object that must have its tag.
fn has_tag(variant: &Schema, tag: &str, name: &str) -> bool {
    let Shape::Object(rules) = &variant.shape else { return false };
    rules.fields.get(tag).is_some_and(|field| {
        let Shape::Enum(values) = &field.schema.shape else { return false };
        field.is_required() && values.iter().any(|value| value == name)
    })
}
