//! The key under which an effect happens at most once.

use std::fmt;

use super::CallId;

/// Key of one attempt at an effect: turn, iteration, place in the iteration, and what was called.
///
/// Two equal calls have the same call id and different keys. If a model repeats a call after an error, the call must
/// run again; if a process resumes a turn after a crash, it must not.
///
/// ```
/// use haft_core::call::{CallId, IdempotencyKey};
///
/// let call = CallId::of_text("pay", "42");
/// let key = IdempotencyKey::new("turn-1", (0, 2), call);
/// assert_eq!(key.to_string(), format!("turn-1:0:2:{call}"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    turn: String,
    iteration: u32,
    ordinal: u32,
    call_id: CallId,
}

impl IdempotencyKey {
    /// The key of the call at `place`: iteration and ordinal, both from zero.
    #[must_use]
    pub fn new(turn: &str, place: (u32, u32), call_id: CallId) -> Self {
        Self { turn: turn.to_owned(), iteration: place.0, ordinal: place.1, call_id }
    }
}

/// `<turn>:<iteration>:<ordinal>:<call id>`, the text that goes to the outside.
impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.turn, self.iteration, self.ordinal, self.call_id)
    }
}
