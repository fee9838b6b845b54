//! Summaries of what was said long ago: for a turn of this provider, and by this provider for others.

use std::sync::Arc;

use haft_core::error::Coded as _;
use haft_core::record::{Identifier, Identity};
use haft_core::step::StepContext;
use haft_core::tokens::TokenError;
use haft_core::trust::PromptRenderer;
use haft_core::usage::Usage;

use super::hearing::Hearing;
use super::{Provider, ProviderError};
use crate::assemble::{Assembled, How, assemble};
use crate::dialect::{Dialect, Request};
use crate::generation::Outcome;
use crate::options::Control;
use crate::prompt::{Bucket, Content, Entry, Heard, Prompt, SystemPart};
use crate::summary::{
    Recalled, Rolling, Summarizer, Summary, SummaryError, SummaryFuture, SummaryRequest,
};

impl<D: Dialect> Provider<D> {
    /// The prompt, with a summary in place of what has become old if that is wanted, and what the summary cost.
    pub(super) async fn summarised(
        &self,
        cx: &StepContext,
        control: &Control,
        renderer: &PromptRenderer,
        how: &mut How,
    ) -> Result<(Assembled, Usage), ProviderError> {
        let (ctx, dialect) = (cx.dispatch(), &self.shared.dialect);
        let Some(summary) = &self.shared.rolling else {
            return Ok((assemble(ctx, dialect, renderer, how).await?, Usage::default()));
        };
        recall(cx, how);
        let assembled = assemble(ctx, dialect, renderer, how).await?;
        let estimators = &self.shared.estimators;
        let count = |text: &str| -> Result<u64, TokenError> {
            match &control.token_encoding {
                Some(encoding) => Ok(estimators.count_or_estimate(encoding, text, |_| {})?.tokens),
                // A rule of thumb, as nobody counts.
                None => Ok(u64::try_from(text.len()).unwrap_or(u64::MAX) / 4),
            }
        };
        let own = Arc::clone(&how.self_identity);
        let is_self = move |identity: &Identity| match identity.identifier() {
            Identifier::Text(text) => **text == *own || &**text == "assistant",
            other => other.to_string() == *own,
        };
        let (count, is_self) = (&count, &is_self);
        let rolling = Rolling { cx, source: dialect.name(), renderer, count, is_self };
        match summary.roll(&rolling, &assembled).await? {
            None => Ok((assembled, Usage::default())),
            Some(usage) => {
                recall(cx, how);
                Ok((assemble(ctx, dialect, renderer, how).await?, usage))
            }
        }
    }

    /// Asks for a summary; nobody sees it while it is written.
    async fn write_summary(
        &self,
        cx: &StepContext,
        request: SummaryRequest,
    ) -> Result<Summary, ProviderError> {
        let (shared, resolved) = (&self.shared, &self.resolved);
        let control = &resolved.control;
        let prompt = Prompt {
            system: vec![SystemPart { bucket: Bucket::SystemPrompt, text: request.instructions }],
            timeline: vec![Entry::Heard(Heard {
                name: None,
                content: vec![Content::Text(request.text)],
            })],
            ..Prompt::default()
        };
        let (model, options, stream) = (&*control.model, &resolved.wire, control.stream);
        let request = Request { model, prompt: &prompt, options, stream };
        let body = shared.dialect.encode(&request)?.body;
        let decoder = shared.dialect.decoder(&request);
        let hearing = Hearing::new(cx, control, &prompt).unseen();
        let heard = shared.exchange(cx, control, body, (decoder, hearing)).await?;
        let (text, usage) = (heard.generation.text, heard.generation.usage);
        match heard.outcome {
            Outcome::Answer | Outcome::Empty => Ok(Summary::new(text).usage(usage)),
            other => Err(ProviderError::Summary {
                source: SummaryError::new(format!("the answer is {}", other.as_str())),
            }),
        }
    }
}

impl<D: Dialect> Summarizer for Provider<D> {
    fn summarize<'a>(&'a self, cx: &'a StepContext, request: SummaryRequest) -> SummaryFuture<'a> {
        Box::pin(async move {
            self.write_summary(cx, request).await.map_err(|error| {
                let retryable = error.retryable();
                let error = SummaryError::new(error.to_string()).with_source(error);
                if retryable { error.try_again() } else { error }
            })
        })
    }
}

/// Puts the summary of the turn in place of what it covers.
fn recall(cx: &StepContext, how: &mut How) {
    if let Some((summary, until)) = Recalled::of(cx.dispatch()) {
        how.omit.before = how.omit.before.max(until);
        how.summary = Some(summary);
    }
}
