//! Creating a turn.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;

use haft_core::cancel::Cancellation;
use haft_core::context::{Instruction, RecordError, Tokenizable};
use haft_core::record::{Memory, Message, MessageRole, Record, Retrievable, Thought};
use haft_core::stash::Stash;
use haft_core::step::ExecutorDescription;
use haft_core::store::{LeaseRequest, MemoryScope, NewTurn, StoreWrite, TurnId, first_words};

use super::super::envelopes::NonceOrigin;
use super::super::journal::JournalEntry;
use super::super::machine::{TurnEntry, TurnMachine};
use super::super::runner::RunnerShared;
use super::super::{TurnError, TurnInput, TurnReport};
use super::{RunningTurn, TurnDriver, TurnStart};

/// Creates a turn and runs it to its end. The token cancels this turn and nothing else.
pub(in crate::turn) fn create_turn(
    runner: Arc<RunnerShared>,
    input: TurnInput,
    cancellation: Cancellation,
) -> impl Future<Output = Result<TurnReport, TurnError>> + Send {
    // Boxes here and below keep what has ended out of the future of a turn, which may wait for long. This one also
    // keeps the input, which a future would hold to its end. The second one is moved by the callers instead of the
    // future.
    let created = Box::pin(store_turn(runner, input, cancellation));
    Box::pin(async move {
        // A statement of its own: the result of the first wait would be held during the second one.
        let turn = created.await?;
        Ok(turn.run().await)
    })
}

/// Stores a turn that any process can claim, and returns its id.
pub(in crate::turn) async fn enqueue_turn(
    runner: &RunnerShared,
    input: TurnInput,
) -> Result<TurnId, TurnError> {
    runner.verify_secret().await?;
    let prepared = prepare_turn(runner, input)?;
    let id = prepared.new.id.clone();
    runner.store.enqueue(prepared.new).await?;
    Ok(id)
}

/// A turn that is about to be stored: its rows and entries, and the values that they are made from.
struct PreparedTurn {
    new: NewTurn,
    machine: TurnMachine,
    system_prompt: Tokenizable,
    stash: Stash,
    nonce: Option<NonceOrigin>,
    memory_scope: Option<MemoryScope>,
    instructions: Vec<Arc<Instruction>>,
    messages: Vec<Arc<Message>>,
    memories: Vec<Arc<Memory>>,
    thoughts: Vec<Arc<Thought>>,
    retrievables: Vec<Arc<Retrievable>>,
}

fn prepare_turn(runner: &RunnerShared, mut input: TurnInput) -> Result<PreparedTurn, TurnError> {
    let id = input.turn_id()?;
    let messages = input.take_messages(&id, runner.clock.now())?;
    input.add_answer_format()?;
    let stash = input.parse_stash()?;
    let system_prompt = input.prompt_text()?;
    let conversation = input.parts.conversation;
    let secret = runner.envelope_secret.as_ref();
    let nonce = secret.map(|secret| NonceOrigin::new(secret, conversation.as_deref()));
    let conversation_scope = || conversation.clone().map(MemoryScope::conversation);
    let memory_scope = input.parts.memory_scope.or_else(conversation_scope);
    let executor = runner.executor.description();
    let mut new = NewTurn::new(id);
    if let ExecutorDescription::Model { model, .. } = &executor {
        new.model = Some(model.clone());
    }
    let started = Arc::new(JournalEntry::Started {
        version: JournalEntry::required_version(conversation.as_deref(), memory_scope.as_ref()),
        system_prompt,
        stash: input.parts.stash,
        at: runner.clock.now(),
        executor: Some(Box::new(executor)),
        nonce: nonce.clone(),
        memory_scope: memory_scope.clone(),
    });
    let mut machine = runner.new_machine();
    // The machine of a new turn takes its first entry, which has no effects.
    let first = machine.apply(TurnEntry::Journal(Arc::clone(&started)));
    first.map_err(|error| TurnError::invalid("turn", error))?;
    let instructions = share(input.parts.instructions);
    let memories = share(input.parts.memories);
    let thoughts = share(input.parts.thoughts);
    let retrievables = share(input.parts.retrievables);
    let said = messages.iter().rev().find(|it| it.role() == MessageRole::User);
    new.first_words = said.and_then(|message| Some(first_words(message.content()?.as_str())));
    (new.conversation, new.agent) = (conversation, input.parts.agent);
    (new.tenant, new.priority) = (input.parts.tenant, input.parts.priority);
    new.start_after = input.parts.start_after;
    let records = instructions.len() + messages.len() + memories.len();
    new.writes.reserve_exact(1 + records + thoughts.len() + retrievables.len());
    new.writes.push(JournalEntry::to_write(&started));
    push_rows("instructions", &instructions, &mut new.writes)?;
    push_rows("messages", &messages, &mut new.writes)?;
    push_rows("memories", &memories, &mut new.writes)?;
    push_rows("thoughts", &thoughts, &mut new.writes)?;
    push_rows("retrievables", &retrievables, &mut new.writes)?;
    let system_prompt = input.parts.system_prompt;
    Ok(PreparedTurn {
        new,
        machine,
        system_prompt,
        stash,
        nonce,
        memory_scope,
        instructions,
        messages,
        memories,
        thoughts,
        retrievables,
    })
}

/// Stores what a turn begins with.
async fn store_turn(
    runner: Arc<RunnerShared>,
    input: TurnInput,
    cancellation: Cancellation,
) -> Result<Box<RunningTurn>, TurnError> {
    runner.verify_secret().await?;
    let PreparedTurn {
        new,
        machine,
        system_prompt,
        stash,
        nonce,
        memory_scope,
        instructions,
        messages,
        memories,
        thoughts,
        retrievables,
    } = prepare_turn(&runner, input)?;
    let conversation = new.conversation.clone();
    let lease = runner.store.create(new, new_lease_request(&runner)).await?;
    let start = TurnStart {
        lease,
        conversation,
        memory_scope,
        nonce,
        system_prompt,
        stash,
        tools: Vec::new(),
        is_resumed: false,
        offered: HashSet::new(),
        gates: Vec::new(),
    };
    let driver = TurnDriver::new(&runner, start, cancellation);
    let ctx = driver.ctx.turn();
    for instruction in instructions {
        ctx.instructions().put(instruction);
    }
    for message in messages {
        ctx.messages().put(message);
    }
    for memory in memories {
        ctx.memories().put(memory);
    }
    for thought in thoughts {
        ctx.thoughts().put(thought);
    }
    for record in retrievables {
        // There is no call yet whose id it could have.
        ctx.restore_retrievable(record)?;
    }
    Ok(RunningTurn::new(machine, driver))
}

/// Makes the request of a lease that begins now.
pub(super) fn new_lease_request(runner: &RunnerShared) -> LeaseRequest {
    LeaseRequest::new(Arc::clone(&runner.name), runner.deadlines.lease)
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
