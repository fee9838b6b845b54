//! The proof that a schema, its validator and its decoder agree, for tests.
//!
//! The model sees JSON Schema text, the validator decides whether a call is accepted, and the handler receives a
//! decoded value. [`prove`] generates values for a type, some valid and some nearly valid, and compares all three, with
//! the `jsonschema` crate as an independent reader of the text:
//!
//! 1. the validator accepts a value if and only if the emitted JSON Schema does;
//! 2. an accepted value decodes, and encodes back to an equal value;
//! 3. validation gives the same result for JSON text, however it is written, and for a [`serde_json::Value`];
//! 4. coercion leaves accepted arguments alone, and what it coerces is accepted as it then is.
//!
//! Every draw comes from a seed, so that a failure repeats.
//!
//! ```
//! use haft_core::args::{ArgDefinitions, ArgValue, DecodeError, ToolArgs};
//! use haft_core::json::{UnrepresentableValue, ValueRef, JsonWriter};
//! use haft_core::schema::{Field, Schema, object};
//! use haft_core::testing::{ProofOptions, prove};
//!
//! // What `#[derive(ToolArgs)]` writes.
//! struct Forecast {
//!     city: String,
//!     days: Option<u8>,
//! }
//!
//! impl ArgValue for Forecast {
//!     fn schema(definitions: &mut ArgDefinitions) -> Schema {
//!         object()
//!             .field("city", String::field(definitions))
//!             .field("days", Option::<u8>::field(definitions))
//!             .into()
//!     }
//!
//!     fn decode(value: ValueRef<'_>) -> Result<Self, DecodeError> {
//!         Ok(Self {
//!             city: String::decode_field("city", value.get("city"))?,
//!             days: Option::decode_field("days", value.get("days"))?,
//!         })
//!     }
//!
//!     fn encode(&self, out: &mut JsonWriter) -> Result<(), UnrepresentableValue> {
//!         out.try_object(|out| {
//!             self.city.encode_field("city", out)?;
//!             self.days.encode_field("days", out)
//!         })
//!         .map(drop)
//!     }
//! }
//!
//! impl ToolArgs for Forecast {}
//!
//! let agreement = prove::<Forecast>(ProofOptions::default().values(200))?;
//! assert_eq!(agreement.values, 200);
//! assert!(agreement.accepted > 0 && agreement.refused > 0);
//! # Ok::<(), haft_core::testing::Disagreement>(())
//! ```

mod compare;
mod disagreement;
mod generate;
mod prove;
mod random;
mod scalars;
mod sketch;
mod spell;
mod spoil;

#[cfg(test)]
mod tests;

pub use disagreement::Disagreement;
pub use generate::Generator;
pub use prove::{Agreement, ProofOptions, agreement, prove, prove_schema, prove_serde};
