//! Messages and thoughts.

use std::mem;
use std::sync::Arc;

use indexmap::IndexMap;

use super::{MAX_STREAM_BYTES, StreamError, StreamPart, check_id};
use crate::clock::Timestamp;
use crate::event::{EventKind, StreamDelta, StreamState};

/// The streams of one channel, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Texts(IndexMap<Arc<str>, StreamText>);

#[derive(Debug)]
struct StreamText {
    id: Arc<str>,
    /// The text so far; empty once the stream has ended.
    text: String,
    created_at: Timestamp,
    state: StreamState,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Channel {
    Message,
    Thought,
}

/// A piece that was taken. It becomes an event by `into`, which is worth doing only if there is an observer:
/// `ctx.emit_with(|| report.into())`.
#[derive(Debug)]
#[must_use = "observers wait for this event"]
pub struct StreamReport<'d> {
    channel: Channel,
    id: Arc<str>,
    delta: &'d str,
    offset: usize,
    full: FullText,
    state: StreamState,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl<'d> StreamReport<'d> {
    /// The report of a message that was not streamed: one piece, which is all of it.
    pub(crate) fn of_message(
        id: Arc<str>,
        text: &'d str,
        at: Timestamp,
    ) -> Result<Self, StreamError> {
        Self::of_whole(Channel::Message, id, text, at)
    }

    /// The report of a thought that was not streamed.
    pub(crate) fn of_thought(
        id: Arc<str>,
        text: &'d str,
        at: Timestamp,
    ) -> Result<Self, StreamError> {
        Self::of_whole(Channel::Thought, id, text, at)
    }

    fn of_whole(
        channel: Channel,
        id: Arc<str>,
        text: &'d str,
        at: Timestamp,
    ) -> Result<Self, StreamError> {
        check_id(&id)?;
        if text.len() > MAX_STREAM_BYTES {
            return Err(StreamError::TooLong { id: id.to_string() });
        }
        Ok(Self {
            channel,
            id,
            delta: text,
            offset: 0,
            full: FullText::IsDelta,
            state: StreamState::Sealed,
            created_at: at,
            updated_at: at,
        })
    }

    /// The whole text, if this was the last piece.
    #[must_use]
    pub fn full(&self) -> Option<&str> {
        match &self.full {
            FullText::Unknown => None,
            FullText::IsDelta => Some(self.delta),
            FullText::Gathered(text) => Some(text),
        }
    }
}

/// What a report has of the whole text.
#[derive(Debug)]
enum FullText {
    /// Nothing: more may come, or it was withdrawn.
    Unknown,
    /// The piece is all of it.
    IsDelta,
    /// It came in pieces.
    Gathered(String),
}

impl From<StreamReport<'_>> for EventKind {
    fn from(report: StreamReport<'_>) -> Self {
        let is_complete = report.state != StreamState::Open;
        let piece: Arc<str> = report.delta.into();
        let full = match report.full {
            FullText::Unknown => None,
            FullText::IsDelta => Some(Arc::clone(&piece)),
            FullText::Gathered(text) => Some(text.into()),
        };
        let delta = StreamDelta {
            id: report.id,
            created_at: report.created_at,
            updated_at: report.updated_at,
            delta: piece,
            offset: report.offset as u64,
            full,
            state: report.state,
            is_complete,
            completed_at: is_complete.then_some(report.updated_at),
        };
        match report.channel {
            Channel::Message => Self::Message(delta),
            Channel::Thought => Self::Thought(delta),
        }
    }
}

impl Texts {
    pub(super) fn report<'d>(
        &mut self,
        channel: Channel,
        id: &str,
        delta: &'d str,
        (part, at): (StreamPart, Timestamp),
    ) -> Result<StreamReport<'d>, StreamError> {
        let text = self.open(id, at)?;
        if text.text.len().saturating_add(delta.len()) > MAX_STREAM_BYTES {
            return Err(StreamError::TooLong { id: id.to_owned() });
        }
        let offset = text.text.len();
        text.text.push_str(delta);
        let state = match part {
            StreamPart::More => StreamState::Open,
            StreamPart::Last => StreamState::Sealed,
        };
        Ok(StreamReport { delta, offset, ..text.become_(state, channel, at) })
    }

    pub(super) fn close_all(
        &mut self,
        channel: Channel,
        (state, at): (StreamState, Timestamp),
        events: &mut Vec<EventKind>,
    ) {
        for (_, text) in self.0.iter_mut().filter(|(_, text)| text.is_open()) {
            events.push(text.become_(state, channel, at).into());
        }
    }

    pub(super) fn state(&self, id: &str) -> Option<StreamState> {
        self.0.get(id).map(|it| it.state)
    }

    /// The open stream of that id: the one there is, or a new one.
    fn open(&mut self, id: &str, at: Timestamp) -> Result<&mut StreamText, StreamError> {
        let name: Arc<str> = check_id(id)?.into();
        let entry = self.0.entry(Arc::clone(&name));
        let text = entry.or_insert_with(|| StreamText::new(name, at));
        match text.state {
            StreamState::Open => {}
            StreamState::Superseded => *text = StreamText::new(Arc::clone(&text.id), at),
            StreamState::Sealed | StreamState::Aborted => {
                return Err(StreamError::Ended { id: id.to_owned() });
            }
        }
        Ok(text)
    }
}

impl StreamText {
    fn new(id: Arc<str>, created_at: Timestamp) -> Self {
        Self { id, text: String::new(), created_at, state: StreamState::Open }
    }

    fn is_open(&self) -> bool {
        self.state == StreamState::Open
    }

    /// Goes to a state, and reports that without a piece of text. The text leaves with the last report,
    /// so that an ended stream keeps nothing but its name.
    fn become_<'d>(
        &mut self,
        state: StreamState,
        channel: Channel,
        at: Timestamp,
    ) -> StreamReport<'d> {
        self.state = state;
        let id = Arc::clone(&self.id);
        let offset = self.text.len();
        let full = match state {
            StreamState::Open => FullText::Unknown,
            StreamState::Sealed | StreamState::Aborted => {
                FullText::Gathered(mem::take(&mut self.text))
            }
            StreamState::Superseded => {
                self.text = String::new();
                FullText::Unknown
            }
        };
        let created_at = self.created_at;
        let updated_at = at;
        StreamReport { channel, id, delta: "", offset, full, state, created_at, updated_at }
    }
}
