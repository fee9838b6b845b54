//! References inside a foreign schema: local ones are followed, and must not lead in a circle.

use std::collections::HashMap;

use serde_json::Value;

use super::ForeignSchemaError;

use crate::invariant::OrReport as _;

/// Keywords whose schemas look at the very same value.
const IN_PLACE: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/// Keywords whose values are data and never schemas.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// Refuses references to other documents and circles of references.
pub(super) fn check(schema: &Value) -> Result<(), ForeignSchemaError> {
    let mut walk = ReferenceWalk { root: schema, state: HashMap::new() };
    walk.visit_schemas(schema)
}

#[derive(Clone, Copy, PartialEq)]
enum VisitState {
    Open,
    Done,
}

struct ReferenceWalk<'s> {
    root: &'s Value,
    /// Targets of references that are being followed or are known to end.
    state: HashMap<&'s str, VisitState>,
}

impl<'s> ReferenceWalk<'s> {
    /// Visits every place that can hold a schema. The nesting was bounded before.
    fn visit_schemas(&mut self, schema: &'s Value) -> Result<(), ForeignSchemaError> {
        match schema {
            Value::Object(members) => {
                self.in_place(schema)?;
                let schemas = members.iter().filter(|(key, _)| !DATA.contains(&key.as_str()));
                schemas.map(|(_, value)| value).try_for_each(|value| self.visit_schemas(value))
            }
            Value::Array(elements) => {
                elements.iter().try_for_each(|value| self.visit_schemas(value))
            }
            _ => Ok(()),
        }
    }

    /// Follows what applies to the same value. Coming back to an open reference is a circle.
    fn in_place(&mut self, schema: &'s Value) -> Result<(), ForeignSchemaError> {
        let reference = schema.get("$ref").or_else(|| schema.get("$dynamicRef"));
        if let Some(reference) = reference.and_then(Value::as_str) {
            self.follow_reference(reference)?;
        }
        for key in IN_PLACE {
            match schema.get(key) {
                Some(Value::Array(list)) => {
                    list.iter().try_for_each(|value| self.in_place(value))?;
                }
                Some(value) => self.in_place(value)?,
                None => {}
            }
        }
        Ok(())
    }

    fn follow_reference(&mut self, reference: &'s str) -> Result<(), ForeignSchemaError> {
        let Some(fragment) = reference.strip_prefix('#') else {
            // A reference by `$id` inside this document is rare; a standard dialect is built in.
            let known = reference.contains("json-schema.org/") || self.has_id(reference);
            let reference = reference.to_owned();
            return if known { Ok(()) } else { Err(ForeignSchemaError::External { reference }) };
        };
        match self.state.get(reference) {
            Some(VisitState::Done) => return Ok(()),
            Some(VisitState::Open) => {
                let reference = reference.to_owned();
                return Err(ForeignSchemaError::Circular { reference });
            }
            None => {}
        }
        let target =
            if fragment.is_empty() { Some(self.root) } else { self.reference_target(fragment) };
        // What does not resolve here (an anchor) is left to the validator.
        let Some(target) = target else { return Ok(()) };
        self.state.insert(reference, VisitState::Open);
        self.in_place(target)?;
        self.state.insert(reference, VisitState::Done);
        Ok(())
    }

    fn reference_target(&self, fragment: &str) -> Option<&'s Value> {
        self.root.pointer(fragment).or_else(|| self.root.pointer(&percent_decoded(fragment)))
    }

    fn has_id(&self, reference: &str) -> bool {
        let name = reference.split('#').next().unwrap_or_default();
        let file = name.rsplit('/').next().unwrap_or_default();
        !file.is_empty() && holds_id(self.root, file)
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
