//! What users and the agent say to each other.

use crate::error::codes;
use std::borrow::Cow;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::{
    Identity, InvalidRecord, LoadError, NotStorable, Record, RecordFault, RecordFaults,
    RecordLoader, RecordName, Text, read_stored, write_stored,
};
use crate::clock::{Clock as _, SystemClock, Timestamp};
use crate::media::{Media, MediaRecord};
use crate::store::RowKind;
use crate::tier::TrustTier;

/// One message of a user or of the agent: text, attachments, or both.
///
/// ```
/// use haft_core::clock::Timestamp;
/// use haft_core::record::{Identity, Message, MessageRole};
///
/// let ada = Identity::new(17, "Ada")?;
/// let message = Message::builder("m-1", MessageRole::User, Timestamp::EPOCH)
///     .content("hello")
///     .identity(ada)
///     .build()?;
/// assert_eq!(message.identity().representation(), "Ada");
/// # Ok::<(), haft_core::record::InvalidRecord>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    id: RecordName,
    role: MessageRole,
    content: Option<Text>,
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

    /// A builder of a message. Its identity is its role unless another is given.
    pub fn builder(id: impl Into<String>, role: MessageRole, at: Timestamp) -> MessageBuilder {
        let (content, attachments, identity) = (None, Vec::new(), None);
        let id = id.into();
        MessageBuilder { id, role, content, attachments, identity, created_at: at, updated_at: at }
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
        Self::builder(id, MessageRole::User, at).content(text).build()
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
        Self::builder(id, MessageRole::Assistant, at).content(text).build()
    }

    /// A builder of the next version of it, changed at this time.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::record::Message;
    ///
    /// let draft = Message::assistant_at("m-2", "Helo!", Timestamp::EPOCH)?;
    /// let fixed = draft.to_builder(Timestamp::MAX).content("Hello!").build()?;
    /// assert_eq!(fixed.id(), draft.id());
    /// assert_eq!(fixed.updated_at(), Timestamp::MAX);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_builder(&self, at: Timestamp) -> MessageBuilder {
        MessageBuilder {
            id: self.id.as_str().to_owned(),
            role: self.role,
            content: self.content.clone(),
            attachments: self.attachments.clone(),
            identity: Some(self.identity.clone()),
            created_at: self.created_at,
            updated_at: at,
        }
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

/// A message that is still being put together.
#[derive(Clone, Debug)]
#[must_use]
pub struct MessageBuilder {
    id: String,
    role: MessageRole,
    content: Option<Text>,
    attachments: Vec<Media>,
    identity: Option<Identity>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl MessageBuilder {
    /// Its text.
    pub fn content(mut self, text: impl Into<Text>) -> Self {
        self.content = Some(text.into());
        self
    }

    /// Adds an attachment. Without a name it becomes `<message id>/media/<n>`.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    /// use haft_core::media::{Media, MediaFile, MediaKind};
    /// use haft_core::record::{Message, MessageRole};
    ///
    /// let image = Media::user_attachment(MediaKind::Image, MediaFile::new("a.png", "image/png", "…"));
    /// let message =
    ///     Message::builder("m-1", MessageRole::User, Timestamp::EPOCH).attachment(image).build()?;
    /// assert_eq!(message.attachments().len(), 1);
    /// assert!(message.content().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attachment(mut self, media: Media) -> Self {
        self.attachments.push(media);
        self
    }

    /// Replaces all attachments.
    pub fn attachments(mut self, media: impl IntoIterator<Item = Media>) -> Self {
        self.attachments = media.into_iter().collect();
        self
    }

    /// Who says it.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// When it was changed last.
    pub fn updated_at(mut self, at: Timestamp) -> Self {
        self.updated_at = at;
        self
    }

    /// The message.
    ///
    /// # Errors
    ///
    /// Every problem that was found.
    pub fn build(self) -> Result<Message, InvalidRecord> {
        let mut faults = RecordFaults::default();
        let id = faults.name("id", &self.id);
        match &self.content {
            Some(text) => faults.check_not_empty("content", text.as_str()),
            None => faults.add_if(self.attachments.is_empty(), RecordFault::NothingSaid),
        }
        faults.media("attachments", &self.attachments);
        let (Some(id), true) = (id, faults.is_empty()) else {
            return Err(faults.of("message", codes::INVALID_INITIAL_MESSAGE_VALUE));
        };
        let Self { role, content, mut attachments, identity, created_at, updated_at, .. } = self;
        for (n, media) in attachments.iter_mut().enumerate() {
            media.assign_attachment_id(id.as_str(), n);
        }
        let identity = identity.unwrap_or_else(|| match role {
            MessageRole::User => Identity::user(),
            MessageRole::Assistant => Identity::assistant(),
        });
        Ok(Message { id, role, content, attachments, identity, created_at, updated_at })
    }
}

/// An id that no other message has: the time, and 64 bits that differ in every process and call.
fn generate_id(at: Timestamp) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new().hash_one((at.as_micros(), count));
    format!("m-{:x}-{random:016x}", at.as_micros())
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredMessage<'a> {
    id: Cow<'a, str>,
    role: MessageRole,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<MediaRecord>,
    identity: Cow<'a, Identity>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Record for Message {
    type Id = RecordName;

    const KIND: RowKind = RowKind::Message;

    fn key(&self) -> RecordName {
        self.id.clone()
    }

    fn is_known_storable(&self) -> bool {
        self.attachments.is_empty()
    }

    fn to_stored(&self) -> Result<String, NotStorable> {
        let attachments = self.attachments.iter().map(Media::to_record);
        let stored = StoredMessage {
            id: self.id.as_str().into(),
            role: self.role,
            content: self.content.as_ref().map(|it| it.as_str().into()),
            attachments: attachments.collect::<Result<_, _>>()?,
            identity: Cow::Borrowed(&self.identity),
            created_at: self.created_at,
            updated_at: self.updated_at,
        };
        write_stored(Self::KIND, &stored)
    }

    async fn from_stored(json: &str, loader: &RecordLoader) -> Result<Self, LoadError> {
        let stored: StoredMessage<'_> = read_stored(Self::KIND, json)?;
        let attachments = stored.attachments.into_iter().map(|it| loader.load_media(it));
        let attachments = attachments.collect::<Result<Vec<_>, _>>()?;
        let message = Self::builder(stored.id, stored.role, stored.created_at)
            .attachments(attachments)
            .identity(stored.identity.into_owned())
            .updated_at(stored.updated_at);
        let message = match stored.content {
            Some(text) => message.content(text.into_owned()),
            None => message,
        };
        Ok(message.build()?)
    }
}
