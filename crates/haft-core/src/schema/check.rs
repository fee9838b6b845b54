//! The one pass that decides: walks arguments together with their schema, collects every problem, and
//! notes what coercion has to change. On valid arguments it allocates nothing.

use std::borrow::Cow;

use serde_json::Value;

use super::capped_list::CappedList;
use super::coerce::{CheckerMark, DocumentPatch, MAX_CHANGES, apply_patches};
use super::fault::to_document;
use super::problem::{Change, ChangeKind, MAX_LISTED, Problem, Rule, excerpt};
use super::rules::{BrokenRules, NONE_BROKEN, broken_length, has_repeats, is_listed};
use super::{
    ArrayRules, Definitions, Field, MapRules, ObjectRules, Schema, Shape, UnionRules, UnknownFields,
};
use crate::json::{ValueKind, ValueRef};

/// The longest key that a pointer spells out, in bytes. Longer ones are shortened.
const MAX_POINTER_KEY: usize = 1024;

/// Place of a value, as a list that lives on the stack. It becomes text only for a report.
#[derive(Clone, Copy, Debug)]
pub(super) struct SchemaPosition<'p> {
    parent: Option<&'p Self>,
    step: CheckStep<'p>,
}

#[derive(Clone, Copy, Debug)]
enum CheckStep<'p> {
    Root,
    Key(&'p str),
    Index(usize),
}

/// Whether near misses are coerced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CoercionMode {
    Coerce,
    Strict,
}

/// State of one pass over one document.
#[derive(Debug)]
pub(super) struct Checker<'s> {
    pub(super) definitions: &'s Definitions,
    pub(super) mode: CoercionMode,
    pub(super) problems: CappedList<Problem, MAX_LISTED>,
    pub(super) changes: CappedList<Change, MAX_CHANGES>,
    /// What has to change, by index of the value in the document that is being walked.
    pub(super) patches: Vec<(usize, DocumentPatch)>,
    /// How many strings-inside-strings deep the walk is.
    pub(super) nested: u32,
}

/// What became of a field's value.
enum FieldVerdict {
    Fine,
    Refused,
    /// Taken as absent.
    Dropped,
}

impl<'s> Checker<'s> {
    pub(super) fn new(definitions: &'s Definitions, mode: CoercionMode) -> Self {
        Self {
            definitions,
            mode,
            problems: CappedList::new(),
            changes: CappedList::new(),
            patches: Vec::new(),
            nested: 0,
        }
    }

    /// True when the value is accepted, as it is or with the patches that were noted.
    pub(super) fn check(
        &mut self,
        schema: &Schema,
        view: ValueRef<'_>,
        place: &SchemaPosition<'_>,
    ) -> bool {
        if view.is_null() && schema.nullable {
            return true;
        }
        if let Some(kind) = schema.shape.kind()
            && view.kind() != kind
        {
            return self.coerce_or_refuse(schema, view, place, Rule::Type);
        }
        let (mut fine, broken) = match &schema.shape {
            Shape::Any | Shape::Boolean => (true, NONE_BROKEN),
            Shape::String(rules) => (true, rules.broken_by(view)),
            Shape::Integer(rules) => (true, rules.broken_by(view)),
            Shape::Number(rules) => (true, rules.broken_by(view)),
            Shape::Enum(values) if is_listed(view, values) => (true, NONE_BROKEN),
            Shape::Enum(_) => return self.coerce_or_refuse(schema, view, place, Rule::Enum),
            Shape::Array(rules) => self.check_array(rules, view, place),
            Shape::Tuple(places) => self.check_tuple(places, view, place),
            Shape::Object(rules) => (self.check_object(rules, view, place), NONE_BROKEN),
            Shape::Map(rules) => self.check_map(rules, view, place),
            Shape::Union(rules) => (self.check_union(rules, view, place), NONE_BROKEN),
            Shape::Ref(name) => match self.definitions.get(name) {
                // The target of the reference does not know that `null` is allowed here.
                Some(_) if schema.nullable && self.coerce_null(view, place) => (true, NONE_BROKEN),
                Some(target) => return self.check(target, view, place),
                // Construction refuses dangling references.
                None => (true, [Some(Rule::Type), None]),
            },
        };
        for rule in broken.into_iter().flatten() {
            fine = self.refuse_value(schema, view, place, rule);
        }
        fine
    }

    fn check_array(
        &mut self,
        rules: &ArrayRules,
        view: ValueRef<'_>,
        place: &SchemaPosition<'_>,
    ) -> (bool, BrokenRules) {
        let mut fine = true;
        let before = self.patches.len();
        for (at, element) in view.elements().enumerate() {
            fine &= self.check(&rules.items, element, &place.index(at));
        }
        // Elements that differ can be the same once they are coerced: `1` and `"1"`.
        let repeats = match self.patches.get(before..) {
            _ if !rules.unique => false,
            Some(patches) if !patches.is_empty() => {
                has_repeats(apply_patches(view, patches.to_vec()).root())
            }
            _ => has_repeats(view),
        };
        let length = broken_length(view, rules.min_items, rules.max_items);
        (fine, [length, repeats.then_some(Rule::Unique)])
    }

    fn check_tuple(
        &mut self,
        places: &[Schema],
        view: ValueRef<'_>,
        place: &SchemaPosition<'_>,
    ) -> (bool, BrokenRules) {
        if view.len() != places.len() {
            return (true, [Some(Rule::Length), None]);
        }
        let mut fine = true;
        for (at, (element, schema)) in view.elements().zip(places).enumerate() {
            fine &= self.check(schema, element, &place.index(at));
        }
        (fine, NONE_BROKEN)
    }

    fn check_map(
        &mut self,
        rules: &MapRules,
        view: ValueRef<'_>,
        place: &SchemaPosition<'_>,
    ) -> (bool, BrokenRules) {
        let mut fine = true;
        for (key, value) in view.members() {
            fine &= self.check(&rules.values, value, &place.key(key));
        }
        (fine, [broken_length(view, rules.min_entries, rules.max_entries), None])
    }

    fn check_union(
        &mut self,
        rules: &UnionRules,
        view: ValueRef<'_>,
        place: &SchemaPosition<'_>,
    ) -> bool {
        let Some(tag) = view.get(&rules.tag) else {
            return self.refuse_missing_field(&rules.tag, &rules.tag_schema(), place);
        };
        let name = tag.as_str().unwrap_or_default();
        let variant = rules.variants.get(name).or_else(|| {
            let close = |(key, _): &(&String, &Schema)| key.eq_ignore_ascii_case(name.trim());
            let mut found = rules.variants.iter().filter(close);
            let first = found.next().filter(|_| self.mode == CoercionMode::Coerce)?;
            found.next().is_none().then_some(first.1)
        });
        match variant {
            Some(variant) => self.check(variant, view, place),
            None => self.refuse_value(&rules.tag_schema(), tag, &place.key(&rules.tag), Rule::Enum),
        }
    }

    fn check_object(
        &mut self,
        rules: &ObjectRules,
        view: ValueRef<'_>,
        place: &SchemaPosition<'_>,
    ) -> bool {
        let mut fine = true;
        let mut seen = SeenFields::new(rules.fields.len());
        // Models mostly send fields in the order of the schema: try the next one first.
        let mut next = 0;
        for (key, value) in view.members() {
            let expected = rules.fields.get_index(next).filter(|(name, _)| name.as_str() == key);
            let found = match expected {
                Some((_, field)) => Some((next, field)),
                None => rules.fields.get_full(key).map(|(at, _, field)| (at, field)),
            };
            let verdict = match found {
                Some((at, field)) => {
                    next = at + 1;
                    Some((at, self.check_field(key, field, value, place)))
                }
                None => self.check_alias((key, value), rules, view, place),
            };
            match verdict {
                Some((at, FieldVerdict::Fine)) => seen.insert(at),
                Some((_, FieldVerdict::Dropped)) => {}
                Some((at, FieldVerdict::Refused)) => {
                    fine = false;
                    seen.insert(at);
                }
                None => fine &= self.check_unknown_key(key, rules, place),
            }
        }
        if seen.count < rules.fields.len() {
            fine &= self.check_absent_fields(rules, &seen, view, place);
        }
        fine
    }

    fn check_field(
        &mut self,
        key: &str,
        field: &Field,
        value: ValueRef<'_>,
        place: &SchemaPosition<'_>,
    ) -> FieldVerdict {
        let mark = self.mark();
        let place = place.key(key);
        if self.check(&field.schema, value, &place) {
            return FieldVerdict::Fine;
        }
        if self.mode == CoercionMode::Strict || field.is_required() || !means_absent(value) {
            return FieldVerdict::Refused;
        }
        self.rollback(&mark);
        self.add_patch(value, DocumentPatch::Drop, ChangeKind::Dropped, &place);
        FieldVerdict::Dropped
    }

    /// A key that is another name of a field which is not there under its own name.
    fn check_alias(
        &mut self,
        (key, value): (&str, ValueRef<'_>),
        rules: &ObjectRules,
        object: ValueRef<'_>,
        place: &SchemaPosition<'_>,
    ) -> Option<(usize, FieldVerdict)> {
        if self.mode == CoercionMode::Strict {
            return None;
        }
        let at = rules.fields.values().position(|it| it.aliases.iter().any(|name| name == key))?;
        let (name, field) = rules.fields.get_index(at)?;
        // Where any key is welcome, this one is right as it is, unless the field has to be there.
        if rules.unknown == UnknownFields::Allow && !field.is_required() {
            return None;
        }
        let twice = object.members().filter(|(other, _)| {
            *other == name || field.aliases.iter().any(|alias| alias == other)
        });
        if twice.count() > 1 {
            return None;
        }
        self.add_patch(
            value,
            DocumentPatch::Rename(name.clone()),
            ChangeKind::Renamed(name.clone()),
            &place.key(key),
        );
        Some((at, self.check_field(key, field, value, place)))
    }

    fn check_unknown_key(
        &mut self,
        key: &str,
        rules: &ObjectRules,
        place: &SchemaPosition<'_>,
    ) -> bool {
        if rules.unknown == UnknownFields::Allow {
            return true;
        }
        self.problems.push_with(|| {
            let names: Vec<_> = rules.fields.keys().map(|name| format!("`{name}`")).collect();
            let expected = match nearest(key, rules.fields.keys().map(String::as_str)) {
                Some(name) => format!("did you mean `{name}`?"),
                None if names.is_empty() => "there are no fields here".to_owned(),
                None => format!("the fields are {}", names.join(", ")),
            };
            let found = "this field does not exist".to_owned();
            Problem::of(Rule::Unknown, place.key(key).pointer(), expected, found)
        });
        false
    }

    /// Fields that are not there: required ones are problems, others get their default.
    fn check_absent_fields(
        &mut self,
        rules: &ObjectRules,
        seen: &SeenFields,
        view: ValueRef<'_>,
        place: &SchemaPosition<'_>,
    ) -> bool {
        let mut fine = true;
        for (at, (name, field)) in rules.fields.iter().enumerate() {
            if seen.contains(at) {
                continue;
            }
            if let Some(default) = &field.schema.annotations.default {
                let default = self.complete_default(&field.schema, default);
                let patch = DocumentPatch::Append(name.clone(), default);
                self.add_patch(view, patch, ChangeKind::Default, &place.key(name));
            } else if field.is_required() {
                fine = self.refuse_missing_field(name, &field.schema, place);
            }
        }
        fine
    }

    /// A default with the defaults of the fields that it leaves out.
    fn complete_default(&self, schema: &Schema, default: &Value) -> Value {
        if !default.is_object() && !default.is_array() {
            return default.clone();
        }
        let document = to_document(default);
        let mut checker = Checker::new(self.definitions, CoercionMode::Strict);
        checker.check(schema, document.root(), &SchemaPosition::ROOT);
        if checker.patches.is_empty() {
            return default.clone();
        }
        apply_patches(document.root(), checker.patches).root().to_value()
    }

    fn refuse_missing_field(
        &mut self,
        name: &str,
        schema: &Schema,
        place: &SchemaPosition<'_>,
    ) -> bool {
        let definitions = self.definitions;
        self.problems.push_with(|| {
            let pointer = place.key(name).pointer();
            let expected = schema.expectation(definitions);
            let mut problem = Problem::of(Rule::Missing, pointer, expected, String::new());
            problem.example = schema.sample(definitions);
            problem
        });
        false
    }

    /// A value of the wrong kind: coerces it if there is one reading, refuses it otherwise.
    fn coerce_or_refuse(
        &mut self,
        schema: &Schema,
        view: ValueRef<'_>,
        place: &SchemaPosition<'_>,
        rule: Rule,
    ) -> bool {
        (self.mode == CoercionMode::Coerce && self.coerce_value(schema, view, place))
            || self.refuse_value(schema, view, place, rule)
    }

    /// Notes a problem; always false, for use as a tail expression.
    pub(super) fn refuse_value(
        &mut self,
        schema: &Schema,
        view: ValueRef<'_>,
        place: &SchemaPosition<'_>,
        rule: Rule,
    ) -> bool {
        let definitions = self.definitions;
        self.problems.push_with(|| {
            let found = match rule {
                Rule::Unique => "a list with repeats".to_owned(),
                _ => describe_value(view),
            };
            let expected = schema.expectation(definitions);
            let mut problem = Problem::of(rule, place.pointer(), expected, found);
            problem.example = schema.sample(definitions);
            problem
        });
        false
    }

    pub(super) fn mark(&self) -> CheckerMark {
        CheckerMark {
            problems: self.problems.count(),
            changes: self.changes.count(),
            patches: self.patches.len(),
        }
    }

    pub(super) fn rollback(&mut self, mark: &CheckerMark) {
        self.problems.truncate(mark.problems);
        self.changes.truncate(mark.changes);
        self.patches.truncate(mark.patches);
    }
}

impl UnionRules {
    /// What the tag field must be, for a report.
    fn tag_schema(&self) -> Schema {
        let names = self.variants.keys().map(|name| Value::from(name.as_str()));
        Schema::new(Shape::Enum(names.collect()))
    }
}

impl<'p> SchemaPosition<'p> {
    pub(super) const ROOT: SchemaPosition<'static> =
        SchemaPosition { parent: None, step: CheckStep::Root };

    pub(super) fn key(&'p self, key: &'p str) -> Self {
        Self { parent: Some(self), step: CheckStep::Key(key) }
    }

    pub(super) fn index(&'p self, index: usize) -> Self {
        Self { parent: Some(self), step: CheckStep::Index(index) }
    }

    /// The JSON pointer of this place.
    pub(super) fn pointer(&self) -> String {
        let mut text = self.parent.map(Self::pointer).unwrap_or_default();
        match self.step {
            CheckStep::Root => {}
            CheckStep::Key(key) => {
                text.push('/');
                // A place is repeated in every report of what lies below it.
                let key =
                    if key.len() > MAX_POINTER_KEY { excerpt(key).into() } else { Cow::from(key) };
                text.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            CheckStep::Index(index) => {
                text.push('/');
                text.push_str(itoa::Buffer::new().format(index));
            }
        }
        text
    }
}

/// Which fields have been seen; a machine word for all but very wide objects.
struct SeenFields {
    word: u64,
    wide: Vec<bool>,
    count: usize,
}

impl SeenFields {
    fn new(fields: usize) -> Self {
        let wide = if fields > 64 { vec![false; fields] } else { Vec::new() };
        Self { word: 0, wide, count: 0 }
    }

    fn insert(&mut self, at: usize) {
        if self.contains(at) {
            return;
        }
        self.count += 1;
        match self.wide.get_mut(at) {
            Some(slot) => *slot = true,
            None => self.word |= 1 << (at & 63),
        }
    }

    fn contains(&self, at: usize) -> bool {
        match self.wide.get(at) {
            Some(slot) => *slot,
            None => self.word & (1 << (at & 63)) != 0,
        }
    }
}

/// Values that models send when they mean "not given".
pub(super) fn means_absent(value: ValueRef<'_>) -> bool {
    value.is_null()
        || value.as_str().map(str::trim).is_some_and(|text| {
            text.is_empty()
                || text.eq_ignore_ascii_case("null")
                || text.eq_ignore_ascii_case("none")
        })
}

/// A value in a message: its kind, and its text if it is short.
fn describe_value(view: ValueRef<'_>) -> String {
    match view.kind() {
        ValueKind::Null => "null".to_owned(),
        ValueKind::Object => "an object".to_owned(),
        ValueKind::Array => format!("a list of {}", view.len()),
        ValueKind::String => format!("the string {}", excerpt(&view.to_string())),
        ValueKind::Boolean | ValueKind::Number => excerpt(&view.to_string()),
    }
}

/// The name that differs from `key` least, if it is close enough to be a slip.
///
/// ```
/// use haft_core::schema::nearest;
///
/// assert_eq!(nearest("ctiy", ["city", "days"].into_iter()), Some("city"));
/// assert_eq!(nearest("weather", ["city", "days"].into_iter()), None);
/// ```
#[must_use]
pub fn nearest<'n>(key: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    near_names(key, names).into_iter().next()
}

/// The names that are close enough to `key` to be what was meant, the closest first. At least half of the letters of a
/// name are in `key`, so that a name of one letter is never a guess.
pub(crate) fn near_names<'n>(key: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let key = key.chars().take(64).collect::<String>().to_lowercase();
    let is_near = |distance: usize, name: &str| {
        let letters = name.chars().count();
        distance <= 1 + letters / 4 && distance * 2 <= letters
    };
    let mut near: Vec<(usize, &str)> = names
        .map(|name| (edit_distance(&key, &name.to_lowercase()), name))
        .filter(|(distance, name)| is_near(*distance, name))
        .collect();
    // Stable: names that are equally close stay in their order.
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Edit distance; names are short.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let replace = diagonal + usize::from(x != *y);
            diagonal = *cell;
            left = replace.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
