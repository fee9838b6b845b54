//! The outside of messages: as much as routing needs.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A message, with all of its members as the received text.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Envelope<'m> {
    #[serde(borrow, default)]
    pub(super) id: Option<&'m RawValue>,
    #[serde(borrow, default)]
    pub(super) method: Option<Cow<'m, str>>,
    #[serde(borrow, default)]
    pub(super) params: Option<&'m RawValue>,
    #[serde(borrow, default)]
    pub(super) result: Option<&'m RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'m RawValue>,
}

impl<'m> Envelope<'m> {
    pub(super) fn parse(message: &'m [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(message)
    }

    /// The id in the form in which ids are compared.
    pub(super) fn key(&self) -> Option<RequestKey> {
        self.id.map(RequestKey::of)
    }

    /// The parameters as a value; an empty object if there are none.
    pub(super) fn params_value(&self) -> Value {
        let params = self.params.and_then(|it| serde_json::from_str(it.get()).ok());
        params.unwrap_or_else(|| json!({}))
    }
}

/// The id of a request: its JSON without white space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RequestKey(String);

impl RequestKey {
    pub(super) fn of(id: &RawValue) -> Self {
        Self(id.get().trim().to_owned())
    }

    pub(super) fn of_value(id: &Value) -> Self {
        Self(id.to_string())
    }

    /// The id as JSON.
    pub(super) fn as_json(&self) -> &str {
        &self.0
    }

    fn to_value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or(Value::Null)
    }
}

/// A response with a result.
pub(super) fn response(id: &RequestKey, result: &impl Serialize) -> Bytes {
    line(&json!({"jsonrpc": "2.0", "id": id.to_value(), "result": result}))
}

/// A response with an error.
pub(super) fn error_response(id: &RequestKey, code: i32, message: &str) -> Bytes {
    line(
        &json!({"jsonrpc": "2.0", "id": id.to_value(), "error": {"code": code, "message": message}}),
    )
}

/// A request of the proxy itself.
pub(super) fn request(id: &str, method: &str, params: &Value) -> Bytes {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// A message with other parameters or another result.
pub(super) fn line(message: &Value) -> Bytes {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line.into()
}

/// The bytes of a message as one line.
pub(super) fn raw_line(mut message: Vec<u8>) -> Bytes {
    while message.last().is_some_and(u8::is_ascii_whitespace) {
        message.pop();
    }
    message.push(b'\n');
    message.into()
}

/// The codes of JSON-RPC.
pub(super) const INVALID_PARAMS: i32 = -32602;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INTERNAL_ERROR: i32 = -32603;

/// Sets a member of an object; a value that is not an object stays as it is.
pub(super) fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value.into());
    }
}
