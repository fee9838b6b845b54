//! Tracks text while the model writes it.
//!
//! A model writes a message in pieces. For one dispatch, [`StreamTracker`] collects the pieces of each message and thought,
//! and makes the events: each piece with its offset, and the whole text once, at the end. The cost is
//! therefore linear in the length of the text.
//!
//! ```
//! use haft_core::clock::Timestamp;
//! use haft_core::event::EventKind;
//! use haft_core::stream::{StreamPart, StreamTracker};
//!
//! let now = Timestamp::EPOCH;
//! let mut streams = StreamTracker::default();
//! streams.report_message("m1", "Hel", StreamPart::More, now)?;
//! let last = streams.report_message("m1", "lo", StreamPart::Last, now)?;
//! assert_eq!(last.full(), Some("Hello"));
//! let EventKind::Message(delta) = last.into() else { unreachable!() };
//! assert_eq!((&*delta.delta, delta.offset, delta.is_complete), ("lo", 3, true));
//! assert!(streams.report_message("m1", "!", StreamPart::More, now).is_err());
//! # Ok::<(), haft_core::stream::StreamError>(())
//! ```

mod text;

#[cfg(test)]
mod tests;

pub use self::text::StreamReport;

use self::text::{Channel, Texts};
use crate::clock::Timestamp;
use crate::error::codes;
use crate::error::{Coded, ErrorCode};
use crate::event::{EventKind, StreamState};

/// Longest text of one stream, in bytes.
pub const MAX_STREAM_BYTES: usize = 8 * 1024 * 1024;

/// Longest id of a stream, in bytes.
const MAX_ID: usize = 512;

/// The streams of one dispatch. They live through all its iterations; messages and thoughts have ids of their own.
#[derive(Debug, Default)]
pub struct StreamTracker {
    messages: Texts,
    thoughts: Texts,
}

/// Whether more follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "more follows or not")]
pub enum StreamPart {
    /// More may follow.
    #[default]
    More,
    /// This ends it.
    Last,
}

/// A report that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The stream has ended.
    #[error("`{id}` has ended and takes no more")]
    Ended {
        /// Which.
        id: String,
    },
    /// The text would be longer than [`MAX_STREAM_BYTES`]. The stream stays as it was, and can be ended.
    #[error("the text of `{id}` would be longer than {MAX_STREAM_BYTES} bytes")]
    TooLong {
        /// Which.
        id: String,
    },
    /// The id is empty or longer than 512 bytes.
    #[error("the id of a stream has 1 to {MAX_ID} bytes, not {length}")]
    InvalidId {
        /// How many it has.
        length: usize,
    },
}

impl Coded for StreamError {
    fn code(&self) -> ErrorCode {
        codes::LLM_EXECUTION_EXECUTOR_ERROR
    }
}

impl StreamTracker {
    /// Adds a piece of a message. The first piece begins the message. An empty piece is allowed, and is the usual way
    /// to end a message.
    ///
    /// # Errors
    ///
    /// The message has ended, or would be too long, or the id is invalid.
    pub fn report_message<'d>(
        &mut self,
        id: &str,
        delta: &'d str,
        part: StreamPart,
        at: Timestamp,
    ) -> Result<StreamReport<'d>, StreamError> {
        self.messages.report(Channel::Message, id, delta, (part, at))
    }

    /// Adds a piece of a thought, as [`report_message`](Self::report_message) does.
    ///
    /// # Errors
    ///
    /// The thought has ended, or would be too long, or the id is invalid.
    pub fn report_thought<'d>(
        &mut self,
        id: &str,
        delta: &'d str,
        part: StreamPart,
        at: Timestamp,
    ) -> Result<StreamReport<'d>, StreamError> {
        self.thoughts.report(Channel::Thought, id, delta, (part, at))
    }

    /// Ends every open message and thought as broken off.
    #[must_use = "observers wait for these events"]
    pub fn abort_leftovers(&mut self, at: Timestamp) -> Vec<EventKind> {
        self.close_all(StreamState::Aborted, at)
    }

    /// Withdraws every open message and thought, because the model is asked again.
    #[must_use = "observers wait for these events"]
    pub fn supersede_leftovers(&mut self, at: Timestamp) -> Vec<EventKind> {
        self.close_all(StreamState::Superseded, at)
    }

    /// The state of a message, or `None` if there is none.
    #[must_use]
    pub fn message_state(&self, id: &str) -> Option<StreamState> {
        self.messages.state(id)
    }

    /// The state of a thought, or `None` if there is none.
    #[must_use]
    pub fn thought_state(&self, id: &str) -> Option<StreamState> {
        self.thoughts.state(id)
    }

    fn close_all(&mut self, state: StreamState, at: Timestamp) -> Vec<EventKind> {
        let mut events = Vec::new();
        self.thoughts.close_all(Channel::Thought, (state, at), &mut events);
        self.messages.close_all(Channel::Message, (state, at), &mut events);
        events
    }
}

fn check_id(id: &str) -> Result<&str, StreamError> {
    match id.len() {
        1..=MAX_ID => Ok(id),
        length => Err(StreamError::InvalidId { length }),
    }
}
