//! Identifiers: parsed once, at the edge, and trusted from there.

mod call_id;
mod digest;
mod handle;
mod idempotency_key;
mod name;
mod record_id;
mod tool_name;
mod turn_id;

pub use self::call_id::CallId;
pub use self::digest::Digest;
pub use self::handle::{Handle, HandleTable};
pub use self::idempotency_key::IdempotencyKey;
pub use self::name::InvalidName;
pub(crate) use self::name::{checked_name, is_plain_text, text_type};
pub use self::record_id::{OccurrenceCounter, RecordId};
pub use self::tool_name::ToolName;
pub use self::turn_id::{GateId, TurnId};
