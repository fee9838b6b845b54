//! Values of trees as records of SQL queries.

use std::borrow::Cow;

use haft_core::json::{ValueKind, ValueRef};

use crate::table::TableRecord;

/// A value as a record: the members of an object are its columns, and any other value is the column `value`.
pub(crate) struct TreeRecord<'v>(pub(crate) ValueRef<'v>);

impl TableRecord for TreeRecord<'_> {
    fn cell(&self, path: &[String], _: Option<usize>) -> Option<Cow<'_, str>> {
        if self.0.kind() != ValueKind::Object {
            return (*path == ["value"]).then(|| text_of(self.0)).flatten();
        }
        let found = path.iter().try_fold(self.0, |value, name| value.get(name));
        // The name of the table may stand in front.
        let without_table = || {
            let rest = path.get(1..).filter(|rest| !rest.is_empty())?;
            rest.iter().try_fold(self.0, |value, name| value.get(name))
        };
        found.or_else(without_table).and_then(text_of)
    }

    fn names(&self) -> Vec<Cow<'_, str>> {
        match self.0.kind() {
            ValueKind::Object => self.0.members().map(|(name, _)| Cow::Borrowed(name)).collect(),
            _ => vec![Cow::Borrowed("value")],
        }
    }
}

/// A value as text; `None` for `null`.
fn text_of(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value.as_str() {
        Some(text) => Some(Cow::Borrowed(text)),
        None => (!value.is_null()).then(|| Cow::Owned(value.to_string())),
    }
}
