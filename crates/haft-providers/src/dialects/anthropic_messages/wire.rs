//! The shapes of the wire: the body of a request, and thinking as it is stored.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The body.
#[derive(Debug, Serialize)]
pub(super) struct RequestBody<'b> {
    pub(super) model: &'b str,
    pub(super) max_tokens: u64,
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<Tool<'b>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) system: Vec<Block<'b>>,
    pub(super) messages: Vec<Message<'b>>,
    #[serde(flatten)]
    pub(super) options: BTreeMap<&'static str, Cow<'b, Value>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Tool<'b> {
    pub(super) name: &'b str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) description: Cow<'b, str>,
    pub(super) input_schema: Box<RawValue>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) defer_loading: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<CacheControl<'b>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Message<'b> {
    pub(super) role: Role,
    pub(super) content: Vec<Block<'b>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
    /// In the middle of a conversation, to add tools.
    System,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'b> {
    Text {
        text: Cow<'b, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl<'b>>,
    },
    Image {
        source: Source<'b>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl<'b>>,
    },
    Document {
        source: Source<'b>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl<'b>>,
    },
    ToolUse {
        id: &'b str,
        name: &'b str,
        input: Box<RawValue>,
    },
    ToolResult {
        tool_use_id: &'b str,
        content: Vec<Self>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl<'b>>,
    },
    Thinking {
        thinking: String,
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    /// Makes a deferred tool available from here on.
    ToolAddition {
        tool: AddedTool<'b>,
    },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum AddedTool<'b> {
    /// One of the tools of the request, by its name.
    ToolReference { name: &'b str },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Source<'b> {
    Base64 { media_type: &'b str, data: &'b str },
    Text { media_type: &'b str, data: String },
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "type", rename = "ephemeral")]
pub(super) struct CacheControl<'b> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ttl: Option<&'b str>,
}

impl<'b> Block<'b> {
    pub(super) fn text(text: impl Into<Cow<'b, str>>) -> Self {
        Self::Text { text: text.into(), cache_control: None }
    }

    /// Where a breakpoint of the cache can stand behind it.
    pub(super) fn cache_control(&mut self) -> Option<&mut Option<CacheControl<'b>>> {
        match self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::Document { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => Some(cache_control),
            Self::ToolUse { .. }
            | Self::Thinking { .. }
            | Self::RedactedThinking { .. }
            | Self::ToolAddition { .. } => None,
        }
    }

    pub(super) fn is_result(&self) -> bool {
        matches!(self, Self::ToolResult { .. })
    }

    pub(super) fn is_thinking(&self) -> bool {
        matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. })
    }
}

/// A thinking block as it is stored with a thought, so that it can be sent back.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum StoredThinking {
    Thinking { thinking: String, signature: String },
    RedactedThinking { data: String },
}

impl StoredThinking {
    /// The value that is stored.
    pub(super) fn into_value(self) -> Option<Value> {
        serde_json::to_value(self).ok()
    }
}
