//! The records of a stored turn.

use haft_core::call::ToolCall;
use haft_core::context::Instruction;
use haft_core::media::ReaderResolvers;
use haft_core::record::{LoadError, Memory, Message, Record as _, Retrievable, Thought};
use haft_core::store::{Row, RowKind};

use super::{StoredTurns, TurnError};

/// A record of a stored turn.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TurnRecord {
    /// What a user or the agent said.
    Message(Message),
    /// What the model thought.
    Thought(Thought),
    /// A call and its result.
    ToolCall(Box<ToolCall>),
    /// A memory.
    Memory(Memory),
    /// A retrieved record.
    Retrievable(Retrievable),
    /// A standing instruction.
    Instruction(Instruction),
}

impl TurnRecord {
    /// Reads the record of a row.
    pub(super) async fn read(row: &Row, readers: &ReaderResolvers) -> Result<Self, LoadError> {
        Ok(match row.kind {
            RowKind::Message => Self::Message(Message::open_row(row, readers).await?),
            RowKind::Thought => Self::Thought(Thought::from_row(row)?),
            RowKind::ToolCall => Self::ToolCall(Box::new(ToolCall::open_row(row, readers).await?)),
            RowKind::Memory => Self::Memory(Memory::from_row(row)?),
            RowKind::Retrievable => Self::Retrievable(Retrievable::open_row(row, readers).await?),
            RowKind::Instruction => Self::Instruction(Instruction::from_row(row)?),
            _ => {
                let kind = row.kind.as_str();
                return Err(LoadError::damaged(row.kind, format!("no {kind} is known here")));
            }
        })
    }
}

impl StoredTurns {
    /// Reads the record of a row of a stored turn.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::turn::TurnRecord;
    /// use haft::Agent;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let agent = Agent::builder(script).build()?;
    /// let turn = agent.turn([]).system("Be polite.").report().await?.turn;
    /// let turns = agent.stored_turns();
    /// let stored = turns.load_turn(&turn).await?.ok_or("no turn")?;
    /// let TurnRecord::Message(said) = turns.read_record(&stored.rows[0]).await? else { panic!() };
    /// assert_eq!(said.content().map(|text| text.as_str()), Some("Hello!"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The row is damaged, or something that its record refers to is missing.
    pub async fn read_record(&self, row: &Row) -> Result<TurnRecord, TurnError> {
        Ok(TurnRecord::read(row, &self.stores.readers).await?)
    }
}
