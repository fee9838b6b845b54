//! The places of a message that can have large values.

/// A position in a message, with the detail that determines how a value is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PartPath {
    /// The message.
    #[default]
    Message,
    /// The id of the message.
    Id,
    /// `result`, and the `result` of a task in it.
    Result,
    /// `content` of a result.
    Content,
    /// An element of `content`.
    ContentItem,
    /// `contents` of a result.
    Contents,
    /// `resource` of an element, and an element of `contents`.
    Resource,
    /// A string that is text.
    Text,
    /// A string that is base64.
    Base64,
    /// `structuredContent` of a result: any value.
    Structured,
    /// A place without large values.
    Other,
}

impl PartPath {
    /// The longest key that matters, in bytes.
    pub(super) const MAX_KEY: usize = "structuredContent".len();

    /// The place of a member of an object.
    pub(super) fn member(self, key: &[u8]) -> Self {
        match (self, key) {
            (Self::Message, b"id") => Self::Id,
            (Self::Message | Self::Result, b"result") => Self::Result,
            (Self::Result, b"content") => Self::Content,
            (Self::Result, b"contents") => Self::Contents,
            (Self::Result, b"structuredContent") => Self::Structured,
            (Self::ContentItem, b"resource") => Self::Resource,
            (Self::ContentItem | Self::Resource, b"text") => Self::Text,
            (Self::ContentItem, b"data") | (Self::Resource, b"blob") => Self::Base64,
            _ => Self::Other,
        }
    }

    /// The place of an element of an array.
    pub(super) const fn element(self) -> Self {
        match self {
            Self::Content => Self::ContentItem,
            Self::Contents => Self::Resource,
            _ => Self::Other,
        }
    }
}
