//! The shapes of the wire: messages of a request, and the lines of a response.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Default, Serialize)]
pub(super) struct Message<'a> {
    pub(super) role: &'static str,
    pub(super) content: String,
    /// Base64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) images: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<CallItem<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct CallItem<'a> {
    pub(super) id: &'a str,
    pub(super) function: CalledFunction<'a>,
}

#[derive(Serialize)]
pub(super) struct CalledFunction<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Box<RawValue>,
}

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    pub(super) r#type: &'static str,
    pub(super) function: Function<'a>,
}

#[derive(Serialize)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) description: Cow<'a, str>,
    pub(super) parameters: Box<RawValue>,
}

/// A line of a stream, or a whole response.
#[derive(Deserialize)]
pub(super) struct Line {
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) message: Option<MessageDelta>,
    #[serde(default)]
    pub(super) done: Option<bool>,
    #[serde(default)]
    pub(super) done_reason: Option<String>,
    #[serde(default)]
    pub(super) prompt_eval_count: Option<u64>,
    #[serde(default)]
    pub(super) eval_count: Option<u64>,
    /// A text, from some servers an object.
    #[serde(default)]
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct MessageDelta {
    #[serde(default)]
    pub(super) content: Option<String>,
    #[serde(default)]
    pub(super) thinking: Option<String>,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
pub(super) struct CallDelta {
    #[serde(default)]
    pub(super) id: Option<String>,
    pub(super) function: FunctionDelta,
}

#[derive(Deserialize)]
pub(super) struct FunctionDelta {
    #[serde(default)]
    pub(super) name: Option<String>,
    /// An object; from some servers a text that contains one.
    #[serde(default)]
    pub(super) arguments: Option<Box<RawValue>>,
}
