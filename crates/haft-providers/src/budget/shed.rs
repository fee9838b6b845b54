//! What is left out, and in which order.

use std::sync::Arc;

use haft_core::artifact::{ArtifactKind, SpooledArtifact};
use haft_core::call::{RecordId, ToolCall, ToolResults};
use haft_core::context::DispatchContext;
use haft_core::record::{Retrievable, RetrievableContent};
use haft_core::spool::SpoolKey;
use haft_core::tokens::{Estimators, TokenError};
use serde_json::{Value, json};

use crate::assemble::{Assembled, Omit};
use crate::prompt::Entry;

/// One thing that can be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
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

/// The steps that are left, each with the tokens that it is thought to save.
pub(crate) struct Shedder {
    steps: std::vec::IntoIter<(Step, u64)>,
    done: Vec<Value>,
}

impl Shedder {
    /// The plan for a turn and the prompt that was made of it.
    pub(crate) fn new(
        ctx: &DispatchContext,
        assembled: &Assembled,
        estimators: &Estimators,
        encoding: &str,
    ) -> Result<Self, TokenError> {
        let tokens = |text: &str| -> Result<u64, TokenError> {
            Ok(estimators.count_or_estimate(encoding, text, |_| {})?.tokens)
        };
        let mut steps = Vec::new();
        // The newest one stays: the model is in the middle of it.
        let mut thoughts = ctx.turn().thoughts().numbered();
        if let Some((newest, _)) = thoughts.pop() {
            let mut saved = 0;
            for (_, thought) in thoughts.iter().filter(|(_, it)| it.payload().is_none()) {
                saved += tokens(thought.content().as_str())?;
            }
            if saved > 0 {
                steps.push((Step::Thoughts(newest), saved));
            }
        }
        let calls = ctx.turn().tool_calls().all();
        let newest = calls.iter().map(|call| call.iteration).max();
        for call in calls.iter().filter(|call| Some(call.iteration) != newest) {
            if let Some(ToolResults::Text(text)) = &call.results
                && text.len() > WORTH_IT
            {
                steps.push((Step::Result(call.id()), tokens(text)?));
            }
        }
        let mut records = ctx.turn().retrievables().all();
        // The lowest score first; one without a score is below all others.
        records.sort_by(|a, b| {
            let score = |it: &Retrievable| it.score().unwrap_or(-1.0);
            score(a).total_cmp(&score(b)).then_with(|| a.id().cmp(b.id()))
        });
        for record in records {
            let saved = match record.content() {
                RetrievableContent::Text(text) => tokens(text.as_str())?,
                RetrievableContent::Artifact(it) if record.inline() => {
                    it.reader().byte_length() / 4
                }
                _ => HANDLE,
            };
            steps.push((Step::Retrievable(record.id().as_str().to_owned()), saved));
        }
        let mut memories = ctx.turn().memories().all();
        memories.sort_by(|a, b| {
            a.importance().total_cmp(&b.importance()).then_with(|| a.id().cmp(b.id()))
        });
        for memory in memories {
            let saved = tokens(memory.content().as_str())?;
            steps.push((Step::Memory(memory.id().as_str().to_owned()), saved));
        }
        steps.extend(exchanges(assembled).into_iter().map(|number| (Step::Before(number), 0)));
        Ok(Self { steps: steps.into_iter(), done: Vec::new() })
    }

    /// Takes steps until they are thought to save so many tokens, and says whether it took any.
    pub(crate) async fn shed(&mut self, ctx: &DispatchContext, omit: &mut Omit, need: u64) -> bool {
        let before = self.done.len();
        let mut saved = 0_u64;
        while saved < need {
            let Some((step, tokens)) = self.steps.next() else { break };
            saved = saved.saturating_add(tokens);
            let whole = matches!(step, Step::Before(_));
            self.done.push(apply(ctx, omit, step).await);
            if whole {
                // How much an exchange is shows when the prompt is measured again.
                break;
            }
        }
        self.done.len() > before
    }

    /// What was done, for an event.
    pub(crate) fn report(&self) -> Option<Value> {
        (!self.done.is_empty()).then(|| Value::Array(self.done.clone()))
    }
}

/// Results of fewer bytes stay: a handle is not shorter.
const WORTH_IT: usize = 1024;

/// Tokens of a handle.
const HANDLE: u64 = 100;

async fn apply(ctx: &DispatchContext, omit: &mut Omit, step: Step) -> Value {
    match step {
        Step::Result(id) => match to_handle(ctx, id).await {
            Some(()) => json!({ "step": "result-to-handle", "call": id.to_string() }),
            None => {
                omit.results.insert(id);
                json!({ "step": "result-left-out", "call": id.to_string() })
            }
        },
        Step::Retrievable(id) => {
            let report = json!({ "step": "retrievable-left-out", "id": id });
            omit.retrievables.insert(id);
            report
        }
        Step::Thoughts(number) => {
            omit.thoughts_before = number;
            json!({ "step": "thoughts-left-out", "before": number })
        }
        Step::Memory(id) => {
            let report = json!({ "step": "memory-left-out", "id": id });
            omit.memories.insert(id);
            report
        }
        Step::Before(number) => {
            omit.before = number;
            json!({ "step": "exchange-left-out", "before": number })
        }
    }
}

/// Puts a result into the spool, where it can be queried. Nothing if it cannot.
async fn to_handle(ctx: &DispatchContext, id: RecordId) -> Option<()> {
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

/// Where exchanges begin, the first one left out: with something that was said to the model, after the model has
/// spoken. The last one is where the timeline can begin at the latest.
pub(crate) fn exchanges(assembled: &Assembled) -> Vec<u64> {
    let entries = assembled.prompt.timeline.iter().zip(&assembled.numbers);
    let mut numbers = Vec::new();
    let mut spoken = false;
    for (entry, number) in entries {
        match entry {
            Entry::Heard(_) if spoken && *number != u64::MAX => {
                numbers.push(*number);
                spoken = false;
            }
            Entry::Own(_) => spoken = true,
            Entry::Heard(_) | Entry::Results(_) => {}
        }
    }
    numbers
}
