//! References inside a foreign schema: local ones are followed, and must not lead in a circle or too deep.

use std::collections::HashMap;

use serde_json::Value;

use super::ForeignSchemaError;

use crate::invariant::OrReport as _;

/// Keywords whose schemas look at the very same value.
pub(super) const IN_PLACE: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/// Keywords that refer to another schema.
pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Keywords whose values are data and never schemas.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// Most references that follow one another without looking at a part of the value in between.
const MAX_CHAIN: usize = 32;

/// Most levels of nesting, with references followed. The validator is built by recursion.
const MAX_LEVELS: usize = 512;

/// Refuses references to other documents, circles of references, and references that lead too deep.
pub(super) fn check(schema: &Value) -> Result<(), ForeignSchemaError> {
    let targets = Targets::new(schema);
    let mut walk = ReferenceWalk { targets: &targets, state: HashMap::new() };
    walk.visit_schemas(schema)?;
    let mut nesting = NestingWalk { targets: &targets, state: HashMap::new() };
    nesting.levels(schema, 0).map(|_| ())
}

/// What the references of a schema stand for.
#[derive(Debug)]
pub(super) struct Targets<'s> {
    root: &'s Value,
    anchors: HashMap<&'s str, &'s Value>,
}

impl<'s> Targets<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        let mut anchors = HashMap::new();
        collect_anchors(root, &mut anchors);
        Self { root, anchors }
    }

    /// The schema that a reference within the document stands for.
    pub(super) fn find(&self, reference: &str) -> Option<&'s Value> {
        let fragment = reference.strip_prefix('#')?;
        match fragment {
            "" => Some(self.root),
            _ if fragment.starts_with('/') || fragment.starts_with('%') => {
                let decoded = || self.root.pointer(&percent_decoded(fragment));
                self.root.pointer(fragment).or_else(decoded)
            }
            anchor => self.anchors.get(anchor).copied(),
        }
    }
}

/// Whether a reference names an anchor, and not a place.
fn is_anchor(reference: &Value) -> bool {
    let fragment = reference.as_str().and_then(|it| it.strip_prefix('#'));
    fragment.is_some_and(|it| !it.is_empty() && !it.starts_with(['/', '%']))
}

/// Collects the anchors of a schema. The nesting was bounded before.
fn collect_anchors<'s>(schema: &'s Value, anchors: &mut HashMap<&'s str, &'s Value>) {
    match schema {
        Value::Object(members) => {
            for key in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = members.get(key).and_then(Value::as_str) {
                    anchors.entry(name).or_insert(schema);
                }
            }
            members.values().for_each(|value| collect_anchors(value, anchors));
        }
        Value::Array(elements) => {
            elements.iter().for_each(|value| collect_anchors(value, anchors));
        }
        _ => {}
    }
}

/// What is known of the target of a reference.
#[derive(Clone, Copy, PartialEq)]
enum VisitState {
    Open,
    /// How deep it leads.
    Done(usize),
}

struct ReferenceWalk<'w, 's> {
    targets: &'w Targets<'s>,
    /// Targets of references that are being followed or are known to end.
    state: HashMap<&'s str, VisitState>,
}

impl<'s> ReferenceWalk<'_, 's> {
    /// Visits every place that can hold a schema. The nesting was bounded before.
    fn visit_schemas(&mut self, schema: &'s Value) -> Result<(), ForeignSchemaError> {
        match schema {
            Value::Object(members) => {
                self.in_place(schema, 0)?;
                let schemas = members.iter().filter(|(key, _)| !DATA.contains(&key.as_str()));
                schemas.map(|(_, value)| value).try_for_each(|value| self.visit_schemas(value))
            }
            Value::Array(elements) => {
                elements.iter().try_for_each(|value| self.visit_schemas(value))
            }
            _ => Ok(()),
        }
    }

    /// Follows what applies to the same value, and returns how many references follow one another. Coming back to an open
    /// reference is a circle.
    fn in_place(&mut self, schema: &'s Value, chain: usize) -> Result<usize, ForeignSchemaError> {
        let mut longest = 0;
        // What an anchor stands for may depend on where a dynamic reference is followed from.
        let dynamic = || schema.get("$dynamicRef").filter(|it| !is_anchor(it));
        let reference = schema.get("$ref").or_else(dynamic).and_then(Value::as_str);
        if let Some(reference) = reference {
            longest = self.follow_reference(reference, chain)?;
        }
        for key in IN_PLACE {
            let values: &[Value] = match schema.get(key) {
                Some(Value::Array(list)) => list,
                Some(value) => std::slice::from_ref(value),
                None => &[],
            };
            for value in values {
                longest = longest.max(self.in_place(value, chain)?);
            }
        }
        Ok(longest)
    }

    fn follow_reference(
        &mut self,
        reference: &'s str,
        chain: usize,
    ) -> Result<usize, ForeignSchemaError> {
        if !reference.starts_with('#') {
            // A reference by `$id` inside this document is rare; a standard dialect is built in.
            let known = reference.contains("json-schema.org/") || self.has_id(reference);
            let reference = reference.to_owned();
            return if known { Ok(1) } else { Err(ForeignSchemaError::External { reference }) };
        }
        let known = match self.state.get(reference) {
            Some(VisitState::Done(length)) => Some(*length),
            Some(VisitState::Open) => {
                let reference = reference.to_owned();
                return Err(ForeignSchemaError::Circular { reference });
            }
            None => None,
        };
        let too_long = chain.saturating_add(known.unwrap_or(1)) > MAX_CHAIN;
        if too_long {
            let what = format!("more than {MAX_CHAIN} references follow one another");
            return Err(ForeignSchemaError::TooLarge { what });
        }
        if let Some(length) = known {
            return Ok(length);
        }
        // What does not resolve here is left to the validator.
        let Some(target) = self.targets.find(reference) else { return Ok(1) };
        self.state.insert(reference, VisitState::Open);
        let length = self.in_place(target, chain + 1)?.saturating_add(1);
        self.state.insert(reference, VisitState::Done(length));
        Ok(length)
    }

    fn has_id(&self, reference: &str) -> bool {
        let name = reference.split('#').next().unwrap_or_default();
        let file = name.rsplit('/').next().unwrap_or_default();
        !file.is_empty() && holds_id(self.targets.root, file)
    }
}

/// Measures how deep a schema is with its references followed, each of them once on the way.
struct NestingWalk<'w, 's> {
    targets: &'w Targets<'s>,
    state: HashMap<&'s str, VisitState>,
}

impl<'s> NestingWalk<'_, 's> {
    /// How many levels a schema has. `above` are the levels around it.
    fn levels(&mut self, schema: &'s Value, above: usize) -> Result<usize, ForeignSchemaError> {
        if above > MAX_LEVELS {
            let what = format!("its references lead more than {MAX_LEVELS} levels deep");
            return Err(ForeignSchemaError::TooLarge { what });
        }
        let mut deepest = 0;
        match schema {
            Value::Object(members) => {
                for (key, value) in members {
                    let levels = match value.as_str() {
                        Some(reference) if REFERENCES.contains(&key.as_str()) => {
                            self.reference_levels(reference, above + 1)?
                        }
                        _ if DATA.contains(&key.as_str()) => 0,
                        _ => self.levels(value, above + 1)?,
                    };
                    deepest = deepest.max(levels);
                }
            }
            Value::Array(elements) => {
                for value in elements {
                    deepest = deepest.max(self.levels(value, above + 1)?);
                }
            }
            _ => {}
        }
        Ok(deepest.saturating_add(1))
    }

    fn reference_levels(
        &mut self,
        reference: &'s str,
        above: usize,
    ) -> Result<usize, ForeignSchemaError> {
        match self.state.get(reference) {
            // The validator does not follow a reference twice on its way.
            Some(VisitState::Open) => return Ok(0),
            Some(VisitState::Done(levels)) if above.saturating_add(*levels) <= MAX_LEVELS => {
                return Ok(*levels);
            }
            // It is looked at again, and then refused.
            _ => {}
        }
        let Some(target) = self.targets.find(reference) else { return Ok(0) };
        self.state.insert(reference, VisitState::Open);
        let levels = self.levels(target, above)?;
        self.state.insert(reference, VisitState::Done(levels));
        Ok(levels)
    }
}

fn holds_id(schema: &Value, file: &str) -> bool {
    match schema {
        Value::Object(members) => {
            let own =
                members.get("$id").and_then(Value::as_str).is_some_and(|id| id.ends_with(file));
            own || members.values().any(|value| holds_id(value, file))
        }
        Value::Array(elements) => elements.iter().any(|value| holds_id(value, file)),
        _ => false,
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let hex = |byte: Option<u8>| byte.and_then(|it| char::from(it).to_digit(16));
        match (byte, hex(ahead.next()), hex(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(
                    u8::try_from(high * 16 + low)
                        .or_report("two hexadecimal digits fit a byte", byte),
                );
                rest = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
