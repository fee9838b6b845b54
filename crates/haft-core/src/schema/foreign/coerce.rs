//! Coercion for foreign schemas: the validator says where a value is wrong and what it should be. A coerced value is
//! used only if the validator then accepts the whole.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use super::ForeignSchema;

use crate::json::Document;
use crate::schema::problem::{Change, ChangeKind};

/// A coerced list can show further misses inside it.
const MAX_ROUNDS: usize = 3;

/// Coerces a value. Returns it with the changes if the validator accepts the result.
pub(super) fn coerce(schema: &ForeignSchema, value: &Value) -> Option<(Value, Vec<Change>)> {
    let mut changes = Vec::new();
    let mut value = match value {
        Value::String(text) => {
            changes.push(Change { pointer: String::new(), kind: ChangeKind::Json });
            parse_as(text, Value::is_object)?
        }
        other => other.clone(),
    };
    if !value.is_object() {
        return None;
    }
    for _ in 0..MAX_ROUNDS {
        // A text that became a list or an object may be more work than it was before.
        let validator = schema.validator_for(&value)?;
        if validator.is_valid(&value) {
            return Some((value, changes));
        }
        let mut fixes: Vec<(String, ValueFix)> = Vec::new();
        for error in validator.iter_errors(&value).take(64) {
            let pointer = error.instance_path().as_str();
            // Two keywords can complain about one value; one fix is enough.
            if !fixes.iter().any(|(at, _)| at == pointer)
                && let Some(fix) = propose_fix(error.kind(), error.instance())
            {
                fixes.push((pointer.to_owned(), fix));
            }
        }
        if fixes.is_empty() {
            return None;
        }
        for (pointer, (kind, fix)) in fixes {
            // A fix of this round may have moved the value; the next round finds it again.
            if apply_fix(&mut value, &pointer, fix).is_some() {
                changes.push(Change { pointer, kind });
            }
        }
    }
    schema.validator_for(&value)?.is_valid(&value).then_some((value, changes))
}

/// What to put in place of a value; nothing to remove it.
type ValueFix = (ChangeKind, Option<Value>);

fn propose_fix(kind: &ValidationErrorKind, found: &Value) -> Option<ValueFix> {
    match kind {
        ValidationErrorKind::Type { kind: TypeKind::Single(wanted) } => {
            propose_type_change(wanted.to_string().as_str(), found)
        }
        ValidationErrorKind::Enum { options } => {
            let text = found.as_str()?.trim().to_lowercase();
            let options = options.as_array()?;
            let mut close =
                options.iter().filter(|it| it.as_str().is_some_and(|it| it.to_lowercase() == text));
            match (close.next(), close.next()) {
                (Some(only), None) => Some((ChangeKind::Case, Some(only.clone()))),
                _ if text.is_empty() => Some((ChangeKind::Dropped, None)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn propose_type_change(wanted: &str, found: &Value) -> Option<ValueFix> {
    let text = found.as_str().map(str::trim);
    match (wanted, text) {
        (_, None) if found.is_null() => Some((ChangeKind::Dropped, None)),
        ("integer" | "number", Some(text)) if !text.is_empty() => {
            let number = Document::parse(text).ok()?.root().to_value();
            number.is_number().then_some((ChangeKind::Number, Some(number)))
        }
        ("boolean", Some(text)) if text.eq_ignore_ascii_case("true") => {
            Some((ChangeKind::Boolean, Some(Value::Bool(true))))
        }
        ("boolean", Some(text)) if text.eq_ignore_ascii_case("false") => {
            Some((ChangeKind::Boolean, Some(Value::Bool(false))))
        }
        ("object", Some(text)) if text.starts_with('{') => {
            Some((ChangeKind::Json, Some(parse_as(text, Value::is_object)?)))
        }
        ("array", Some(text)) if text.starts_with('[') => {
            Some((ChangeKind::Json, Some(parse_as(text, Value::is_array)?)))
        }
        ("array", text) if text != Some("") => {
            Some((ChangeKind::Wrapped, Some(Value::Array(vec![found.clone()]))))
        }
        (_, Some("")) => Some((ChangeKind::Dropped, None)),
        _ => None,
    }
}

fn parse_as(text: &str, wanted: fn(&Value) -> bool) -> Option<Value> {
    let (doc, _) = Document::parse_lenient(text).ok()?;
    let value = doc.root().to_value();
    (wanted(&value) && doc.duplicate_key().is_none()).then_some(value)
}

fn apply_fix(value: &mut Value, pointer: &str, fix: Option<Value>) -> Option<()> {
    match fix {
        Some(fix) => *value.pointer_mut(pointer)? = fix,
        None => {
            let (parent, key) = pointer.rsplit_once('/')?;
            let key = key.replace("~1", "/").replace("~0", "~");
            value.pointer_mut(parent)?.as_object_mut()?.remove(&key)?;
        }
    }
    Some(())
}
