//! Turns that clients submit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest name of a conversation, in characters.
pub(crate) const MAX_CONVERSATION_CHARS: usize = 200;
/// The lowest priority. The highest is 0, so that no client overtakes the others.
pub(crate) const MIN_PRIORITY: i32 = -100;

/// A turn that workers run.
///
/// A client that sends the header `Idempotency-Key` can send the request again: requests with the same key submit one turn.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubmitRequest {
    /// The agent.
    pub(crate) agent: String,
    /// The message of the user.
    #[schemars(regex(pattern = r"\S"))]
    pub(crate) message: String,
    /// The conversation that the turn belongs to. Its turns run one after the other, and each sees the ones before it.
    #[serde(default)]
    #[schemars(length(min = 1, max = MAX_CONVERSATION_CHARS))]
    pub(crate) conversation: Option<String>,
    /// From −100 to 0: turns of a lower priority run later.
    #[serde(default)]
    #[schemars(range(min = MIN_PRIORITY, max = 0))]
    pub(crate) priority: i32,
    /// How many seconds workers leave the turn alone.
    #[serde(default)]
    pub(crate) delay_seconds: u32,
}
