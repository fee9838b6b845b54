//! Arguments that several queries have in common.

use crate::jsonpath::JsonPath;
use haft_core::Args;
use haft_core::json::ValueRef;
use haft_core::schema::{Field, IntegerRules, Problem, Problems, SchemaBuilder, integer, string};

use crate::invariant;

/// A whole number from zero on that may be omitted.
pub(super) fn count(description: &str) -> SchemaBuilder<IntegerRules> {
    integer().min(0).description(description).optional()
}

/// The number of a line, counted from 1, that may be omitted.
pub(super) fn line(description: &str) -> SchemaBuilder<IntegerRules> {
    integer().min(1).description(description).optional()
}

/// How many values of the result to skip. Every answer that is cut says with which number to go on.
pub(super) fn skip() -> SchemaBuilder<IntegerRules> {
    integer().min(0).optional()
}

/// Arguments by name.
pub(super) trait Named {
    fn count(&self, name: &str) -> Option<u64>;
    fn place(&self, name: &str) -> Option<i64>;
    fn text(&self, name: &str) -> Option<&str>;

    /// A text that the schema of the arguments requires.
    fn required_text(&self, name: &str) -> &str {
        invariant::or_default(self.text(name), "arguments have what their schema requires")
    }

    /// The position of a line, counted from 0, by its number, which a model counts from 1.
    fn line(&self, name: &str) -> Option<u64> {
        self.count(name).map(|number| number.saturating_sub(1))
    }

    fn skip(&self) -> u64 {
        self.count("skip").unwrap_or(0)
    }

    /// The range of the arguments that [`records`] declares.
    #[cfg(feature = "formats")]
    fn record_range(&self) -> std::ops::Range<u64> {
        self.count("start").unwrap_or(0)..self.count("end").unwrap_or(u64::MAX)
    }
}

impl Named for Args {
    fn count(&self, name: &str) -> Option<u64> {
        self.root().get(name).and_then(ValueRef::as_u64)
    }

    fn place(&self, name: &str) -> Option<i64> {
        self.root().get(name).and_then(ValueRef::as_i64)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.root().get(name).and_then(ValueRef::as_str)
    }
}

/// The refusal of one argument.
pub(super) fn refused(name: &str, expected: impl Into<String>, found: &str) -> Problems {
    Problem::new(format!("/{name}"), expected).found(found).into()
}

/// Where to look.
pub(super) fn path() -> Field {
    string().non_empty().required().into()
}

/// Refuses a path that is not one.
pub(super) fn check_path(args: &Args) -> Result<(), Problems> {
    let path = args.required_text("path");
    match JsonPath::parse(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(refused("path", format!("a JSONPath ({error})"), path)),
    }
}

/// A range of records.
#[cfg(feature = "formats")]
pub(super) fn records() -> haft_core::schema::ObjectSchema {
    haft_core::schema::object()
        .field("start", integer().min(0).optional())
        .field("end", integer().min(0).optional())
        .field("skip", skip())
}
