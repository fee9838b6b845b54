//! Thinking that goes back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::messages::tool_use;
use super::wire::Block;
use crate::prompt::Own;
use crate::verbatim::{Called, Piece, Why, pieces};

/// Thinking as it is kept.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Kept {
    Thinking { thinking: String, signature: String },
    RedactedThinking { data: String },
}

impl Kept {
    /// For the record.
    pub(super) fn into_value(self) -> Option<Value> {
        serde_json::to_value(self).ok()
    }
}

/// The blocks of a generation that thought, in their order; nothing if it did not think.
pub(super) fn arranged<'b>(own: &'b Own, model: &str) -> Result<Option<Vec<Block<'b>>>, Why> {
    let Some(pieces) = pieces(own, model)? else { return Ok(None) };
    let mut blocks = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Opaque(value) => blocks.push(thinking(value)?),
            // The API refuses such texts, even its own.
            Piece::Text { text, .. } if text.trim().is_empty() => {}
            Piece::Text { text, .. } => blocks.push(Block::text(text)),
            Piece::Call { call: Called(call), .. } => {
                blocks.push(tool_use(call).map_err(|_| "its calls have changed")?);
            }
        }
    }
    Ok(Some(blocks))
}

fn thinking<'b>(value: Value) -> Result<Block<'b>, Why> {
    match serde_json::from_value(value) {
        Ok(Kept::Thinking { thinking, signature }) => Ok(Block::Thinking { thinking, signature }),
        Ok(Kept::RedactedThinking { data }) => Ok(Block::RedactedThinking { data }),
        Err(_) => Err("its record cannot be read"),
    }
}
