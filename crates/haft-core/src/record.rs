//! The records of a turn: messages, memories, thoughts, retrieved records and standing instructions.
//!
//! Every record is valid from the moment it exists: a builder collects the fields, and `build` returns the record or an
//! [`InvalidRecord`] with every problem. A record never changes; `to_builder` returns a builder of the next version.
//! [`ToolCall`](crate::call::ToolCall) is a record too.
//!
//! Every [`Record`] has one stored form, JSON text. Loading it checks everything again. Data outside the text (bytes of
//! media, content of artifacts) is found through a [`RecordLoader`]. The application fills it, and so decides what a
//! stored record can open.
//!
//! A [`RecordList`] holds the records of one kind that a turn works with, in order and by id.
//!
//! ```
//! use haft_core::clock::Timestamp;
//! use haft_core::record::{RecordLoader, Message, Record as _};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let hello = Message::user_at("m-1", "hello", Timestamp::EPOCH)?;
//! let stored = hello.to_stored()?;
//! assert_eq!(Message::from_stored(&stored, &RecordLoader::new()).await?, hello);
//!
//! let refused = Message::user_at("", "", Timestamp::EPOCH).unwrap_err();
//! assert_eq!(refused.faults.len(), 2);
//! # Ok(())
//! # }
//! ```

mod error;
mod identity;
mod list;
mod loader;
mod memory;
mod message;
mod name;
mod provider_payload;
mod retrievable;
mod stored;
mod text;
mod thought;

#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use crate::store::{Row, RowKind, StoredForm, StoredText};

pub(crate) use self::error::RecordFaults;
pub use self::error::{InvalidRecord, LoadError, NotStorable, RecordFault};
pub use self::identity::{Identifier, Identity};
pub use self::list::{RecordList, RecordSequence};
pub use self::loader::{RecordLoader, SpoolResolver};
pub use self::memory::{Memory, MemoryBuilder};
pub use self::message::{Message, MessageBuilder, MessageRole};
pub use self::name::RecordName;
pub(crate) use self::provider_payload::ProviderPayload;
pub use self::retrievable::{Retrievable, RetrievableBuilder, RetrievableContent};
pub(crate) use self::stored::{nesting_depth, nests_within, read_stored, write_stored};
pub use self::text::Text;
pub use self::thought::{Thought, ThoughtBuilder};

/// A record of a turn, with an id and a stored form.
pub trait Record: fmt::Debug + Send + Sync + Sized + 'static {
    /// What names it among records of its kind in its turn.
    type Id: Clone + Eq + Hash + fmt::Debug + fmt::Display + Into<String> + Send + Sync + 'static;

    /// What it is where it is stored.
    const KIND: RowKind;

    /// Its id.
    fn key(&self) -> Self::Id;

    /// Its stored form, JSON text. Loading it gives an equal record.
    ///
    /// # Errors
    ///
    /// A part of it cannot be stored: the bytes of a media item that no other process can find, or a text that a
    /// function computes.
    fn to_stored(&self) -> Result<String, NotStorable>;

    /// The record of a stored form. Everything is checked again.
    ///
    /// # Errors
    ///
    /// The text is not such a record, or something that it refers to is missing.
    fn from_stored(
        json: &str,
        loader: &RecordLoader,
    ) -> impl Future<Output = Result<Self, LoadError>> + Send;

    /// Whether [`to_stored`](Self::to_stored) is known to succeed without being tried: everything in the
    /// record is text that was checked when it was made. `false` says nothing.
    fn is_known_storable(&self) -> bool {
        false
    }

    /// The row that stores it. A record that is known to be storable is serialized when the row is first read.
    ///
    /// # Errors
    ///
    /// As [`to_stored`](Self::to_stored).
    fn to_row(self: &Arc<Self>) -> Result<Row, NotStorable> {
        let json = if self.is_known_storable() {
            StoredText::of(Arc::clone(self))
        } else {
            self.to_stored()?.into()
        };
        Ok(Row::new(Self::KIND, self.key(), json))
    }

    /// The record of a row.
    ///
    /// # Errors
    ///
    /// As [`from_stored`](Self::from_stored); also a row of another kind, or one that stores a record under another id.
    #[must_use]
    fn from_row(
        row: &Row,
        loader: &RecordLoader,
    ) -> impl Future<Output = Result<Self, LoadError>> + Send {
        async move {
            if row.kind != Self::KIND {
                let reason = format!("the row keeps a {}", row.kind.as_str());
                return Err(LoadError::damaged(Self::KIND, reason));
            }
            let record = Self::from_stored(&row.json, loader).await?;
            let id = record.key().to_string();
            if id != row.id {
                let reason = format!("the row `{}` keeps the record `{id}`", row.id);
                return Err(LoadError::damaged(Self::KIND, reason));
            }
            Ok(record)
        }
    }
}

impl<T: Record> StoredForm for T {
    fn write_text(&self) -> String {
        self.to_stored().unwrap_or_else(|_| StoredText::UNWRITABLE.to_owned())
    }
}
