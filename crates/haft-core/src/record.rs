//! The records of a turn: messages, memories, thoughts, retrieved records and standing instructions.
//!
//! A record is data: a constructor takes what every such record has, and methods that begin with `with_` set the rest.
//! [`check`](Record::check) finds every problem. It runs before a record is stored and after it was read, so that no
//! turn works with a record that breaks a rule. A record that is on a list never changes; `revised` begins its next
//! version. [`ToolCall`](crate::call::ToolCall) is a record too.
//!
//! Every [`Record`] has one form, which is stored as JSON text. Content outside the text (bytes of media, content of
//! artifacts) is described by it, and [`open`](Record::open) finds the readers again. The application chooses the
//! [`ReaderResolvers`], and so decides what a stored record can open.
//!
//! A [`RecordList`] holds the records of one kind that a turn works with, in order and by id.
//!
//! ```
//! use haft_core::clock::Timestamp;
//! use haft_core::record::{Message, Record as _};
//!
//! let hello = Message::user_at("m-1", "hello", Timestamp::EPOCH)?;
//! let row = hello.to_row()?;
//! assert_eq!(Message::from_row(&row)?, hello);
//!
//! let refused = Message::user_at("", "", Timestamp::EPOCH).unwrap_err();
//! assert_eq!(refused.faults.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod identity;
mod list;
mod memory;
mod message;
mod name;
mod nesting;
mod provider_payload;
mod retrievable;
mod text;
mod thought;

#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::future::Future;
use std::hash::Hash;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::media::ReaderResolvers;
use crate::store::{Row, RowKind};

pub(crate) use self::error::RecordFaults;
pub use self::error::{InvalidRecord, LoadError, NotStorable, RecordFault};
pub use self::identity::{Identifier, Identity};
pub use self::list::{RecordList, RecordSequence};
pub use self::memory::Memory;
pub use self::message::{Message, MessageRole};
pub use self::name::RecordName;
pub(crate) use self::nesting::{nesting_depth, nests_within};
pub(crate) use self::provider_payload::{check_payload, payload_fits};
pub use self::retrievable::{Retrievable, RetrievableContent};
pub use self::text::Text;
pub use self::thought::Thought;

/// A record of a turn, with an id and one form as data.
///
/// Its trust is read from what a store returned and from nowhere else: [`from_json`](Self::from_json) reads the tiers of
/// the text, and every other deserializer reads the lowest tier, whatever the text says.
pub trait Record:
    fmt::Debug + Serialize + DeserializeOwned + Send + Sync + Sized + 'static
{
    /// What names it among records of its kind in its turn.
    type Id: Clone + Eq + Hash + fmt::Debug + fmt::Display + Into<String> + Send + Sync + 'static;

    /// What it is where it is stored.
    const KIND: RowKind;

    /// Its id.
    fn key(&self) -> Self::Id;

    /// Checks the record: before it is stored, and after it was read.
    ///
    /// # Errors
    ///
    /// Every problem that was found.
    fn check(&self) -> Result<(), InvalidRecord>;

    /// Checks the record and returns it.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    fn checked(self) -> Result<Self, InvalidRecord> {
        self.check()?;
        Ok(self)
    }

    /// Completes a record that was read, before it is checked.
    ///
    /// # Errors
    ///
    /// Parts of it contradict each other.
    fn restored(self) -> Result<Self, LoadError> {
        Ok(self)
    }

    /// Finds the readers of the content that a record which was read describes. Until then every read fails. An artifact
    /// whose content is missing is opened too: its queries fail, and its turn continues.
    ///
    /// # Errors
    ///
    /// A reader of media is unknown, or a store failed.
    fn open(
        &mut self,
        readers: &ReaderResolvers,
    ) -> impl Future<Output = Result<(), LoadError>> + Send {
        let _ = readers;
        std::future::ready(Ok(()))
    }

    /// The record as JSON text. Reading it gives an equal record.
    ///
    /// # Errors
    ///
    /// The record breaks a rule, no other process could find content that it refers to, or the text nests too deeply to
    /// be read again.
    fn to_json(&self) -> Result<String, NotStorable> {
        self.check()?;
        let what = Self::KIND.as_str();
        let json = serde_json::to_string(self)
            .map_err(|error| NotStorable::Reader { what, why: error.to_string() })?;
        if nesting_depth(&json) > MAX_DEPTH {
            return Err(NotStorable::TooDeep { what });
        }
        Ok(json)
    }

    /// The record of a text that a store returned. Everything is checked again, and nothing is [opened](Self::open).
    ///
    /// # Errors
    ///
    /// The text is not such a record.
    fn from_json(json: &str) -> Result<Self, LoadError> {
        // Serde would also read a list of the fields in order.
        if !json.trim_start().starts_with('{') {
            return Err(LoadError::damaged(Self::KIND, "it is not an object"));
        }
        let record: Self = crate::tier::parse_stored(json)
            .map_err(|error| LoadError::damaged(Self::KIND, error.to_string()))?;
        Ok(record.restored()?.checked()?)
    }

    /// The row that stores it.
    ///
    /// # Errors
    ///
    /// As [`to_json`](Self::to_json).
    fn to_row(&self) -> Result<Row, NotStorable> {
        Ok(Row::new(Self::KIND, self.key(), self.to_json()?))
    }

    /// The record of a row.
    ///
    /// # Errors
    ///
    /// As [`from_json`](Self::from_json); also a row of another kind, or one that stores a record under another id.
    fn from_row(row: &Row) -> Result<Self, LoadError> {
        if row.kind != Self::KIND {
            let reason = format!("the row keeps a {}", row.kind.as_str());
            return Err(LoadError::damaged(Self::KIND, reason));
        }
        let record = Self::from_json(&row.json)?;
        let id = record.key().to_string();
        if id != row.id {
            let reason = format!("the row `{}` keeps the record `{id}`", row.id);
            return Err(LoadError::damaged(Self::KIND, reason));
        }
        Ok(record)
    }

    /// The record of a row, with its readers [opened](Self::open).
    ///
    /// # Errors
    ///
    /// As [`from_row`](Self::from_row) and [`open`](Self::open).
    #[must_use = "nothing is read until it is awaited"]
    fn open_row(
        row: &Row,
        readers: &ReaderResolvers,
    ) -> impl Future<Output = Result<Self, LoadError>> + Send {
        async move {
            let mut record = Self::from_row(row)?;
            record.open(readers).await?;
            Ok(record)
        }
    }
}

/// How deeply the text of a record may nest. The parser reads 127 levels.
const MAX_DEPTH: usize = 120;
