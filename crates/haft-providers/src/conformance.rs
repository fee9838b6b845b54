//! Checks for custom dialects and transports. Run them in your tests.
//!
//! ```
//! use haft_providers::conformance::{self, DialectSample};
//! use haft_providers::dialects::chat_completions::ChatCompletions;
//!
//! let stream = concat!(
//!     "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n",
//!     "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
//!     "data: [DONE]\n\n",
//! );
//! let sample = DialectSample::new(stream).text("Hi");
//! conformance::dialect(&ChatCompletions::new(), &[sample])?;
//! # Ok::<(), conformance::ContractViolation>(())
//! ```

mod decoding;
mod encoding;
mod loopback;
mod transports;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use haft_core::schema::ValueSchema;
use haft_http::uri;
use serde_json::{Map, Value, json};

use crate::dialect::{Delivery, Dialect};
use crate::options::OptionSchema;

#[doc(inline)]
pub use haft_core::contract::ContractViolation;

pub use self::transports::transport;

/// Returns an error with this promise unless the condition holds.
fn ensure(
    holds: bool,
    promise: &'static str,
    found: impl FnOnce() -> String,
) -> Result<(), ContractViolation> {
    if holds { Ok(()) } else { Err(ContractViolation::new(promise, found())) }
}

/// A response of the provider, and what it says.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[must_use]
pub struct DialectSample {
    stream: Bytes,
    whole: Option<Bytes>,
    options: Map<String, Value>,
    text: String,
    calls: Vec<(String, String)>,
}

impl DialectSample {
    /// The bytes of a complete streamed response, with its terminator.
    pub fn new(stream: impl Into<Bytes>) -> Self {
        Self { stream: stream.into(), ..Self::default() }
    }

    /// The same response, delivered as one body.
    pub fn whole(self, body: impl Into<Bytes>) -> Self {
        Self { whole: Some(body.into()), ..self }
    }

    /// Options of the request, which the schema of the dialect accepts.
    pub fn options(self, options: Map<String, Value>) -> Self {
        Self { options, ..self }
    }

    /// The visible text of the response.
    pub fn text(self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ..self }
    }

    /// Adds a call of the response: the name of the tool on the wire, and the arguments as JSON.
    pub fn call(mut self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.calls.push((name.into(), arguments.into()));
        self
    }
}

/// Checks a dialect with samples of its responses.
///
/// - Its name and its paths are usable.
/// - The schema of its options is valid, refuses unknown options, and has no name of a control option.
/// - It encodes every entry of a prompt, or says in a note or an error that it does not. The text of an entry is in the
///   request as it was rendered, in its envelope and nowhere else. The same request gives the same bytes.
/// - It decodes every sample, however the bytes are cut. An incomplete stream is a truncation or an error and never a
///   success with other content, and data that is not of the dialect is an error.
///
/// # Errors
///
/// The first promise of [`Dialect`] that is not kept.
pub fn dialect(dialect: &dyn Dialect, samples: &[DialectSample]) -> Result<(), ContractViolation> {
    check_identity(dialect)?;
    check_options(dialect, samples)?;
    encoding::check(dialect)?;
    samples.iter().try_for_each(|sample| decoding::check(dialect, sample))
}

fn check_identity(dialect: &dyn Dialect) -> Result<(), ContractViolation> {
    let name = dialect.name();
    let is_name = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
    let valid = !name.is_empty() && name.chars().all(is_name);
    ensure(valid, "a name has lower-case letters, digits and hyphens", || format!("`{name}`"))?;
    let base = dialect.base_url();
    uri::parse(base).map_err(|error| ContractViolation::new("the base address is a URL", error))?;
    let exposed = uri::is_exposed(base);
    ensure(!exposed, "the base address is https or this machine", || base.to_owned())?;
    for delivery in [Delivery::Streamed, Delivery::Whole] {
        let path = dialect.path("model", delivery);
        ensure(path.starts_with('/'), "a path begins with a slash", || format!("`{path}`"))?;
    }
    Ok(())
}

fn check_options(
    dialect: &dyn Dialect,
    samples: &[DialectSample],
) -> Result<(), ContractViolation> {
    let schema = dialect.options_schema();
    let compiled = ValueSchema::from_json_schema(schema);
    let compiled = compiled
        .map_err(|error| ContractViolation::new("the schema of the options is valid", error))?;
    let unknown = json!({ "haftUnknownOption": true });
    let refused = compiled.check(&unknown).is_err();
    ensure(refused, "an unknown option is refused", || unknown.to_string())?;
    let shared = OptionSchema::for_dialect(dialect).shared_names();
    ensure(shared.is_empty(), "no option has the name of a control option", || shared.join(", "))?;
    for sample in samples {
        let options = Value::Object(sample.options.clone());
        compiled
            .check(&options)
            .map_err(|error| ContractViolation::new("the options of a sample are valid", error))?;
    }
    Ok(())
}
