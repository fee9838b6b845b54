//! Assembles a prompt that fits: summarizes old exchanges, leaves out rejected reasoning, sheds content.

use haft_core::BoxFuture;
use haft_core::context::DispatchContext;
use haft_core::error::Coded as _;
use haft_core::event::{EventKind, LogLevel};
use haft_core::step::StepContext;
use haft_core::tokens::TokenError;
use haft_core::trust::PromptRenderer;
use haft_core::usage::Usage;
use serde_json::json;

use super::exchange::Exchange;
use super::{PromptPurpose, Provider, ProviderError};
use crate::assembly::{AssembledPrompt, AssemblyOptions, assemble_prompt};
use crate::context_window::{ContextShedder, PromptSize, StoredOmissions, TokenCounter};
use crate::dialect::ModelRequest;
use crate::generation::GenerationOutcome;
use crate::options::{ControlOptions, ResolvedOptions};
use crate::prompt::{ContentPart, Prompt, PromptEntry, PromptSection, SystemPart, UserEntry};
use crate::retry::SendError;
use crate::summary::{
    StoredSummary, Summarizer, Summary, SummaryContext, SummaryError, SummaryRequest,
};

/// The key of the stash under which the id of the last rejected thought is stored, by dialect, so that rejected reasoning
/// is not sent again in every iteration.
const REJECTED_REPLAY_KEY: &str = "haftRejectedReplay";

/// The key of the stash under which what was left out is stored, by dialect.
const OMISSIONS_KEY: &str = "haftOmissions";

/// The part of the context window that is freed in addition, from the second time on: a turn that is at the limit again
/// would be there at every request.
const SHEDDING_MARGIN: u64 = 4;

impl Provider {
    /// Assembles a prompt that fits into the context window. Returns the usage of summaries with it.
    pub(super) async fn fit_to_window(
        &self,
        ctx: &StepContext,
        resolved: &ResolvedOptions,
        purpose: PromptPurpose,
    ) -> Result<(AssembledPrompt, Usage), ProviderError> {
        let (state, control) = (&self.state, &resolved.control);
        let renderer = state.turn_renderer(ctx, control);
        let stored = StoredOmissions::load(ctx.dispatch(), &self.omissions_key());
        let mut options = self.assembly_options(ctx, control, stored.as_ref());
        let (assembled, usage) = match purpose {
            PromptPurpose::Send => {
                self.summarize_history(ctx, control, &renderer, &mut options).await?
            }
            PromptPurpose::Show => {
                if state.rolling_summary.is_some() {
                    apply_stored_summary(ctx, &renderer, &mut options);
                }
                let dispatch = ctx.dispatch();
                let prompt =
                    assemble_prompt(dispatch, &*state.dialect, &renderer, &options).await?;
                (prompt, Usage::default())
            }
        };
        let (Some(encoding), Some(window)) = (&control.token_encoding, control.context_window)
        else {
            return Ok((assembled, usage));
        };
        let reserve = control.output_reserve.or_else(|| state.dialect.output_limit(&resolved.wire));
        let limit = window.saturating_sub(reserve.unwrap_or(0));
        // One target for the whole request: content goes until the prompt is below it, and not until it just fits.
        let margin = if stored.is_some() { limit / SHEDDING_MARGIN } else { 0 };
        let target = limit.saturating_sub(margin);
        let window =
            TokenWindow { encoding, limit, target, sheds: control.context_shedding, purpose };
        let assembled =
            self.shed_to_window(ctx.dispatch(), &window, (&renderer, options), assembled).await?;
        Ok((assembled, usage))
    }

    /// The options of the assembly, with what earlier requests left out.
    fn assembly_options(
        &self,
        ctx: &StepContext,
        control: &ControlOptions,
        stored: Option<&StoredOmissions>,
    ) -> AssemblyOptions {
        let mut options = control.assembly.clone();
        options.media_cache = self.state.media_cache.clone();
        options.render_cache = self.state.render_cache.clone();
        options.omissions.replays_before = self.first_replayable(ctx);
        if let Some(stored) = stored {
            stored.apply(ctx.dispatch(), &mut options.omissions);
        }
        options
    }

    /// Leaves out content until the prompt fits into the window.
    async fn shed_to_window(
        &self,
        dispatch: &DispatchContext,
        window: &TokenWindow<'_>,
        (renderer, mut options): (&PromptRenderer, AssemblyOptions),
        mut assembled: AssembledPrompt,
    ) -> Result<AssembledPrompt, ProviderError> {
        let (state, encoding) = (&self.state, window.encoding);
        let counter =
            TokenCounter { estimators: &state.estimators, encoding, cache: &state.token_cache };
        let mut shedder: Option<ContextShedder> = None;
        loop {
            let size = PromptSize::measure(&assembled.prompt, counter)?;
            let report = Some(size.report(window.limit, encoding));
            dispatch.log(LogLevel::Debug, "context-window-usage", "the size of the prompt", report);
            if window.fits(&size, shedder.as_ref()) {
                self.note_shedding(dispatch, window, shedder.as_ref(), &options);
                return Ok(assembled);
            }
            let overflow = || ProviderError::overflow(&size, window.limit, encoding);
            if !window.sheds {
                return Err(overflow());
            }
            let mut next = match shedder.take() {
                Some(shedder) => shedder,
                None => {
                    let measured = (&assembled, &size);
                    ContextShedder::new(dispatch, measured, &options.omissions, counter)?
                }
            };
            let excess = size.total.saturating_sub(window.target);
            let spools = window.purpose == PromptPurpose::Send;
            if !next.shed_tokens(dispatch, &mut options.omissions, excess, spools).await {
                return Err(overflow());
            }
            shedder = Some(next);
            let rendered_before = assembled.rendered_parts;
            assembled = assemble_prompt(dispatch, &*state.dialect, renderer, &options).await?;
            assembled.rendered_parts += rendered_before;
        }
    }

    /// Logs what was left out of a prompt that fits, and stores it if the prompt is sent.
    fn note_shedding(
        &self,
        dispatch: &DispatchContext,
        window: &TokenWindow<'_>,
        shedder: Option<&ContextShedder>,
        options: &AssemblyOptions,
    ) {
        let Some(steps) = shedder.and_then(ContextShedder::report) else { return };
        if window.purpose == PromptPurpose::Send {
            // The next request leaves it out again if it cannot be stored.
            let _ = StoredOmissions::store(dispatch, &self.omissions_key(), &options.omissions);
        }
        let message = "the prompt was made to fit";
        dispatch.log(LogLevel::Info, "context-shed", message, Some(steps));
    }

    /// Assembles the prompt, with a summary in place of old exchanges if there is a summarizer. Returns the usage of the
    /// summary with it.
    async fn summarize_history(
        &self,
        ctx: &StepContext,
        control: &ControlOptions,
        renderer: &PromptRenderer,
        options: &mut AssemblyOptions,
    ) -> Result<(AssembledPrompt, Usage), ProviderError> {
        let dispatch = ctx.dispatch();
        let dialect = &*self.state.dialect;
        let Some(summary) = &self.state.rolling_summary else {
            let assembled = assemble_prompt(dispatch, dialect, renderer, options).await?;
            return Ok((assembled, Usage::default()));
        };
        apply_stored_summary(ctx, renderer, options);
        let assembled = assemble_prompt(dispatch, dialect, renderer, options).await?;
        let estimators = &self.state.estimators;
        let count = |text: &str| -> Result<u64, TokenError> {
            match &control.token_encoding {
                Some(encoding) => Ok(estimators.count_or_estimate(encoding, text, |_| {})?.tokens),
                // An estimate, because there is no counter.
                None => Ok(text.len() as u64 / 4),
            }
        };
        let count = &count;
        let context = SummaryContext { ctx, source: dialect.name(), renderer, count };
        match summary.update_summary(&context, &assembled).await? {
            None => Ok((assembled, Usage::default())),
            Some(usage) => {
                apply_stored_summary(ctx, renderer, options);
                Ok((assemble_prompt(dispatch, dialect, renderer, options).await?, usage))
            }
        }
    }

    /// Requests a summary. Observers do not see it while it is generated.
    async fn request_summary(
        &self,
        ctx: &StepContext,
        request: SummaryRequest,
    ) -> Result<Summary, ProviderError> {
        let (state, resolved) = (&self.state, &self.resolved);
        let control = &resolved.control;
        let system = SystemPart::new(PromptSection::SystemPrompt, request.instructions);
        let entry = UserEntry::new(vec![ContentPart::Text(request.text)]);
        let prompt = Prompt {
            system: vec![system],
            timeline: vec![PromptEntry::User(entry)],
            ..Prompt::default()
        };
        let request = ModelRequest::new(&control.model, &prompt, &resolved.wire);
        let request = request.delivery(control.delivery);
        let encoded = state.dialect.encode_request(&request)?;
        let (request, is_observed) = (&request, false);
        let exchange = Exchange { ctx, control, request, encoded, is_observed };
        let response = state.request_response(exchange).await?;
        let (text, usage) = (response.generation.text, response.generation.usage);
        match response.outcome {
            GenerationOutcome::Completed | GenerationOutcome::Empty => {
                Ok(Summary::new(text).usage(usage))
            }
            other => Err(ProviderError::Summary {
                source: SummaryError::new(format!("the answer is {}", other.as_str())),
            }),
        }
    }

    /// The number of the first thought whose payload may be sent back.
    fn first_replayable(&self, ctx: &StepContext) -> u64 {
        let stash = ctx.dispatch().stash();
        let rejected: Option<String> = stash.get_as(self.rejected_replay_key()).ok().flatten();
        let Some(rejected) = rejected else { return 0 };
        let thoughts = ctx.dispatch().turn().thoughts().numbered().into_iter();
        let last = thoughts.rev().find(|(_, thought)| thought.id().as_str() == rejected);
        last.map_or(0, |(number, _)| number.saturating_add(1))
    }

    /// Whether the provider rejected reasoning that was sent back.
    pub(super) fn is_replay_rejected(&self, error: &ProviderError) -> bool {
        let ProviderError::Request { source } = error else { return false };
        let SendError::Status(response) = &**source else { return false };
        self.state.dialect.is_replay_rejected(response.status, &response.body)
    }

    /// Leaves out all reasoning that was sent back so far. Returns whether there was any.
    pub(super) fn omit_rejected_replays(&self, ctx: &StepContext, error: &ProviderError) -> bool {
        let known = self.first_replayable(ctx);
        let tags = self.state.dialect.replay_tags();
        let thoughts = ctx.dispatch().turn().thoughts().numbered();
        let sent = thoughts.iter().filter(|(number, thought)| {
            let tag = thought.replay_compatibility();
            let is_replayed = tag.is_some_and(|tag| tags.contains(&tag));
            *number >= known && thought.payload().is_some() && is_replayed
        });
        let Some((_, last)) = sent.max_by_key(|(number, _)| *number) else { return false };
        let id = last.id().as_str();
        if ctx.dispatch().stash().set(self.rejected_replay_key(), id).is_err() {
            return false;
        }
        ctx.dispatch().emit_with(|| EventKind::Warning {
            source: self.state.dialect.name().into(),
            topic: "reasoning-replay-rejected".into(),
            message: "the provider refused reasoning of earlier answers; it is asked once more without it"
                .into(),
            payload: Some(json!({ "answer": error.to_string() }).into()),
        });
        true
    }

    fn omissions_key(&self) -> String {
        format!("{OMISSIONS_KEY}.{}", self.state.dialect.name())
    }

    fn rejected_replay_key(&self) -> String {
        format!("{REJECTED_REPLAY_KEY}.{}", self.state.dialect.name())
    }
}

impl Summarizer for Provider {
    fn summarize<'a>(
        &'a self,
        ctx: &'a StepContext,
        request: SummaryRequest,
    ) -> BoxFuture<'a, Result<Summary, SummaryError>> {
        Box::pin(async move {
            self.request_summary(ctx, request).await.map_err(|error| {
                let retryable = error.retryable();
                let error = SummaryError::new(error.to_string()).with_source(error);
                if retryable { error.into_retryable() } else { error }
            })
        })
    }
}

/// The part of the context window that a prompt may take, in tokens.
struct TokenWindow<'a> {
    encoding: &'a str,
    /// The maximum number of tokens of a prompt.
    limit: u64,
    /// The maximum number of tokens of a prompt from which content is left out.
    target: u64,
    /// Whether content may be left out.
    sheds: bool,
    purpose: PromptPurpose,
}

impl TokenWindow<'_> {
    /// Whether a prompt of this size is sent as it is.
    fn fits(&self, size: &PromptSize, shedder: Option<&ContextShedder>) -> bool {
        let sheds_more =
            shedder.is_some_and(|shedder| size.total > self.target && shedder.has_steps());
        size.total <= self.limit && !sheds_more
    }
}

/// Replaces the records that the summary of the turn covers.
fn apply_stored_summary(
    ctx: &StepContext,
    renderer: &PromptRenderer,
    options: &mut AssemblyOptions,
) {
    if let Some((summary, until)) = StoredSummary::load(ctx.dispatch()) {
        options.omissions.before = options.omissions.before.max(until);
        options.summary = Some(summary.render(renderer));
    }
}
