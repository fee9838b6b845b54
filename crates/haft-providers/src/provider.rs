//! The provider: a model behind HTTP, as an executor of steps.

mod builder;
mod error;
mod excerpt;
mod exchange;
mod prompt;
mod request;
mod response;
mod step;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::answer::AnswerFormat;
use haft_core::event::EventKind;
use haft_core::step::{
    DispatchExecutor, ExecutorDescription, Step, StepContext, StepError, StepRequest,
};
use haft_core::tokens::Estimators;
use haft_core::trust::{EnvelopeScope, EnvelopeSecret, PromptRenderer};
use haft_core::usage::Usage;
use haft_http::uri;
use serde_json::Value;

pub use self::builder::ProviderBuilder;
pub use self::error::ProviderError;
pub use self::excerpt::ResponseExcerpt;
use self::exchange::Exchange;
use self::response::FinishedResponse;
use crate::assembly::{MediaCache, RenderCache};
use crate::context_window::TokenCache;
use crate::dialect::{AnswerRequest, Delivery, Dialect, ModelRequest, RequestNote};
use crate::generation::{Generation, GenerationOutcome};
use crate::options::{
    ControlOptions, InvalidOptions, OptionSchema, Options, ResolvedOptions, StructuredOutput,
};
use crate::retry::RetryPolicy;
use crate::summary::RollingSummary;
use crate::transport::{Secret, Transport};
use crate::wire_names::WireNames;

/// Hosts whose servers encode content apart from control tokens, with all that end in them.
const SAFE_HOSTS: [&str; 7] = [
    "api.openai.com",
    "api.anthropic.com",
    "generativelanguage.googleapis.com",
    "aiplatform.googleapis.com",
    "openai.azure.com",
    "services.ai.azure.com",
    "api.x.ai",
];

/// A model behind HTTP: a [`DispatchExecutor`] that uses a [`Dialect`].
///
/// It has no state between steps: one provider serves any number of turns at the same time. Options can be given to the
/// builder, to [`with_options`](Self::with_options), and per turn in the stash under the name of the dialect.
///
/// - A response without calls ends the dispatch, unless output middleware withholds the end.
/// - A response that is longer than allowed, was refused or filtered fails the dispatch; its text is recorded, and its
///   calls are never made. An empty response fails the dispatch as well.
/// - A response that breaks off, stalls or cannot be read is requested again, within the retry policy.
/// - A request that fails after all retries is a [`StepError`] with one of the [`codes`](crate::codes), which says whether
///   a retry may help. If it may, the turn stays open and can be resumed.
///
/// ```
/// use haft_providers::dialects::chat_completions::ChatCompletions;
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
/// # Ok::<(), haft_providers::ProviderError>(())
/// ```
#[derive(Clone)]
pub struct Provider {
    state: Arc<ProviderState>,
    overrides: Options,
    resolved: Arc<ResolvedOptions>,
}

struct ProviderState {
    /// The name of the provider, which need not be that of its dialect.
    name: String,
    dialect: Arc<dyn Dialect>,
    schema: OptionSchema,
    options: Options,
    base_url: String,
    key: Option<Secret>,
    exposure: KeyExposure,
    transport: Arc<dyn Transport>,
    retry: RetryPolicy,
    estimators: Estimators,
    /// What was counted before.
    token_cache: TokenCache,
    /// The names of envelopes are derived from it, in turns of runners without a secret.
    secret: EnvelopeSecret,
    observers: Observers,
    rolling_summary: Option<RollingSummary>,
    media_cache: MediaCache,
    render_cache: RenderCache,
}

/// A request and its response.
struct ModelExchange {
    request: StepRequest,
    response: FinishedResponse,
    names: WireNames,
    /// The usage of summaries.
    summary_usage: Usage,
}

/// What a prompt is assembled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PromptPurpose {
    /// It is sent. Content that does not fit is summarized or moved to the spool.
    Send,
    /// It is shown. Nothing else happens.
    Show,
}

/// Whether keys may go over plain http to other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyExposure {
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

/// A request that is about to be sent, without the API key.
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
    /// How the response is delivered.
    pub delivery: Delivery,
    /// How many records and sections of records were rendered for it; the others were rendered for an earlier request of
    /// the turn.
    pub rendered_parts: usize,
}

/// A response that was read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GenerationReport<'r> {
    /// The dialect.
    pub dialect: &'static str,
    /// The turn.
    pub turn: &'r str,
    /// The iteration.
    pub iteration: u32,
    /// The generation.
    pub generation: &'r Generation,
    /// Its outcome.
    pub outcome: GenerationOutcome,
}

impl Provider {
    /// A provider to be configured, for a model.
    pub fn builder(dialect: impl Dialect, model: impl Into<String>) -> ProviderBuilder {
        ProviderBuilder::new(Arc::new(dialect), model)
    }

    /// Returns the same provider with further options, which override those that it has.
    ///
    /// ```
    /// use haft_providers::dialects::chat_completions::ChatCompletions;
    /// use haft_providers::{Options, Provider};
    ///
    /// let model = Provider::builder(ChatCompletions::new(), "m").key("k").build()?;
    /// assert!(model.with_options(Options::new().with("temperature", 0.2)).is_ok());
    /// assert!(model.with_options(Options::new().with("temperature", "warm")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// All problems of the options.
    pub fn with_options(&self, options: impl Into<Options>) -> Result<Self, InvalidOptions> {
        let state = &self.state;
        let options = self.overrides.overridden_by(&options.into());
        let layers = [&state.options, &options];
        let resolved = state.schema.resolve(&*state.dialect, &layers, &state.estimators)?;
        let state = Arc::clone(state);
        Ok(Self { state, overrides: options, resolved: Arc::new(resolved) })
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.resolved.control.model
    }

    /// The options of this turn.
    fn resolve_options(&self, ctx: &StepContext) -> Result<Arc<ResolvedOptions>, InvalidOptions> {
        let state = &self.state;
        let stash = ctx.dispatch().stash();
        let resolved = match stash.get(state.dialect.name()) {
            None => Arc::clone(&self.resolved),
            Some(options) => {
                let turn = Options::from(options);
                let layers = [&state.options, &self.overrides, &turn];
                state.schema.resolve(&*state.dialect, &layers, &state.estimators).map(Arc::new)?
            }
        };
        Ok(match stash.get(AnswerFormat::STASH_KEY) {
            Some(stored) => self.add_answer_format(ctx, resolved, stored),
            None => resolved,
        })
    }

    /// Adds the options that request an answer of the turn's format, if the provider enforces formats.
    fn add_answer_format(
        &self,
        ctx: &StepContext,
        mut resolved: Arc<ResolvedOptions>,
        stored: Value,
    ) -> Arc<ResolvedOptions> {
        let is_native = match resolved.control.structured_output {
            Some(output) => output == StructuredOutput::Native,
            None => self.state.is_own_service(),
        };
        // The loop reports a format that cannot be read.
        if is_native && let Ok(format) = AnswerFormat::from_stored(stored) {
            let offers_tools = !ctx.dispatch().tools().is_empty();
            let request = AnswerRequest { format: &format, offers_tools };
            let options = &mut Arc::make_mut(&mut resolved).wire;
            self.state.dialect.add_answer_options(options, &request);
        }
        resolved
    }

    async fn take_step(&self, ctx: &StepContext) -> Result<Step, ProviderError> {
        let resolved = self.resolve_options(ctx)?;
        let exchange = match self.request_generation(ctx, &resolved).await {
            // Once more at most: then there is nothing left to leave out.
            Err(error)
                if self.is_replay_rejected(&error) && self.omit_rejected_replays(ctx, &error) =>
            {
                self.request_generation(ctx, &resolved).await
            }
            exchange => exchange,
        };
        let ModelExchange { request, response, names, summary_usage } = exchange?;
        let dialect = self.state.dialect.name();
        let step = step::build_step(ctx, dialect, &resolved.control, &names, response)?;
        let usage = step.usage + summary_usage;
        Ok(step.usage(usage).request(request))
    }

    /// Sends the turn as it is, and reads the response.
    async fn request_generation(
        &self,
        ctx: &StepContext,
        resolved: &ResolvedOptions,
    ) -> Result<ModelExchange, ProviderError> {
        let (state, control) = (&self.state, &resolved.control);
        let dialect = state.dialect.name();
        let (assembled, summary_usage) =
            self.fit_to_window(ctx, resolved, PromptPurpose::Send).await?;
        emit_notes(ctx, dialect, &assembled.notes);
        let request = ModelRequest::new(&control.model, &assembled.prompt, &resolved.wire);
        let request = request.delivery(control.delivery);
        let encoded = state.dialect.encode_request(&request)?;
        emit_notes(ctx, dialect, &encoded.notes);
        let (turn, iteration) = (ctx.dispatch().turn_id(), ctx.dispatch().iteration());
        state.observers.report_prompt(&PromptReport {
            dialect,
            model: &control.model,
            turn,
            iteration,
            body: &encoded.body,
            delivery: control.delivery,
            rendered_parts: assembled.rendered_parts,
        });
        let sent = request::describe_request(&request, encoded.body.clone());
        let (request, is_observed) = (&request, true);
        let exchange = Exchange { ctx, control, request, encoded, is_observed };
        let response = state.request_response(exchange).await?;
        let (generation, outcome) = (&response.generation, response.outcome);
        let report = GenerationReport { dialect, turn, iteration, generation, outcome };
        state.observers.report_generation(&report);
        Ok(ModelExchange { request: sent, response, names: assembled.names, summary_usage })
    }

    /// Renders the request that the next step would send.
    async fn encode_step_request(&self, ctx: &StepContext) -> Result<StepRequest, ProviderError> {
        let resolved = self.resolve_options(ctx)?;
        let (assembled, _) = self.fit_to_window(ctx, &resolved, PromptPurpose::Show).await?;
        let model = &resolved.control.model;
        let request = ModelRequest::new(model, &assembled.prompt, &resolved.wire);
        let request = request.delivery(resolved.control.delivery);
        let body = self.state.dialect.encode_request(&request)?.body;
        Ok(request::describe_request(&request, body))
    }
}

impl ProviderState {
    /// Whether requests go to the service whose API the dialect implements, and not to another one with a compatible
    /// API.
    fn is_own_service(&self) -> bool {
        self.dialect.is_own_service(&uri::host(&self.base_url))
    }

    /// The renderer of a turn, with the key that the runner gives, else one of the provider's own secret. No other
    /// conversation has its key, so that a name that leaks from one is useless in another.
    fn turn_renderer(&self, ctx: &StepContext, control: &ControlOptions) -> PromptRenderer {
        let turn = ctx.dispatch().turn();
        let own_key = || {
            let scope = EnvelopeScope::of(turn.turn_id(), turn.conversation());
            self.secret.derive_key(scope)
        };
        let renderer = PromptRenderer::new(turn.envelope_key().cloned().unwrap_or_else(own_key));
        let is_neutralized = control.neutralize_control_tokens;
        if is_neutralized.unwrap_or_else(|| self.may_apply_chat_template()) {
            renderer.neutralizing_control_tokens()
        } else {
            renderer
        }
    }

    /// Whether the server may put content as text into a chat template: it does by its dialect, or nothing is known about
    /// the server at this address.
    fn may_apply_chat_template(&self) -> bool {
        let host = uri::host(&self.base_url);
        let is_known = self.dialect.is_own_service(&host)
            || SAFE_HOSTS.iter().any(|known| {
                host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            });
        self.dialect.applies_chat_template() || !is_known
    }
}

impl DispatchExecutor for Provider {
    fn step(&self, ctx: StepContext) -> BoxFuture<'_, Result<Step, StepError>> {
        Box::pin(async move {
            let cancelled = ctx.dispatch().cancellation().cancelled();
            tokio::select! {
                biased;
                reason = cancelled => Err(StepError::new(format!("cancelled: {reason}"))),
                step = self.take_step(&ctx) => step.map_err(error::to_step_error),
            }
        })
    }

    fn description(&self) -> ExecutorDescription {
        let state = &self.state;
        let mut options = state.options.overridden_by(&self.overrides).into_values();
        // Headers may carry keys, and the model is named beside the options.
        for name in ["headers", "model"] {
            options.remove(name);
        }
        ExecutorDescription::Model {
            provider: state.name.clone(),
            model: self.model().to_owned(),
            options,
            base_url: haft_http::redact::url(&state.base_url),
        }
    }

    fn render_request(
        &self,
        ctx: StepContext,
    ) -> BoxFuture<'_, Result<Option<StepRequest>, StepError>> {
        Box::pin(async move {
            let request = self.encode_step_request(&ctx).await;
            request.map(Some).map_err(error::to_step_error)
        })
    }
}

/// Prints neither key nor headers.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("dialect", &self.state.dialect.name())
            .field("model", &self.model())
            .finish_non_exhaustive()
    }
}

impl Observers {
    fn report_prompt(&self, report: &PromptReport<'_>) {
        for observer in &self.prompt {
            // A panic of an observer must not fail the step.
            let _ = catch_unwind(AssertUnwindSafe(|| observer(report)));
        }
    }

    fn report_generation(&self, report: &GenerationReport<'_>) {
        for observer in &self.generation {
            let _ = catch_unwind(AssertUnwindSafe(|| observer(report)));
        }
    }
}

/// Emits a warning for each note.
fn emit_notes(ctx: &StepContext, source: &'static str, notes: &[RequestNote]) {
    for note in notes {
        ctx.dispatch().emit_with(|| EventKind::Warning {
            source: source.into(),
            topic: note.topic.as_str().into(),
            message: note.message.as_str().into(),
            payload: None,
        });
    }
}
