//! The record to which an artifact or a media item belongs.

use crate::call::ToolCall;
use crate::record::{Message, Retrievable};

/// The record to which an artifact or a media item belongs.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PartOrigin<'a> {
    /// A call of a tool.
    Call(&'a ToolCall),
    /// A message.
    Message(&'a Message),
    /// A retrieved record.
    Retrieved(&'a Retrievable),
}

/// What of a record an envelope holds. Ids are unique only within one sort of record, so that each sort has its own scopes.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    Handle,
    Media,
}

impl<'a> PartOrigin<'a> {
    /// Where the content comes from, such as the name of a file.
    pub(super) fn source(self) -> Option<&'a str> {
        match self {
            Self::Retrieved(record) => record.source(),
            Self::Call(_) | Self::Message(_) => None,
        }
    }

    pub(super) fn record(self) -> String {
        match self {
            Self::Call(call) => call.id().to_string(),
            Self::Message(message) => message.id().to_string(),
            Self::Retrieved(record) => record.id().to_string(),
        }
    }

    pub(super) const fn scope(self, of: Scope) -> &'static str {
        match (of, self) {
            (Scope::Handle, Self::Call(_)) => "call handle",
            (Scope::Handle, Self::Message(_)) => "message handle",
            (Scope::Handle, Self::Retrieved(_)) => "retrieved handle",
            (Scope::Media, Self::Call(_)) => "call media",
            (Scope::Media, Self::Message(_)) => "message media",
            (Scope::Media, Self::Retrieved(_)) => "retrieved media",
        }
    }
}
