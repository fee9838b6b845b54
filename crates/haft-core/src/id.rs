//! Identifiers: parsed once, at the edge, and trusted from there.

mod call_id;
mod definition_digest;
mod handle;
mod idempotency_key;
mod record_id;
mod tool_name;
mod turn_id;

pub use self::call_id::{CallId, ParseIdError};
pub use self::definition_digest::{DefinitionDigest, ParseDigestError};
pub use self::handle::{Handle, HandleTable};
pub use self::idempotency_key::IdempotencyKey;
pub use self::record_id::{OccurrenceCounter, RecordId};
pub use self::tool_name::{InvalidToolName, ToolName};
pub use self::turn_id::{GateId, InvalidId, TurnId};
