//! Coercion of near misses: what models send, guided by what the schema asks for.
//!
//! Every rule here is lossless and has one reading. A value is changed only if it breaks the schema, and the result
//! must itself be accepted; otherwise the original value is refused.

use std::fmt::Write as _;

use serde_json::Value;

use super::check::{Checker, CoercionMode, SchemaPosition, means_absent};
use super::problem::{Change, ChangeKind};
use super::rules::same_scalar;
use super::{Schema, Shape};
use crate::invariant::OrReport as _;
use crate::json::{Document, JsonWriter, ValueKind, ValueRef};

/// The nesting of coercions, such as JSON inside a string inside a string or a value for a list of lists. Deeper
/// nesting is not a slip of the model.
const MAX_NESTED: u32 = 3;

/// How many changes of one call are listed.
pub(super) const MAX_CHANGES: usize = 1024;

/// The longest text that is compared with the values of a list without regard to case.
const MAX_CHOICE_BYTES: usize = 64 * 1024;

/// How many values of one call are coerced. Arguments with more near misses than this are refused without coercion.
const MAX_COERCIONS: usize = 100_000;

/// One change to a document, noted under the index of the value it concerns.
#[derive(Clone, Debug)]
pub(super) enum DocumentPatch {
    /// The value becomes this one.
    Replace(Document),
    /// The value and its key go.
    Drop,
    /// The value's key becomes this one.
    Rename(String),
    /// The object gets one more member.
    Append(String, Value),
}

/// A point to come back to when an attempt fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckerMark {
    pub(super) problems: usize,
    pub(super) changes: usize,
    pub(super) patches: usize,
}

impl Checker<'_> {
    /// Tries to coerce a value of the wrong kind. True when a patch was noted.
    pub(super) fn coerce_value(
        &mut self,
        schema: &Schema,
        view: ValueRef<'_>,
        place: &SchemaPosition<'_>,
    ) -> bool {
        if self.patches.len() >= MAX_COERCIONS {
            return false;
        }
        if schema.nullable && self.coerce_null(view, place) {
            return true;
        }
        let text = view.as_str().map(str::trim);
        match (&schema.shape, text) {
            (Shape::Boolean, Some(text)) => {
                let value = match () {
                    () if text.eq_ignore_ascii_case("true") => true,
                    () if text.eq_ignore_ascii_case("false") => false,
                    () => return false,
                };
                let value = scalar_document(&Value::Bool(value));
                self.add_patch(view, DocumentPatch::Replace(value), ChangeKind::Boolean, place);
                true
            }
            (Shape::Integer(_) | Shape::Number(_), Some(_)) => {
                self.coerce_text(schema, view, place, ValueKind::Number)
            }
            (Shape::Enum(values), Some(text)) => self.coerce_to_list(values, view, place, text),
            (Shape::Array(_) | Shape::Tuple(_), Some(text)) if text.starts_with('[') => {
                self.coerce_text(schema, view, place, ValueKind::Array)
            }
            (Shape::Array(_), _) if !means_absent(view) => {
                let mut list = JsonWriter::new();
                list.array(|out| {
                    out.view(view);
                });
                self.try_replacement(schema, view, place, (&list.finish(), ChangeKind::Wrapped))
            }
            (Shape::Object(_) | Shape::Map(_) | Shape::Union(_), Some(_)) => {
                self.coerce_text(schema, view, place, ValueKind::Object)
            }
            _ => false,
        }
    }

    /// The string `null`, where `null` is allowed.
    pub(super) fn coerce_null(&mut self, view: ValueRef<'_>, place: &SchemaPosition<'_>) -> bool {
        let spells_null =
            view.as_str().is_some_and(|text| text.trim().eq_ignore_ascii_case("null"));
        if spells_null && self.mode == CoercionMode::Coerce {
            let null = DocumentPatch::Replace(scalar_document(&Value::Null));
            self.add_patch(view, null, ChangeKind::Null, place);
            return true;
        }
        false
    }

    /// A string that holds the text of a value of the wanted kind.
    fn coerce_text(
        &mut self,
        schema: &Schema,
        view: ValueRef<'_>,
        place: &SchemaPosition<'_>,
        kind: ValueKind,
    ) -> bool {
        let text = view.as_str().unwrap_or_default().trim();
        let parsed = match kind {
            ValueKind::Number => Document::parse(text).ok(),
            _ => Document::parse_lenient(text).ok().map(|(doc, _)| doc),
        };
        let Some(doc) = parsed.filter(|doc| doc.root().kind() == kind) else { return false };
        if doc.duplicate_key().is_some() {
            return false;
        }
        let change = if kind == ValueKind::Number { ChangeKind::Number } else { ChangeKind::Json };
        self.try_replacement(schema, view, place, (&doc, change))
    }

    /// A string that differs from one allowed value only by case or by being spelled as a string.
    fn coerce_to_list(
        &mut self,
        values: &[Value],
        view: ValueRef<'_>,
        place: &SchemaPosition<'_>,
        text: &str,
    ) -> bool {
        // No allowed value is this long, and the text is folded and parsed once for all of them.
        if text.len() > MAX_CHOICE_BYTES {
            return false;
        }
        let folded = text.to_lowercase();
        let parsed = Document::parse(text).ok();
        let mut close = values.iter().filter(|value| match value {
            Value::String(name) => name.to_lowercase() == folded,
            _ => parsed.as_ref().is_some_and(|doc| same_scalar(doc.root(), value)),
        });
        let (Some(value), None) = (close.next(), close.next()) else { return false };
        let change = match value {
            Value::Number(_) => ChangeKind::Number,
            Value::Bool(_) => ChangeKind::Boolean,
            Value::Null => ChangeKind::Null,
            _ => ChangeKind::Case,
        };
        self.add_patch(view, DocumentPatch::Replace(scalar_document(value)), change, place);
        true
    }

    /// Checks a replacement like any other value; it may itself need coercion.
    fn try_replacement(
        &mut self,
        schema: &Schema,
        view: ValueRef<'_>,
        place: &SchemaPosition<'_>,
        (doc, change): (&Document, ChangeKind),
    ) -> bool {
        // A list that contains itself would be wrapped for ever.
        if self.nested >= MAX_NESTED {
            return false;
        }
        let mark = self.mark();
        self.changes.push_with(|| Change { pointer: place.pointer(), kind: change });
        let outer = std::mem::take(&mut self.patches);
        self.nested += 1;
        let fine = self.check(schema, doc.root(), place);
        self.nested -= 1;
        let inner = std::mem::replace(&mut self.patches, outer);
        if fine {
            self.patches
                .push((view.index(), DocumentPatch::Replace(apply_patches(doc.root(), inner))));
        } else {
            self.rollback(&mark);
        }
        fine
    }

    pub(super) fn add_patch(
        &mut self,
        view: ValueRef<'_>,
        patch: DocumentPatch,
        change: ChangeKind,
        place: &SchemaPosition<'_>,
    ) {
        self.changes.push_with(|| Change { pointer: place.pointer(), kind: change });
        self.patches.push((view.index(), patch));
    }
}

fn scalar_document(value: &Value) -> Document {
    let mut out = JsonWriter::new();
    out.value(value);
    out.finish()
}

/// A copy of the value with all patches applied.
pub(super) fn apply_patches(
    view: ValueRef<'_>,
    mut patches: Vec<(usize, DocumentPatch)>,
) -> Document {
    patches.sort_by_key(|(at, _)| *at);
    let mut out = JsonWriter::new();
    copy_patched(view, &patches, &mut out);
    out.finish()
}

fn copy_patched(view: ValueRef<'_>, patches: &[(usize, DocumentPatch)], out: &mut JsonWriter) {
    let own = patches_at(patches, view.index());
    if let Some(doc) = own.iter().find_map(|(_, patch)| match patch {
        DocumentPatch::Replace(doc) => Some(doc),
        _ => None,
    }) {
        out.view(doc.root());
        return;
    }
    match view.kind() {
        ValueKind::Array => {
            out.array(|out| {
                for element in view.elements() {
                    copy_patched(element, patches, out);
                }
            });
        }
        ValueKind::Object => {
            out.object(|out| {
                for (key, value) in view.members() {
                    let mut key = key;
                    let mut dropped = false;
                    for (_, patch) in patches_at(patches, value.index()) {
                        match patch {
                            DocumentPatch::Rename(name) => key = name,
                            DocumentPatch::Drop => dropped = true,
                            DocumentPatch::Replace(_) | DocumentPatch::Append(..) => {}
                        }
                    }
                    if !dropped {
                        out.key(key);
                        copy_patched(value, patches, out);
                    }
                }
                for (_, patch) in own {
                    if let DocumentPatch::Append(key, value) = patch {
                        out.key(key).value(value);
                    }
                }
            });
        }
        _ => {
            out.view(view);
        }
    }
}

fn patches_at(patches: &[(usize, DocumentPatch)], index: usize) -> &[(usize, DocumentPatch)] {
    let from = patches.partition_point(|(at, _)| *at < index);
    let to = patches.partition_point(|(at, _)| *at <= index);
    patches.get(from..to).or_report_default("patches are sorted by index")
}

/// Keys under which models wrap the arguments.
const WRAPPERS: [&str; 9] = [
    "arguments",
    "args",
    "parameters",
    "params",
    "input",
    "inputs",
    "kwargs",
    "tool_input",
    "properties",
];

/// Arguments that stand inside a wrapper object: `{"arguments": {…}}`, or with the tool's own name
/// next to them. Returns the wrapper's key and what it holds.
pub(super) fn find_wrapped_args<'a>(
    root: ValueRef<'a>,
    tool: &str,
) -> Option<(&'a str, ValueRef<'a>)> {
    let mut inner = None;
    for (key, value) in root.members() {
        let names_tool = matches!(key, "name" | "tool" | "tool_name" | "function")
            && value.as_str() == Some(tool);
        if WRAPPERS.contains(&key) && inner.is_none() {
            inner = Some((key, value));
        } else if !names_tool {
            return None;
        }
    }
    inner.filter(|(_, value)| matches!(value.kind(), ValueKind::Object | ValueKind::String))
}

/// A JSON pointer below another one.
pub(super) fn prepend_pointer(prefix: &str, pointer: &mut String) {
    if !prefix.is_empty() {
        let mut text = String::with_capacity(prefix.len() + pointer.len() + 1);
        // Writing to a string cannot fail.
        let _ = write!(text, "/{prefix}{pointer}");
        *pointer = text;
    }
}
