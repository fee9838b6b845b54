//! Foreign schemas in a build without a validator for them: every one is refused.

use serde_json::Value;

use super::{ForeignSchemaError, require_object_root};
use crate::json::Document;
use crate::schema::args::Args;
use crate::schema::check::CoercionMode;
use crate::schema::problem::{Change, Problems};

/// A foreign schema. This build cannot make one.
#[derive(Clone, Debug)]
pub(in crate::schema) enum ForeignSchema {}

impl ForeignSchema {
    pub(in crate::schema) fn new(schema: Value) -> Result<Self, ForeignSchemaError> {
        require_object_root(&schema)?;
        Self::of_any(schema)
    }

    pub(super) fn of_any(_schema: Value) -> Result<Self, ForeignSchemaError> {
        Err(ForeignSchemaError::Unsupported)
    }

    pub(in crate::schema) fn schema(&self) -> &Value {
        match *self {}
    }

    pub(in crate::schema) fn text(&self) -> String {
        match *self {}
    }

    pub(in crate::schema) fn validate(
        &self,
        _tool: &str,
        _args: &Args,
        _mode: CoercionMode,
        _changes: &mut Vec<Change>,
    ) -> Result<Option<Document>, Problems> {
        match *self {}
    }

    pub(super) fn faults(&self, _value: &Value) -> Option<Problems> {
        match *self {}
    }
}
