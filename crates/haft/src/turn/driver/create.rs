//! Creating a turn.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;

use haft_core::cancel::Cancellation;
use haft_core::context::{Instruction, RecordError, TurnContext};
use haft_core::record::{Memory, Message, MessageRole, Record, Retrievable, Thought};
use haft_core::step::ExecutorDescription;
use haft_core::store::{
    LeaseRequest, MemoryScope, NewTurn, StoreWrite, TurnId, TurnStoreExt as _, first_words,
};

use super::super::agent::AgentShared;
use super::super::envelopes::NonceOrigin;
use super::super::input::TurnInput;
use super::super::journal::{JournalEntry, VERSION};
use super::super::log::TurnLog;
use super::super::seed::TurnSeed;
use super::super::{TurnError, TurnReport};
use super::TurnDriver;
use crate::events::current_traceparent;

/// Creates a turn and runs it to its end. The token cancels this turn and nothing else.
pub(in crate::turn) fn create_turn(
    agent: Arc<AgentShared>,
    input: TurnInput,
    cancellation: Cancellation,
) -> impl Future<Output = Result<TurnReport, TurnError>> + Send {
    // Boxed, so that the turn, which may wait for long, does not hold its input to its end.
    let created = Box::pin(store_turn(agent, input, cancellation));
    Box::pin(async move {
        let turn = created.await?;
        Ok(turn.run().await)
    })
}

/// Stores a turn that any process can claim, and returns its id.
pub(in crate::turn) async fn enqueue_turn(
    agent: &AgentShared,
    input: TurnInput,
) -> Result<TurnId, TurnError> {
    let prepared = prepare_turn(agent, input)?;
    agent.store.enqueue(prepared.new).await?;
    Ok(prepared.seed.id)
}

/// A turn that is about to be stored.
pub(in crate::turn) struct PreparedTurn {
    /// What is stored of it.
    new: NewTurn,
    pub(in crate::turn) seed: TurnSeed,
    pub(in crate::turn) records: InputRecords,
}

/// The records that an input brings, which both the turn and the store have.
pub(in crate::turn) struct InputRecords {
    instructions: Vec<Arc<Instruction>>,
    messages: Vec<Arc<Message>>,
    memories: Vec<Arc<Memory>>,
    thoughts: Vec<Arc<Thought>>,
    pub(in crate::turn) retrievables: Vec<Arc<Retrievable>>,
}

impl InputRecords {
    /// Adds the writes that store them.
    fn push_writes(&self, writes: &mut Vec<StoreWrite>) -> Result<(), TurnError> {
        push_rows("instructions", &self.instructions, writes)?;
        push_rows("messages", &self.messages, writes)?;
        push_rows("memories", &self.memories, writes)?;
        push_rows("thoughts", &self.thoughts, writes)?;
        push_rows("retrievables", &self.retrievables, writes)
    }

    /// The first words that the user said last.
    fn first_words(&self) -> Option<String> {
        let said = self.messages.iter().rev().find(|it| it.role() == MessageRole::User);
        said.and_then(|message| Some(first_words(message.content()?.as_str())))
    }

    /// Gives them to a turn.
    pub(in crate::turn) fn put(self, turn: &TurnContext) -> Result<(), RecordError> {
        for instruction in self.instructions {
            turn.instructions().put(instruction);
        }
        for message in self.messages {
            turn.messages().put(message);
        }
        for memory in self.memories {
            turn.memories().put(memory);
        }
        for thought in self.thoughts {
            turn.thoughts().put(thought);
        }
        // There is no call yet whose id a retrieved record could have.
        self.retrievables.into_iter().try_for_each(|record| turn.restore_retrievable(record))
    }
}

/// Checks an input, and makes what is stored of its turn.
pub(in crate::turn) fn prepare_turn(
    agent: &AgentShared,
    mut input: TurnInput,
) -> Result<PreparedTurn, TurnError> {
    let id = input.turn_id()?;
    let messages = input.take_messages(&id, agent.clock.now())?;
    input.add_answer_format()?;
    let stash = input.parse_stash()?;
    let conversation = input.conversation;
    let secret = agent.envelope_secret.as_ref();
    let nonce = secret.map(|secret| NonceOrigin::new(secret, conversation.as_deref()));
    let conversation_scope = || conversation.clone().map(MemoryScope::conversation);
    let memory_scope = input.memory_scope.or_else(conversation_scope);
    let executor = agent.executor.description();
    let records = InputRecords {
        instructions: share(input.instructions),
        messages,
        memories: share(input.memories),
        thoughts: share(input.thoughts),
        retrievables: share(input.retrievables),
    };
    let mut new = NewTurn::new(id.clone());
    if let ExecutorDescription::Model { model, .. } = &executor {
        new.model = Some(model.clone());
    }
    new.first_words = records.first_words();
    new.conversation = conversation.clone();
    new.agent = input.agent.clone();
    new.tenant = input.tenant;
    new.priority = input.priority;
    new.start_after = input.start_after;
    let traceparent = current_traceparent();
    let started = JournalEntry::Started {
        version: VERSION,
        system_prompt: input.system_prompt.shared(),
        stash: input.stash,
        at: agent.clock.now(),
        executor: Box::new(executor),
        nonce: nonce.clone(),
        memory_scope: memory_scope.clone(),
        definition: agent.definition.clone(),
        traceparent: traceparent.clone(),
    };
    let mut log = TurnLog::new();
    log.advance(&started).map_err(|error| TurnError::invalid("turn", error))?;
    new.writes.push(started.to_write());
    records.push_writes(&mut new.writes)?;
    let seed = TurnSeed {
        id,
        log,
        conversation,
        agent: input.agent,
        traceparent,
        nonce,
        memory_scope,
        system_prompt: input.system_prompt,
        stash,
        tools: Vec::new(),
        offered: HashSet::new(),
        hydrations: Vec::new(),
        gates: Vec::new(),
        is_resumed: false,
    };
    Ok(PreparedTurn { new, seed, records })
}

/// Stores what a turn begins with.
async fn store_turn(
    agent: Arc<AgentShared>,
    input: TurnInput,
    cancellation: Cancellation,
) -> Result<Box<TurnDriver>, TurnError> {
    let PreparedTurn { new, seed, records } = prepare_turn(&agent, input)?;
    let lease = agent.store.create(new, new_lease_request(&agent)).await?;
    let driver = TurnDriver::new(&agent, lease, seed, cancellation);
    records.put(driver.ctx.turn())?;
    Ok(driver)
}

/// Makes the request of a lease that begins now.
pub(super) fn new_lease_request(agent: &AgentShared) -> LeaseRequest {
    LeaseRequest::new(Arc::clone(&agent.process), agent.deadlines.lease)
}

/// Records that both the turn and the store have.
fn share<T>(records: Vec<T>) -> Vec<Arc<T>> {
    records.into_iter().map(Arc::new).collect()
}

/// Adds the writes that store records of the input. No two of them may have the same id.
fn push_rows<T: Record>(
    field: &'static str,
    records: &[Arc<T>],
    writes: &mut Vec<StoreWrite>,
) -> Result<(), TurnError> {
    // One record needs no set.
    let mut ids = HashSet::with_capacity(if records.len() > 1 { records.len() } else { 0 });
    let mut is_twice = |record: &&Arc<T>| records.len() > 1 && !ids.insert(record.key());
    if let Some(twice) = records.iter().find(|it| is_twice(it)) {
        return Err(TurnError::invalid(field, format_args!("two have the id `{}`", twice.key())));
    }
    for record in records {
        writes.push(StoreWrite::Put(record.to_row().map_err(RecordError::from)?));
    }
    Ok(())
}
