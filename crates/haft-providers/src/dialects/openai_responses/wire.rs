//! The shapes of the wire: the body of a request.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The body.
#[derive(Debug, Serialize)]
pub(super) struct RequestBody<'b> {
    pub(super) model: &'b str,
    pub(super) store: bool,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) include: Vec<&'b str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instructions: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tool<'b>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<Value>,
    pub(super) input: Vec<Item<'b>>,
    #[serde(flatten)]
    pub(super) options: BTreeMap<&'static str, &'b Value>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "function")]
pub(super) struct Tool<'b> {
    pub(super) name: &'b str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) description: Cow<'b, str>,
    pub(super) strict: bool,
    pub(super) parameters: Box<RawValue>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Item<'b> {
    Known(KnownItem<'b>),
    /// An item of the provider, sent back unchanged.
    Raw(Value),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum KnownItem<'b> {
    Message {
        #[serde(flatten)]
        by: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
        role: Role,
        content: ItemContent<'b>,
    },
    FunctionCall {
        #[serde(flatten)]
        by: Option<Value>,
        call_id: &'b str,
        name: &'b str,
        arguments: Cow<'b, str>,
    },
    FunctionCallOutput {
        call_id: &'b str,
        output: ItemContent<'b>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
    Developer,
    System,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ItemContent<'b> {
    Text(&'b str),
    Parts(Vec<Part<'b>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'b> {
    InputText { text: &'b str },
    InputImage { detail: &'static str, image_url: String },
    InputFile { filename: &'b str, file_data: String },
    OutputText { text: &'b str, annotations: [(); 0], logprobs: [(); 0] },
}

impl<'b> Part<'b> {
    pub(super) fn input_text(text: &'b str) -> Self {
        Self::InputText { text }
    }

    pub(super) fn output_text(text: &'b str) -> Self {
        Self::OutputText { text, annotations: [], logprobs: [] }
    }
}

impl<'b> Item<'b> {
    /// A message.
    pub(super) fn message(role: Role, content: ItemContent<'b>) -> Self {
        Self::Known(KnownItem::Message { by: None, status: None, role, content })
    }

    /// Whether it is a message of the model.
    pub(super) fn is_assistant_message(&self) -> bool {
        matches!(self, Self::Known(KnownItem::Message { role: Role::Assistant, .. }))
    }
}
