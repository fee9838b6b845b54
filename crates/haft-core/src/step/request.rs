//! The request with which a step was taken.

use std::fmt;

use bytes::Bytes;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::id::Digest;

/// The request of a step as it is sent, without the key: what the model saw.
///
/// ```
/// use haft_core::step::StepRequest;
///
/// let request = StepRequest::new("gpt-5-mini", r#"{"model":"gpt-5-mini"}"#);
/// assert_eq!((request.model.as_str(), request.body.len()), ("gpt-5-mini", 22));
/// assert_eq!(request.sha256().len(), 64);
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct StepRequest {
    /// The model that is asked.
    pub model: String,
    /// The options that are part of the request.
    pub options: Map<String, Value>,
    /// The names of the tools that are offered, in the order of the request.
    pub tools: Vec<String>,
    /// A digest of their names, descriptions and schemas, in the order of the request.
    pub tools_sha256: String,
    /// The body.
    pub body: Bytes,
}

impl StepRequest {
    /// A request without options and tools.
    #[must_use]
    pub fn new(model: impl Into<String>, body: impl Into<Bytes>) -> Self {
        let request = Self {
            model: model.into(),
            options: Map::new(),
            tools: Vec::new(),
            tools_sha256: String::new(),
            body: body.into(),
        };
        request.tools([])
    }

    /// Sets the options that are part of the request.
    #[must_use]
    pub fn options(mut self, options: Map<String, Value>) -> Self {
        self.options = options;
        self
    }

    /// Sets the tools that are offered: for each, the name, the description and the schema as text.
    #[must_use]
    pub fn tools<'t>(mut self, tools: impl IntoIterator<Item = [&'t str; 3]>) -> Self {
        let mut digest = Sha256::new();
        self.tools.clear();
        for definition in tools {
            for text in definition {
                digest.update((text.len() as u64).to_be_bytes());
                digest.update(text);
            }
            let [name, ..] = definition;
            self.tools.push(name.to_owned());
        }
        self.tools_sha256 = Digest::from_bytes(digest.finalize().into()).to_string();
        self
    }

    /// The SHA-256 of the body, in hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> String {
        Digest::of(&self.body).to_string()
    }
}

/// Says how long the body is. It may be private, and logs are read by many.
impl fmt::Debug for StepRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepRequest")
            .field("model", &self.model)
            .field("tools", &self.tools)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish_non_exhaustive()
    }
}
