//! A model behind HTTP, as an executor.

mod builder;
mod error;
mod exchange;
mod hearing;
mod outcome;
mod replays;
mod summaries;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use haft_core::event::{EventKind, LogLevel};
use haft_core::step::{DispatchExecutor, Step, StepContext, StepError, StepFuture};
use haft_core::tokens::Estimators;
use haft_core::trust::{EnvelopeKey, PromptRenderer};
use haft_core::usage::Usage;
use serde_json::json;
use sha2::{Digest as _, Sha256};

pub use self::builder::ProviderBuilder;
pub use self::error::ProviderError;
use self::hearing::Heard;
use super::assemble::{Assembled, MediaCache, assemble};
use super::budget::{Measured, Shedder};
use super::dialect::{Dialect, Note, Request};
use super::generation::{Generation, Outcome};
use super::names::WireNames;
use super::options::{InvalidOptions, OptionSchema, Options, Resolved};
use super::retry::RetryPolicy;
use super::summary::RollingSummary;
use super::transport::{Secret, Transport};

/// A model behind HTTP: an [`DispatchExecutor`] that speaks a [`Dialect`].
///
/// It keeps nothing between steps: one provider serves any number of turns at the same time. Options can be given to the
/// builder, to [`with_options`](Self::with_options), and per turn in the stash under the key of the dialect.
///
/// - An answer without calls ends the dispatch, unless output middleware withholds the end. With `autoAck: false` it does
///   not: output middleware has to end the dispatch, or the model is asked again.
/// - An answer that broke off, is longer than allowed, was refused or filtered fails the dispatch; its text is kept, and
///   its calls are never made. So does an answer of nothing.
/// - A request that fails for good is a [`StepError`] with the code of the dialect, which says whether trying again may
///   help.
///
/// ```
/// use haft_providers::chat_completions::ChatCompletions;
/// use haft_providers::{Options, Provider};
///
/// let model = Provider::builder(ChatCompletions::new(), "gpt-5-mini")
///     .key("sk-…")
///     .options(Options::new().with("temperature", 0.2))
///     .build()?;
/// let careful = model.with_options(Options::new().with("reasoning_effort", "high"))?;
/// assert_eq!(careful.model(), "gpt-5-mini");
///
/// let refused = model.with_options(Options::new().with("temprature", 0.2)).unwrap_err();
/// assert!(refused.to_string().contains("did you mean `temperature`?"), "{refused}");
/// # Ok::<(), haft_providers::provider::ProviderError>(())
/// ```
pub struct Provider<D: Dialect> {
    shared: Arc<Shared<D>>,
    overrides: Options,
    resolved: Arc<Resolved>,
}

struct Shared<D> {
    dialect: D,
    schema: OptionSchema,
    options: Options,
    base_url: String,
    key: Option<Secret>,
    exposure: Exposure,
    transport: Arc<dyn Transport>,
    retry: RetryPolicy,
    estimators: Estimators,
    /// What the names of envelopes follow from.
    secret: [u8; 32],
    observers: Observers,
    rolling: Option<RollingSummary>,
    media_cache: MediaCache,
}

/// What came of a request.
struct Asked {
    heard: Heard,
    names: WireNames,
    /// What summaries cost.
    summaries: Usage,
}

/// Whether keys may go over plain http to other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exposure {
    Refused,
    Allowed,
}

type PromptObserver = Arc<dyn Fn(&PromptReport<'_>) + Send + Sync>;
type GenerationObserver = Arc<dyn Fn(&GenerationReport<'_>) + Send + Sync>;

#[derive(Clone, Default)]
struct Observers {
    prompt: Vec<PromptObserver>,
    generation: Vec<GenerationObserver>,
}

/// A request that is about to be sent. It has no key.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PromptReport<'r> {
    /// The dialect.
    pub dialect: &'static str,
    /// The model.
    pub model: &'r str,
    /// The turn.
    pub turn: &'r str,
    /// The iteration.
    pub iteration: u32,
    /// The body, JSON.
    pub body: &'r [u8],
    /// Whether the answer comes in pieces.
    pub stream: bool,
}

/// An answer that has come.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GenerationReport<'r> {
    /// The dialect.
    pub dialect: &'static str,
    /// The turn.
    pub turn: &'r str,
    /// The iteration.
    pub iteration: u32,
    /// The answer.
    pub generation: &'r Generation,
    /// What came of it.
    pub outcome: Outcome,
}

impl<D: Dialect> Provider<D> {
    /// A provider that is still being put together, for a model.
    pub fn builder(dialect: D, model: impl Into<String>) -> ProviderBuilder<D> {
        ProviderBuilder::new(dialect, model.into())
    }

    /// The same provider with other options, over those that it has.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the options.
    pub fn with_options(&self, options: impl Into<Options>) -> Result<Self, InvalidOptions> {
        let shared = &self.shared;
        let options = self.overrides.below(&options.into());
        let layers = [&shared.options, &options];
        let resolved = shared.schema.resolve(&shared.dialect, &layers, &shared.estimators)?;
        let shared = Arc::clone(shared);
        Ok(Self { shared, overrides: options, resolved: Arc::new(resolved) })
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.resolved.control.model
    }

    /// The options for this turn.
    fn resolve(&self, cx: &StepContext) -> Result<Arc<Resolved>, InvalidOptions> {
        let shared = &self.shared;
        let Some(stash) = cx.dispatch().stash().get(shared.dialect.stash_key()) else {
            return Ok(Arc::clone(&self.resolved));
        };
        let turn = Options::from(stash);
        let layers = [&shared.options, &self.overrides, &turn];
        shared.schema.resolve(&shared.dialect, &layers, &shared.estimators).map(Arc::new)
    }

    async fn take_step(&self, cx: &StepContext) -> Result<Step, ProviderError> {
        let resolved = self.resolve(cx)?;
        self.guard_tool_choice(cx, &resolved)?;
        let asked = match self.ask(cx, &resolved).await {
            // Once more at most: then there is nothing left to leave out.
            Err(error) if self.is_replay_rejected(&error) && self.leave_replays_out(cx, &error) => {
                self.ask(cx, &resolved).await
            }
            asked => asked,
        };
        let Asked { heard, names, summaries } = asked?;
        let step = outcome::step(cx, &self.shared.dialect, &resolved.control, &names, heard)?;
        let usage = step.usage + summaries;
        Ok(step.usage(usage))
    }

    /// Sends the turn as it is, and listens to the answer.
    async fn ask(&self, cx: &StepContext, resolved: &Resolved) -> Result<Asked, ProviderError> {
        let shared = &self.shared;
        let control = &resolved.control;
        let (assembled, summaries) = self.fitting(cx, resolved).await?;
        note(cx, shared.dialect.name(), &assembled.notes);
        let request = Request {
            model: &control.model,
            prompt: &assembled.prompt,
            options: &resolved.wire,
            stream: control.stream,
        };
        let encoded = shared.dialect.encode(&request)?;
        note(cx, shared.dialect.name(), &encoded.notes);
        shared.observers.prompt(&PromptReport {
            dialect: shared.dialect.name(),
            model: &control.model,
            turn: cx.dispatch().turn_id(),
            iteration: cx.dispatch().iteration(),
            body: &encoded.body,
            stream: control.stream,
        });
        let decoder = shared.dialect.decoder(&request);
        let hearing = hearing::Hearing::new(cx, control, &assembled.prompt);
        let heard = shared.exchange(cx, control, encoded.body, (decoder, hearing)).await?;
        shared.observers.generation(&GenerationReport {
            dialect: shared.dialect.name(),
            turn: cx.dispatch().turn_id(),
            iteration: cx.dispatch().iteration(),
            generation: &heard.generation,
            outcome: heard.outcome,
        });
        Ok(Asked { heard, names: assembled.names, summaries })
    }

    /// Tools that live only for the dispatch should not be forced: the next request may not have them.
    fn guard_tool_choice(
        &self,
        cx: &StepContext,
        resolved: &Resolved,
    ) -> Result<(), ProviderError> {
        let dialect = &self.shared.dialect;
        let mut forced = dialect.forced_tools(&resolved.wire);
        forced
            .retain(|name| cx.dispatch().tools().get(name).is_some_and(|tool| tool.is_ephemeral()));
        if forced.is_empty() {
            return Ok(());
        }
        let message = format!(
            "`tool_choice` names `{}`, which lives only for this dispatch",
            forced.join("`, `")
        );
        if resolved.control.strict_tool_choice {
            return Err(self.shared.schema.refused(message).into());
        }
        cx.dispatch().emit_with(|| EventKind::Warning {
            source: dialect.name().into(),
            topic: "tool-choice-forged-artifact".into(),
            message: message.into(),
            payload: Some(json!({ "toolNames": forced }).into()),
        });
        Ok(())
    }

    /// A prompt that fits into the context window, and what it cost to make it.
    async fn fitting(
        &self,
        cx: &StepContext,
        resolved: &Resolved,
    ) -> Result<(Assembled, Usage), ProviderError> {
        let (shared, control) = (&self.shared, &resolved.control);
        let (ctx, renderer) = (cx.dispatch(), shared.renderer(cx));
        let mut how = control.how.clone();
        how.media_cache = shared.media_cache.clone();
        how.omit.replays_before = self.replays_before(cx);
        let (mut assembled, summaries) = self.summarised(cx, control, &renderer, &mut how).await?;
        let (Some(encoding), Some(window)) = (&control.token_encoding, control.context_window)
        else {
            return Ok((assembled, summaries));
        };
        let reserve =
            control.output_reserve.or_else(|| shared.dialect.output_limit(&resolved.wire));
        let limit = window.saturating_sub(reserve.unwrap_or(0));
        let estimators = &shared.estimators;
        let mut shedder = None;
        loop {
            let measured = Measured::of(&assembled.prompt, estimators, encoding)?;
            let report = || Some(measured.report(limit, encoding));
            ctx.log(LogLevel::Debug, "context-window-usage", "the size of the prompt", report());
            if measured.total <= limit {
                let done = shedder.as_ref().and_then(Shedder::report);
                if let Some(done) = done {
                    ctx.log(
                        LogLevel::Info,
                        "context-shed",
                        "the prompt was made to fit",
                        Some(done),
                    );
                }
                return Ok((assembled, summaries));
            }
            let need = measured.total - limit;
            let fits = if control.context_shedding {
                if shedder.is_none() {
                    shedder = Some(Shedder::new(ctx, &assembled, estimators, encoding)?);
                }
                match &mut shedder {
                    Some(shedder) => shedder.shed(ctx, &mut how.omit, need).await,
                    None => false,
                }
            } else {
                false
            };
            if !fits {
                let code = shared.dialect.codes().overflow;
                return Err(ProviderError::overflow(code, &measured, limit, encoding));
            }
            assembled = assemble(ctx, &shared.dialect, &renderer, &how).await?;
        }
    }
}

impl<D> Shared<D> {
    /// The renderer of a turn. Its key is that of no other turn, so that what one turn gives away opens nothing in another.
    fn renderer(&self, cx: &StepContext) -> PromptRenderer {
        let mut hash = Sha256::new();
        hash.update(self.secret);
        hash.update(cx.dispatch().turn_id());
        PromptRenderer::new(EnvelopeKey::from_bytes(hash.finalize().into()))
    }
}

impl<D: Dialect> DispatchExecutor for Provider<D> {
    fn step(&self, cx: StepContext) -> StepFuture<'_> {
        Box::pin(async move {
            let cancelled = cx.dispatch().cancellation().cancelled();
            tokio::select! {
                biased;
                reason = cancelled => Err(StepError::new(format!("cancelled: {reason}"))),
                step = self.take_step(&cx) => step.map_err(error::to_step_error),
            }
        })
    }
}

impl<D: Dialect> Clone for Provider<D> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            overrides: self.overrides.clone(),
            resolved: Arc::clone(&self.resolved),
        }
    }
}

/// Without key and headers.
impl<D: Dialect> fmt::Debug for Provider<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("dialect", &self.shared.dialect.name())
            .field("model", &self.model())
            .finish_non_exhaustive()
    }
}

impl Observers {
    fn prompt(&self, report: &PromptReport<'_>) {
        for observer in &self.prompt {
            // An observer that panics loses this report and breaks nothing.
            let _ = catch_unwind(AssertUnwindSafe(|| observer(report)));
        }
    }

    fn generation(&self, report: &GenerationReport<'_>) {
        for observer in &self.generation {
            let _ = catch_unwind(AssertUnwindSafe(|| observer(report)));
        }
    }
}

/// Tells observers what was changed on the way.
fn note(cx: &StepContext, source: &'static str, notes: &[Note]) {
    for note in notes {
        cx.dispatch().emit_with(|| EventKind::Warning {
            source: source.into(),
            topic: note.topic.into(),
            message: note.message.as_str().into(),
            payload: None,
        });
    }
}
