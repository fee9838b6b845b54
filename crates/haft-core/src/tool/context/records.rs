//! The records of a turn: stored first, then visible.

use std::sync::Arc;

use super::Instruction;
use super::turn::{RecordError, TurnContext, text};
use crate::call::{CallId, RecordId, ToolCall};
use crate::record::{
    Memory, Message, RecordList, RecordName, RecordSequence, Retrievable, RetrievableContent,
    Thought,
};
use crate::store::{RowKind, StoreWrite};

/// The record lists of a turn.
#[derive(Debug)]
pub(super) struct Records {
    messages: RecordList<Message>,
    memories: RecordList<Memory>,
    retrievables: RecordList<Retrievable>,
    thoughts: RecordList<Thought>,
    tool_calls: RecordList<ToolCall>,
    instructions: RecordList<Instruction>,
}

impl Default for Records {
    fn default() -> Self {
        let sequence = RecordSequence::new();
        Self {
            messages: RecordList::new(sequence.clone()),
            memories: RecordList::new(sequence.clone()),
            retrievables: RecordList::new(sequence.clone()),
            thoughts: RecordList::new(sequence.clone()),
            tool_calls: RecordList::new(sequence.clone()),
            instructions: RecordList::new(sequence),
        }
    }
}

macro_rules! record_methods {
    ($($what:literal, $record:ident, $kind:ident, $list:ident, $store:ident, $delete:ident;)*) => {
        impl TurnContext {$(
            #[doc = concat!("The list of the ", $what, ", which numbers them among records of other kinds.")]
            #[must_use]
            pub fn $list(&self) -> &RecordList<$record> {
                &self.records().$list
            }

            /// Stores a record: replaces the one with its id, or appends it.
            ///
            /// # Errors
            ///
            /// It could not be stored; then it does not become visible.
            pub async fn $store(&self, record: impl Into<Arc<$record>> + Send) -> Result<(), RecordError> {
                let record = record.into();
                self.commit(self.put(&record)?.into_iter().collect()).await?;
                self.records().$list.put(record);
                Ok(())
            }

            /// Removes a record, and says whether there was one.
            ///
            /// # Errors
            ///
            /// The store failed; then it is still there.
            pub async fn $delete(&self, id: &RecordName) -> Result<bool, RecordError> {
                self.remove_row(RowKind::$kind, text(id)).await?;
                Ok(self.records().$list.remove(id).is_some())
            }
        )*}
    };
}

record_methods! {
    "messages", Message, Message, messages, store_message, delete_message;
    "memories", Memory, Memory, memories, store_memory, delete_memory;
    "thoughts", Thought, Thought, thoughts, store_thought, delete_thought;
    "standing instructions", Instruction, Instruction, instructions, store_standing_instruction, delete_standing_instruction;
}

impl TurnContext {
    /// The list of the retrieved records.
    #[must_use]
    pub fn retrievables(&self) -> &RecordList<Retrievable> {
        &self.records().retrievables
    }

    /// Stores a retrieved record: replaces the one with its id, or appends it. Long text goes
    /// to the spool, and the model queries it by a handle. Returns the record as it was stored.
    ///
    /// # Errors
    ///
    /// It could not be stored, or a call has its id; then it does not become visible.
    pub async fn store_retrievable(
        &self,
        record: impl Into<Arc<Retrievable>> + Send,
    ) -> Result<Arc<Retrievable>, RecordError> {
        let record = match self.spooler() {
            Some(spooler) => spooler.spool_retrieved(self.turn_id(), record.into()).await?,
            None => record.into(),
        };
        let artifacts = self.artifacts();
        artifacts.check_retrieved(record.id().as_str())?;
        self.commit(self.put(&record)?.into_iter().collect()).await?;
        match record.content() {
            RetrievableContent::Artifact(artifact) if !record.inline() => {
                artifacts.put_retrieved(record.id().as_str(), artifact.clone())?;
            }
            _ => artifacts.remove_retrieved(record.id().as_str()),
        }
        self.records().retrievables.put(Arc::clone(&record));
        Ok(record)
    }

    /// Restores a record that is already stored, as when a turn is resumed.
    ///
    /// # Errors
    ///
    /// A call has its id.
    pub fn restore_retrievable(
        &self,
        record: impl Into<Arc<Retrievable>>,
    ) -> Result<(), RecordError> {
        let record = record.into();
        if let RetrievableContent::Artifact(artifact) = record.content()
            && !record.inline()
        {
            self.artifacts().put_retrieved(record.id().as_str(), artifact.clone())?;
        }
        self.records().retrievables.put(record);
        Ok(())
    }

    /// Removes a retrieved record, and says whether there was one.
    ///
    /// # Errors
    ///
    /// The store failed; then it is still there.
    pub async fn delete_retrievable(&self, id: &RecordName) -> Result<bool, RecordError> {
        self.remove_row(RowKind::Retrievable, text(id)).await?;
        self.artifacts().remove_retrieved(id.as_str());
        Ok(self.records().retrievables.remove(id).is_some())
    }

    /// The list of the calls.
    #[must_use]
    pub fn tool_calls(&self) -> &RecordList<ToolCall> {
        &self.records().tool_calls
    }

    /// How often a call was made in the turn: the guard against repetition.
    #[must_use]
    pub fn tool_call_count(&self, id: CallId) -> usize {
        self.records().tool_calls.call_count(id)
    }

    /// Stores a call: replaces the one with its id, or appends it. Its artifacts can be
    /// queried from now on.
    ///
    /// # Errors
    ///
    /// It could not be stored, or a retrieved record has its id; then it does not become visible.
    pub async fn store_tool_call(
        &self,
        call: impl Into<Arc<ToolCall>> + Send,
    ) -> Result<(), RecordError> {
        self.store_step(Vec::new(), Vec::new(), vec![call.into()], Vec::new()).await
    }

    /// Restores a call that is already stored, as when a turn is resumed.
    ///
    /// # Errors
    ///
    /// A retrieved record has its id.
    pub fn restore_tool_call(&self, mut call: ToolCall) -> Result<(), RecordError> {
        call.name_media();
        self.artifacts().put_call(&call)?;
        self.records().tool_calls.put(call);
        Ok(())
    }

    /// Removes a call and its artifacts, and says whether there was one.
    ///
    /// # Errors
    ///
    /// The store failed; then it is still there.
    pub async fn delete_tool_call(&self, id: RecordId) -> Result<bool, RecordError> {
        self.remove_row(RowKind::ToolCall, id.to_string()).await?;
        self.artifacts().remove_call(id);
        Ok(self.records().tool_calls.remove(&id).is_some())
    }

    /// Stores the output of one step: thoughts, then messages, then the calls it asks for, and
    /// together with everything else that belongs to the step.
    ///
    /// # Errors
    ///
    /// It could not be stored; then none of it becomes visible.
    pub async fn store_step(
        &self,
        thoughts: Vec<Arc<Thought>>,
        messages: Vec<Arc<Message>>,
        mut calls: Vec<Arc<ToolCall>>,
        mut writes: Vec<StoreWrite>,
    ) -> Result<(), RecordError> {
        for call in calls.iter_mut().filter(|call| call.has_unnamed_media()) {
            Arc::make_mut(call).name_media();
        }
        writes.reserve(thoughts.len() + messages.len() + calls.len());
        for thought in &thoughts {
            writes.extend(self.put(thought)?);
        }
        for message in &messages {
            writes.extend(self.put(message)?);
        }
        for call in &calls {
            self.artifacts().check_call(call.id())?;
            writes.extend(self.put(call)?);
        }
        self.commit(writes).await?;
        // In the order in which they were stored: it is the order of the transcript.
        for thought in thoughts {
            self.records().thoughts.put(thought);
        }
        for message in messages {
            self.records().messages.put(message);
        }
        for call in calls {
            self.artifacts().put_call(&call)?;
            self.records().tool_calls.put(call);
        }
        Ok(())
    }
}
