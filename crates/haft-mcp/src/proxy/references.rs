//! Stored results as arguments of calls: `{"$artifact": callId}` in a field that was configured for it.

use std::str::FromStr;

use haft_core::spool::SpoolReader;
use serde_json::{Value, json};

use super::catalog::Catalog;
use super::envelope::set;
use super::results::read_all;

/// The maximum number of bytes of a stored result that can be an argument.
const MAX_VALUE_BYTES: u64 = 64 * 1024 * 1024;

/// The key of the handle in a reference.
const REFERENCE: &str = "$artifact";

/// A field of the arguments of a tool that takes references to stored results, written `TOOL:/json/pointer`.
///
/// ```
/// use haft_mcp::proxy::ReferenceField;
///
/// let field: ReferenceField = "write_file:/content".parse()?;
/// assert_eq!((field.tool.as_str(), field.pointer.as_str()), ("write_file", "/content"));
/// assert!("write_file".parse::<ReferenceField>().is_err());
/// # Ok::<(), haft_mcp::proxy::InvalidReferenceField>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReferenceField {
    /// The tool.
    pub tool: String,
    /// The JSON pointer of the field in the arguments.
    pub pointer: String,
}

/// A text that names no field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a tool and a JSON pointer into its arguments: TOOL:/field")]
#[non_exhaustive]
pub struct InvalidReferenceField;

impl FromStr for ReferenceField {
    type Err = InvalidReferenceField;

    fn from_str(text: &str) -> Result<Self, InvalidReferenceField> {
        match text.split_once(':') {
            Some((tool, pointer)) if !tool.is_empty() && pointer.starts_with('/') => {
                Ok(Self { tool: tool.to_owned(), pointer: pointer.to_owned() })
            }
            _ => Err(InvalidReferenceField),
        }
    }
}

/// The fields that take references.
#[derive(Clone, Debug, Default)]
pub(super) struct References(pub(super) Vec<ReferenceField>);

impl References {
    fn of_tool<'r>(&'r self, tool: &'r str) -> impl Iterator<Item = &'r str> {
        let fields = self.0.iter().filter(move |field| field.tool == tool);
        fields.map(|field| field.pointer.as_str())
    }

    /// Whether a tool has a field that takes references.
    pub(super) fn has(&self, tool: &str) -> bool {
        self.of_tool(tool).next().is_some()
    }

    /// Says in the definition of a tool which fields take references.
    pub(super) fn describe(&self, tool: &str, definition: &mut Value) {
        for pointer in self.of_tool(tool) {
            let schema_pointer: String =
                pointer.split('/').skip(1).map(|key| format!("/properties/{key}")).collect();
            let schema = definition.pointer_mut(&format!("/inputSchema{schema_pointer}"));
            if let Some(schema) = schema {
                let reference = json!({
                    "type": "object",
                    "properties": {REFERENCE: {"type": "string"}, "pointer": {"type": "string"}},
                    "required": [REFERENCE],
                    "additionalProperties": false,
                });
                *schema = json!({"anyOf": [schema.take(), reference]});
            }
            let note = format!(
                "`{pointer}` also takes {{\"{REFERENCE}\": callId}}, which stands for the text of a stored result, and \
                 with \"pointer\" for the value at this JSON pointer of it."
            );
            let known = definition.get("description").and_then(Value::as_str).unwrap_or_default();
            set(definition, "description", format!("{known}\n{note}").trim_start());
        }
    }

    /// Replaces the references in the arguments of a call. A reference in another field stays as it is.
    pub(super) async fn resolve(
        &self,
        tool: &str,
        arguments: &mut Value,
        catalog: &Catalog,
    ) -> Result<(), String> {
        for pointer in self.of_tool(tool) {
            let Some(slot) = arguments.pointer_mut(pointer) else { continue };
            let Some(handle) = slot.get(REFERENCE).and_then(Value::as_str) else { continue };
            let inner = slot.get("pointer").and_then(Value::as_str);
            *slot = read_value(handle, inner, catalog)
                .await
                .map_err(|why| format!("`{pointer}`: {why}"))?;
        }
        Ok(())
    }
}

/// The value that a reference names.
async fn read_value(
    handle: &str,
    pointer: Option<&str>,
    catalog: &Catalog,
) -> Result<Value, String> {
    let shown = crate::answer_limits::start_of(handle, 64);
    let found = catalog.find(handle).await.map_err(|error| error.to_string())?;
    let artifact = found.ok_or_else(|| format!("there is no result with callId `{shown}`"))?;
    let reader: &dyn SpoolReader = artifact.reader().as_ref();
    if reader.byte_length() > MAX_VALUE_BYTES {
        return Err(format!("the result `{shown}` has more than {MAX_VALUE_BYTES} bytes"));
    }
    let bytes = read_all(reader).await.map_err(|error| error.to_string())?;
    let Some(pointer) = pointer else {
        return Ok(Value::String(String::from_utf8_lossy(&bytes).into_owned()));
    };
    let value: Value =
        serde_json::from_slice(&bytes).map_err(|_| format!("the result `{shown}` is not JSON"))?;
    let shown_pointer = crate::answer_limits::start_of(pointer, 200);
    let value = value.pointer(pointer).cloned();
    value.ok_or_else(|| format!("the result `{shown}` has nothing at `{shown_pointer}`"))
}
