//! What users and the agent say to each other.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::{
    Identity, InvalidRecord, LoadError, Record, RecordFault, RecordFaults, RecordName, Text,
};
use crate::clock::{Clock as _, SystemClock, Timestamp};
use crate::error::codes;
use crate::media::{Media, ReaderResolvers};
use crate::store::RowKind;
use crate::tier::TrustTier;

/// One message of a user or of the agent: text, attachments, or both.
///
/// ```
/// use haft_core::clock::Timestamp;
/// use haft_core::record::{Identity, Message, MessageRole, Record as _};
///
/// let ada = Identity::new(17, "Ada")?;
/// let message = Message::new("m-1", MessageRole::User, Timestamp::EPOCH)
///     .with_content("hello")
///     .with_identity(ada)
///     .checked()?;
/// assert_eq!(message.identity().representation(), "Ada");
/// # Ok::<(), haft_core::record::InvalidRecord>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Message {
    id: RecordName,
    role: MessageRole,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<Media>,
    identity: Identity,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// The role of a message. Text of the system and of tools is never a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the two roles are part of the contract")]
pub enum MessageRole {
    /// A user. The words of a user are [first-party](crate::trust::TrustTier::FirstParty): they are the purpose of the
    /// turn, and are sent in the user role without an envelope. Text that a user pastes counts as theirs; attachments
    /// have labels of their own.
    User,
    /// The agent.
    Assistant,
}

impl MessageRole {
    /// How much the words of this role are trusted: those of a user, and those of this agent itself. A text that is
    /// made from several parts, such as a summary, has the lowest tier among them; messages of other agents are
    /// untrusted.
    ///
    /// ```
    /// use haft_core::record::MessageRole;
    /// use haft_core::trust::TrustTier;
    ///
    /// assert_eq!(MessageRole::User.trust_tier(), TrustTier::FirstParty);
    /// ```
    #[must_use]
    pub const fn trust_tier(self) -> TrustTier {
        match self {
            Self::User | Self::Assistant => TrustTier::FirstParty,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

impl Message {
    /// The same record under another id.
    pub(crate) fn renamed(&self, id: RecordName) -> Self {
        Self { id, ..self.clone() }
    }

    /// A message that says nothing yet. Its identity is its role unless another is given.
    #[must_use]
    pub fn new(id: impl Into<String>, role: MessageRole, at: Timestamp) -> Self {
        Self {
            id: RecordName::unchecked(id.into()),
            role,
            content: None,
            attachments: Vec::new(),
            identity: match role {
                MessageRole::User => Identity::user(),
                MessageRole::Assistant => Identity::assistant(),
            },
            created_at: at,
            updated_at: at,
        }
    }

    /// Text of a user, written now by the clock of the machine, with an id of its own.
    ///
    /// ```
    /// use haft_core::record::{Message, MessageRole};
    ///
    /// let message = Message::user("Hi")?;
    /// assert_eq!(message.role(), MessageRole::User);
    /// assert_ne!(message.id(), Message::user("Hi")?.id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text is empty.
    pub fn user(text: impl Into<Text>) -> Result<Self, InvalidRecord> {
        let at = SystemClock::new().now();
        Self::user_at(generate_id(at), text, at)
    }

    /// Text of the agent, written now by the clock of the machine, with an id of its own.
    ///
    /// # Errors
    ///
    /// The text is empty.
    pub fn assistant(text: impl Into<Text>) -> Result<Self, InvalidRecord> {
        let at = SystemClock::new().now();
        Self::assistant_at(generate_id(at), text, at)
    }

    /// Text of a user, with an id and a time that are known.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::record::{Message, MessageRole};
    ///
    /// let message = Message::user_at("m-1", "Hi", Timestamp::EPOCH)?;
    /// assert_eq!(message.role(), MessageRole::User);
    /// assert_eq!(message.content().map(|text| text.as_str()), Some("Hi"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The id or the text is refused.
    pub fn user_at(
        id: impl Into<String>,
        text: impl Into<Text>,
        at: Timestamp,
    ) -> Result<Self, InvalidRecord> {
        Self::new(id, MessageRole::User, at).with_content(text).checked()
    }

    /// Text of the agent, with an id and a time that are known.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::record::{Message, MessageRole};
    ///
    /// let message = Message::assistant_at("m-2", "Hello!", Timestamp::EPOCH)?;
    /// assert_eq!(message.role(), MessageRole::Assistant);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The id or the text is refused.
    pub fn assistant_at(
        id: impl Into<String>,
        text: impl Into<Text>,
        at: Timestamp,
    ) -> Result<Self, InvalidRecord> {
        Self::new(id, MessageRole::Assistant, at).with_content(text).checked()
    }

    /// The next version of it, changed at this time.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::record::Message;
    ///
    /// let draft = Message::assistant_at("m-2", "Helo!", Timestamp::EPOCH)?;
    /// let fixed = draft.revised(Timestamp::MAX).with_content("Hello!");
    /// assert_eq!(fixed.id(), draft.id());
    /// assert_eq!(fixed.updated_at(), Timestamp::MAX);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn revised(&self, at: Timestamp) -> Self {
        Self { updated_at: at, ..self.clone() }
    }

    /// Sets its text.
    #[must_use]
    pub fn with_content(mut self, text: impl Into<Text>) -> Self {
        self.content = Some(text.into());
        self
    }

    /// Adds an attachment. Without a name it becomes `<message id>/media/<n>`.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::media::{Media, MediaFile, MediaKind};
    /// use haft_core::record::{Message, MessageRole, Record as _};
    ///
    /// let image = Media::user_attachment(MediaKind::Image, MediaFile::new("a.png", "image/png", "…"));
    /// let message = Message::new("m-1", MessageRole::User, Timestamp::EPOCH).with_attachment(image);
    /// assert_eq!(message.attachments().len(), 1);
    /// assert!(message.content().is_none() && message.check().is_ok());
    /// ```
    #[must_use]
    pub fn with_attachment(mut self, mut media: Media) -> Self {
        media.assign_attachment_id(self.id.as_str(), self.attachments.len());
        self.attachments.push(media);
        self
    }

    /// Replaces all attachments, and names them as [`with_attachment`](Self::with_attachment) does.
    #[must_use]
    pub fn with_attachments(mut self, media: impl IntoIterator<Item = Media>) -> Self {
        self.attachments.clear();
        media.into_iter().fold(self, Self::with_attachment)
    }

    /// Sets who says it.
    #[must_use]
    pub fn with_identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> &RecordName {
        &self.id
    }

    /// Whose side it is of.
    #[must_use]
    pub const fn role(&self) -> MessageRole {
        self.role
    }

    /// Its text, if it has one; never empty.
    #[must_use]
    pub const fn content(&self) -> Option<&Text> {
        self.content.as_ref()
    }

    /// What was attached.
    #[must_use]
    pub fn attachments(&self) -> &[Media] {
        &self.attachments
    }

    /// Who says it.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// When it was written.
    #[must_use]
    pub const fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// When it was changed last.
    #[must_use]
    pub const fn updated_at(&self) -> Timestamp {
        self.updated_at
    }
}

impl Record for Message {
    type Id = RecordName;

    const KIND: RowKind = RowKind::Message;

    fn key(&self) -> RecordName {
        self.id.clone()
    }

    fn check(&self) -> Result<(), InvalidRecord> {
        let mut faults = RecordFaults::default();
        faults.check_name("id", &self.id);
        match &self.content {
            Some(text) => faults.check_not_empty("content", text.as_str()),
            None => faults.add_if(self.attachments.is_empty(), RecordFault::NothingSaid),
        }
        faults.media("attachments", &self.attachments);
        faults.end("message", codes::INVALID_INITIAL_MESSAGE_VALUE)
    }

    async fn open(&mut self, readers: &ReaderResolvers) -> Result<(), LoadError> {
        for media in &mut self.attachments {
            media.open(readers)?;
        }
        Ok(())
    }
}

/// An id that no other message has: the time, and 64 bits that differ in every process and call.
fn generate_id(at: Timestamp) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new().hash_one((at.as_micros(), count));
    format!("m-{:x}-{random:016x}", at.as_micros())
}
