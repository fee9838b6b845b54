//! The records of a turn: stored first, then visible.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Instruction;
use super::history::{Hydration, RemovedRecord};
use super::turn::{RecordError, TurnContext};
use crate::call::{CallId, OccurrenceCounter, RecordId, ToolCall};
use crate::record::{
    Memory, Message, RecordList, RecordName, RecordSequence, Retrievable, RetrievableContent,
    Thought,
};
use crate::store::{Row, RowKind, StoreError, StoreWrite};
use crate::tool::ArtifactIdCollision;

/// The record lists of a turn.
#[derive(Debug)]
pub(super) struct Records {
    pub(super) messages: RecordList<Message>,
    memories: RecordList<Memory>,
    pub(super) retrievables: RecordList<Retrievable>,
    pub(super) thoughts: RecordList<Thought>,
    pub(super) tool_calls: RecordList<ToolCall>,
    instructions: RecordList<Instruction>,
    /// Whether the turn was given its history.
    pub(super) is_hydrated: AtomicBool,
    /// The number of the next record of an earlier turn.
    pub(super) next_earlier: AtomicU64,
    /// How often earlier turns made the calls that this one shows.
    earlier_calls: Mutex<OccurrenceCounter>,
}

impl Records {
    pub(super) fn lock_earlier(&self) -> MutexGuard<'_, OccurrenceCounter> {
        self.earlier_calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn earlier_count(&self, id: CallId) -> u32 {
        self.lock_earlier().count(id)
    }
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
            is_hydrated: AtomicBool::new(false),
            next_earlier: AtomicU64::new(0),
            earlier_calls: Mutex::default(),
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
                let is_earlier = self.records().$list.is_earlier(id);
                self.remove_row(RowKind::$kind, id.as_str().to_owned(), is_earlier).await?;
                Ok(self.records().$list.remove(id).is_some())
            }
        )*}
    };
}

record_methods! {
    "messages", Message, Message, messages, store_message, delete_message;
    "thoughts", Thought, Thought, thoughts, store_thought, delete_thought;
    "standing instructions", Instruction, Instruction, instructions, store_standing_instruction, delete_standing_instruction;
}

impl TurnContext {
    /// The list of the memories, which numbers them among records of other kinds.
    #[must_use]
    pub fn memories(&self) -> &RecordList<Memory> {
        &self.records().memories
    }

    /// Stores a memory: replaces the one with its id, or appends it. If the turn has a
    /// [`memory_scope`](Self::memory_scope), the memory becomes one of the scope with the same commit, and later turns
    /// find it there. The row of the turn says that this turn stored it.
    ///
    /// # Errors
    ///
    /// It could not be stored; then it does not become visible.
    pub async fn store_memory(
        &self,
        record: impl Into<Arc<Memory>> + Send,
    ) -> Result<(), RecordError> {
        let record = record.into();
        let mut writes: Vec<_> = self.put(&record)?.into_iter().collect();
        if let (Some(scope), Some(StoreWrite::Put(Row { id, json, .. }))) =
            (self.memory_scope(), writes.first())
        {
            let scope = scope.clone();
            let id = id.clone();
            let json = json.clone();
            writes.push(StoreWrite::PutMemory { scope, id, json });
        }
        self.commit(writes).await?;
        self.records().memories.put(record);
        Ok(())
    }

    /// Removes a memory, also from the [`memory_scope`](Self::memory_scope) of the turn, and says whether there was
    /// one.
    ///
    /// # Errors
    ///
    /// The store failed; then it is still there.
    pub async fn delete_memory(&self, id: &RecordName) -> Result<bool, RecordError> {
        let text = id.as_str().to_owned();
        let mut writes = vec![StoreWrite::Delete { kind: RowKind::Memory, id: text.clone() }];
        if let Some(scope) = self.memory_scope() {
            writes.push(StoreWrite::DeleteMemory { scope: scope.clone(), id: text });
        }
        self.commit(writes).await?;
        Ok(self.records().memories.remove(id).is_some())
    }

    /// Removes a row, and stops showing the record of an earlier turn.
    async fn remove_row(
        &self,
        kind: RowKind,
        id: String,
        is_earlier: bool,
    ) -> Result<(), StoreError> {
        let mut writes = vec![StoreWrite::Delete { kind, id: id.clone() }];
        if let Some(recorder) = self.turn.recorder.as_ref().filter(|_| is_earlier) {
            let removed = vec![RemovedRecord { kind, id }];
            // With the same commit: a turn that is resumed must not show what a caller believes to be removed.
            writes.extend(recorder.hydration_write(Hydration { removed, ..Hydration::default() }));
        }
        self.commit(writes).await
    }

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
        self.put_retrieved_artifact(&record)?;
        self.records().retrievables.put(record);
        Ok(())
    }

    pub(super) fn put_retrieved_artifact(
        &self,
        record: &Retrievable,
    ) -> Result<(), ArtifactIdCollision> {
        match record.content() {
            RetrievableContent::Artifact(artifact) if !record.inline() => {
                self.artifacts().put_retrieved(record.id().as_str(), artifact.clone())
            }
            _ => Ok(()),
        }
    }

    /// Removes a retrieved record, and says whether there was one.
    ///
    /// # Errors
    ///
    /// The store failed; then it is still there.
    pub async fn delete_retrievable(&self, id: &RecordName) -> Result<bool, RecordError> {
        let is_earlier = self.records().retrievables.is_earlier(id);
        self.remove_row(RowKind::Retrievable, id.as_str().to_owned(), is_earlier).await?;
        self.artifacts().remove_retrieved(id.as_str());
        Ok(self.records().retrievables.remove(id).is_some())
    }

    /// The list of the calls.
    #[must_use]
    pub fn tool_calls(&self) -> &RecordList<ToolCall> {
        &self.records().tool_calls
    }

    /// How often a call was made in the turn, not counting earlier turns: the guard against repetition.
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
        let mut call = call.into();
        let write = self.prepare_call(&mut call)?;
        self.commit(write.into_iter().collect()).await?;
        self.show_call(call)
    }

    /// The write that stores a call, whose media have names from now on.
    fn prepare_call(&self, call: &mut Arc<ToolCall>) -> Result<Option<StoreWrite>, RecordError> {
        if call.has_unnamed_media() {
            Arc::make_mut(call).name_media();
        }
        self.artifacts().check_call(call.id())?;
        Ok(self.put(call)?)
    }

    /// Makes a call that is stored visible.
    fn show_call(&self, call: Arc<ToolCall>) -> Result<(), RecordError> {
        self.artifacts().put_call(&call)?;
        self.records().tool_calls.put(call);
        Ok(())
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
        let is_earlier = self.records().tool_calls.is_earlier(&id);
        self.remove_row(RowKind::ToolCall, id.to_string(), is_earlier).await?;
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
        writes.reserve_exact(thoughts.len() + messages.len() + calls.len());
        for thought in &thoughts {
            writes.extend(self.put(thought)?);
        }
        for message in &messages {
            writes.extend(self.put(message)?);
        }
        for call in &mut calls {
            writes.extend(self.prepare_call(call)?);
        }
        self.commit(writes).await?;
        // In the order in which they were stored: it is the order of the transcript.
        for thought in thoughts {
            self.records().thoughts.put(thought);
        }
        for message in messages {
            self.records().messages.put(message);
        }
        calls.into_iter().try_for_each(|call| self.show_call(call))
    }
}
