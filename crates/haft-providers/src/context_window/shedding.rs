//! Steps that make a prompt smaller, in their order.

use std::sync::Arc;

use haft_core::artifact::{ArtifactKind, SpooledArtifact};
use haft_core::call::{RecordId, ToolCall, ToolResults};
use haft_core::context::DispatchContext;
use haft_core::record::{Retrievable, RetrievableContent};
use haft_core::spool::SpoolKey;
use haft_core::tokens::TokenError;
use serde_json::{Value, json};

use crate::assembly::{AssembledPrompt, Omissions};
use crate::prompt::PromptEntry;

use super::{PromptSize, TokenCounter};

/// One step that makes the prompt smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SheddingStep {
    /// A result becomes a handle.
    Result(RecordId),
    /// Thoughts that are shown as text go, up to this number.
    Thoughts(u64),
    /// A retrieved record goes.
    Retrievable(String),
    /// A memory goes.
    Memory(String),
    /// The timeline begins with this number.
    Before(u64),
}

/// The steps that remain, each with an estimate of the tokens that it saves.
pub(crate) struct ContextShedder {
    steps: std::vec::IntoIter<PlannedStep>,
    done: Vec<Value>,
}

impl ContextShedder {
    /// Plans the steps for a turn and the prompt that was assembled from it.
    pub(crate) fn new(
        ctx: &DispatchContext,
        (assembled, size): (&AssembledPrompt, &PromptSize),
        omissions: &Omissions,
        counter: TokenCounter<'_>,
    ) -> Result<Self, TokenError> {
        let plan = SheddingPlan { ctx, omissions, counter };
        let mut steps = Vec::new();
        steps.extend(plan.thought_step()?);
        steps.extend(plan.result_steps()?);
        steps.extend(plan.retrievable_steps()?);
        steps.extend(plan.memory_steps()?);
        steps.extend(exchange_steps(assembled, size));
        Ok(Self { steps: steps.into_iter(), done: Vec::new() })
    }

    /// Takes steps until their estimates reach `need`. Returns whether it took any. Results go to the spool if it
    /// `spools`; else they are left out.
    pub(crate) async fn shed_tokens(
        &mut self,
        ctx: &DispatchContext,
        omissions: &mut Omissions,
        need: u64,
        spools: bool,
    ) -> bool {
        let before = self.done.len();
        let mut saved = 0_u64;
        while saved < need {
            let Some((step, tokens)) = self.steps.next() else { break };
            saved = saved.saturating_add(tokens);
            self.done.push(apply_step(ctx, omissions, step, spools).await);
        }
        self.done.len() > before
    }

    /// Whether there is more content that can be left out.
    pub(crate) fn has_steps(&self) -> bool {
        !self.steps.as_slice().is_empty()
    }

    /// The steps that were taken, for an event.
    pub(crate) fn report(&self) -> Option<Value> {
        (!self.done.is_empty()).then(|| Value::Array(self.done.clone()))
    }
}

/// Finds the steps for the records of a turn. Content that is already omitted is left out.
struct SheddingPlan<'p> {
    ctx: &'p DispatchContext,
    omissions: &'p Omissions,
    counter: TokenCounter<'p>,
}

/// A step, and an estimate of the tokens that it saves.
type PlannedStep = (SheddingStep, u64);

impl SheddingPlan<'_> {
    fn count_tokens(&self, text: &str) -> Result<u64, TokenError> {
        self.counter.count(text).map(|count| count.tokens)
    }

    /// Omits all thoughts but the newest: the model is in the middle of that one.
    fn thought_step(&self) -> Result<Option<PlannedStep>, TokenError> {
        let mut thoughts = self.ctx.turn().thoughts().numbered();
        thoughts.retain(|(number, _)| *number >= self.omissions.thoughts_before);
        let Some((newest, _)) = thoughts.pop() else { return Ok(None) };
        let mut saved = 0;
        for (_, thought) in thoughts.iter().filter(|(_, it)| it.payload().is_none()) {
            saved += self.count_tokens(thought.content().as_str())?;
        }
        Ok((saved > 0).then_some((SheddingStep::Thoughts(newest), saved)))
    }

    /// Omits large results of earlier iterations. Those of earlier turns come first, because they are in front.
    fn result_steps(&self) -> Result<Vec<PlannedStep>, TokenError> {
        let records = self.ctx.turn().tool_calls();
        let newest = records.of_turn().iter().map(|call| call.iteration).max();
        let is_newest =
            |call: &ToolCall| Some(call.iteration) == newest && !records.is_earlier(&call.id());
        let mut steps = Vec::new();
        for call in records.all().iter().filter(|call| !is_newest(call)) {
            if let Some(ToolResults::Text(text)) = &call.results
                && text.len() > MIN_SPOOLED_BYTES
                && !self.omissions.results.contains(&call.id())
            {
                steps.push((SheddingStep::Result(call.id()), self.count_tokens(text)?));
            }
        }
        Ok(steps)
    }

    /// Omits retrieved records, the lowest score first. A record without a score is below all others.
    fn retrievable_steps(&self) -> Result<Vec<PlannedStep>, TokenError> {
        let mut records = self.ctx.turn().retrievables().all();
        records.retain(|it| !self.omissions.retrievables.contains(it.id().as_str()));
        records.sort_by(|a, b| {
            let score = |it: &Retrievable| it.score().unwrap_or(-1.0);
            score(a).total_cmp(&score(b)).then_with(|| a.id().cmp(b.id()))
        });
        let mut steps = Vec::with_capacity(records.len());
        for record in records {
            let saved = match record.content() {
                RetrievableContent::Text(text) => self.count_tokens(text.as_str())?,
                RetrievableContent::Artifact(it) if record.inline() => {
                    it.reader().byte_length() / 4
                }
                _ => HANDLE_TOKENS,
            };
            steps.push((SheddingStep::Retrievable(record.id().as_str().to_owned()), saved));
        }
        Ok(steps)
    }

    /// Omits memories, the least important first.
    fn memory_steps(&self) -> Result<Vec<PlannedStep>, TokenError> {
        let mut memories = self.ctx.turn().memories().all();
        memories.retain(|it| !self.omissions.memories.contains(it.id().as_str()));
        memories.sort_by(|a, b| {
            a.importance().total_cmp(&b.importance()).then_with(|| a.id().cmp(b.id()))
        });
        let mut steps = Vec::with_capacity(memories.len());
        for memory in memories {
            let saved = self.count_tokens(memory.content().as_str())?;
            steps.push((SheddingStep::Memory(memory.id().as_str().to_owned()), saved));
        }
        Ok(steps)
    }
}

/// Smaller results stay: a handle is not shorter.
const MIN_SPOOLED_BYTES: usize = 1024;

/// Tokens of a handle.
const HANDLE_TOKENS: u64 = 100;

async fn apply_step(
    ctx: &DispatchContext,
    omissions: &mut Omissions,
    step: SheddingStep,
    spools: bool,
) -> Value {
    match step {
        SheddingStep::Result(id) => match if spools { spool_result(ctx, id).await } else { None } {
            Some(()) => json!({ "step": "result-to-handle", "call": id.to_string() }),
            None => {
                omissions.results.insert(id);
                json!({ "step": "result-left-out", "call": id.to_string() })
            }
        },
        SheddingStep::Retrievable(id) => {
            let report = json!({ "step": "retrievable-left-out", "id": id });
            omissions.retrievables.insert(id);
            report
        }
        SheddingStep::Thoughts(number) => {
            omissions.thoughts_before = number;
            json!({ "step": "thoughts-left-out", "before": number })
        }
        SheddingStep::Memory(id) => {
            let report = json!({ "step": "memory-left-out", "id": id });
            omissions.memories.insert(id);
            report
        }
        SheddingStep::Before(number) => {
            omissions.before = number;
            json!({ "step": "exchange-left-out", "before": number })
        }
    }
}

/// Moves a result into the spool, where it can be queried. `None` if that is not possible.
async fn spool_result(ctx: &DispatchContext, id: RecordId) -> Option<()> {
    let call = ctx.turn().tool_calls().get(&id)?;
    let spooler = ctx.turn().spooler()?;
    let Some(ToolResults::Text(text)) = &call.results else { return None };
    if call.from_artifact_tool {
        return None;
    }
    let key = SpoolKey::of_turn(ctx.turn_id(), id);
    let reader = spooler.store().write(key, text.as_str().into()).await.ok()?;
    let artifact = SpooledArtifact::new(ArtifactKind::TEXT, reader, call.label());
    let mut call = ToolCall::clone(&call);
    call.results = Some(ToolResults::Artifacts(vec![artifact]));
    ctx.turn().store_tool_call(Arc::new(call)).await.ok()
}

/// The steps that leave out exchanges, each with what the prompt says of it. Entries that an earlier step has made smaller
/// save less; the prompt is measured again.
fn exchange_steps(assembled: &AssembledPrompt, size: &PromptSize) -> Vec<(SheddingStep, u64)> {
    let mut sizes = assembled.numbers.iter().zip(&size.per_entry).peekable();
    let steps = exchange_starts(assembled).into_iter().map(|start| {
        let mut saved = 0_u64;
        while let Some((_, tokens)) = sizes.next_if(|(number, _)| **number != start) {
            saved = saved.saturating_add(*tokens);
        }
        (SheddingStep::Before(start), saved)
    });
    steps.collect()
}

/// The record numbers at which exchanges begin, without the first one: at a message to the model that follows a
/// generation. The timeline can begin no later than at the last of them.
pub(crate) fn exchange_starts(assembled: &AssembledPrompt) -> Vec<u64> {
    let entries = assembled.prompt.timeline.iter().zip(&assembled.numbers);
    let mut numbers = Vec::new();
    let mut after_generation = false;
    for (entry, number) in entries {
        match entry {
            PromptEntry::User(_) if after_generation && *number != u64::MAX => {
                numbers.push(*number);
                after_generation = false;
            }
            PromptEntry::Assistant(_) => after_generation = true,
            PromptEntry::User(_) | PromptEntry::ToolResults(_) => {}
        }
    }
    numbers
}
