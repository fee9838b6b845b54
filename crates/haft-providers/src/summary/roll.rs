//! Summarising what has become old.

use haft_core::event::{EventKind, LogLevel};
use haft_core::record::Identity;
use haft_core::step::StepContext;
use haft_core::tokens::TokenError;
use haft_core::trust::{DeveloperText, PromptRenderer, PromptText};
use haft_core::usage::Usage;
use serde_json::json;

use super::kept::{Recalled, id_of};
use super::{RollingSummary, Summary, SummaryError, SummaryRequest, covered, text};
use crate::assemble::Assembled;
use crate::budget::exchanges;

/// What a turn is summarised with.
pub(crate) struct Rolling<'r> {
    pub(crate) cx: &'r StepContext,
    /// The dialect, for events.
    pub(crate) source: &'static str,
    pub(crate) renderer: &'r PromptRenderer,
    pub(crate) count: &'r (dyn Fn(&str) -> Result<u64, TokenError> + Sync),
    pub(crate) is_self: &'r (dyn Fn(&Identity) -> bool + Sync),
}

/// An exchange that has become old.
struct Exchange {
    /// The number of the record behind it.
    until: u64,
    entries: Vec<PromptText>,
}

/// Most requests to the summarizer in one step. What is left then stays as it is until the next one.
const MAX_REQUESTS: usize = 8;

impl RollingSummary {
    /// Writes down what has become old, if it is enough. Says what that cost; nothing if nothing was asked for.
    pub(crate) async fn roll(
        &self,
        rolling: &Rolling<'_>,
        assembled: &Assembled,
    ) -> Result<Option<Usage>, SummaryError> {
        let ctx = rolling.cx.dispatch();
        let (mut known, mut covers) = match Recalled::of(ctx) {
            Some((known, number)) => (Some(known), number),
            None => (None, 0),
        };
        let old = self.old(rolling, assembled, known.is_some());
        let mut tokens = 0_u64;
        for text in old.iter().flat_map(|it| &it.entries) {
            let counted = (rolling.count)(text.as_str());
            let counted = counted.map_err(|it| SummaryError::new("no count").with_source(it))?;
            tokens = tokens.saturating_add(counted);
        }
        if old.is_empty() || tokens <= self.over_tokens {
            return Ok(None);
        }
        let (mut usage, mut requests) = (Usage::default(), 0);
        let mut left = old.as_slice();
        while requests < MAX_REQUESTS && !left.is_empty() {
            let (request, taken) = self.request(rolling, known.as_ref(), left);
            let behind = left.get(taken.saturating_sub(1)).map(|it| it.until);
            let behind = behind.and_then(|number| Some((number, id_of(ctx, number)?)));
            let Some((number, until)) = behind else { break };
            let written = self.summarizer.summarize(rolling.cx, request).await?;
            let Summary { text, usage: cost } = written;
            requests += 1;
            usage += cost;
            if text.trim().is_empty() {
                tell_empty(rolling);
                break;
            }
            let trust = known.as_ref().map(|it| it.trust);
            let trust = covered::label(ctx, rolling.is_self, &(covers..number), trust);
            let next = Recalled { text, trust, until };
            let kept = next.keep(ctx);
            kept.map_err(|it| SummaryError::new("it cannot be kept").with_source(it))?;
            (known, covers) = (Some(next), number);
            left = left.get(taken..).unwrap_or_default();
        }
        let payload = json!({
            "requests": requests, "promptTokens": usage.prompt, "completionTokens": usage.completion,
            "totalTokens": usage.total, "exchanges": old.len() - left.len(),
            "until": known.map(|it| it.until),
        });
        let message = "older exchanges were summarised";
        rolling.cx.dispatch().log(LogLevel::Info, "context-summary", message, Some(payload));
        Ok(Some(usage))
    }

    /// The exchanges before those that stay as they are.
    fn old(&self, rolling: &Rolling<'_>, assembled: &Assembled, summarised: bool) -> Vec<Exchange> {
        let starts = exchanges(assembled);
        let old = starts.len().saturating_sub(self.keep - 1);
        let mut starts = starts.into_iter().take(old);
        let Some(until) = starts.next() else { return Vec::new() };
        let mut all = vec![Exchange { until, entries: Vec::new() }];
        // The summary so far is an entry too.
        let entries = assembled.prompt.timeline.iter().zip(&assembled.numbers);
        for (entry, number) in entries.skip(usize::from(summarised)) {
            let Some(open) = all.last_mut() else { break };
            if *number == open.until {
                let Some(until) = starts.next() else { break };
                all.push(Exchange { until, entries: Vec::new() });
            }
            if let Some(open) = all.last_mut() {
                open.entries.push(text::of_entry(rolling.renderer, entry));
            }
        }
        all
    }

    /// A request with the summary so far and as many exchanges as fit, at least one.
    fn request(
        &self,
        rolling: &Rolling<'_>,
        known: Option<&Recalled>,
        old: &[Exchange],
    ) -> (SummaryRequest, usize) {
        let own = |it| rolling.renderer.system_prompt(&DeveloperText::from_developer(it));
        let before = known
            .map(|it| PromptText::blocks([own("The notes so far:"), it.shown(rolling.renderer)]));
        let mut parts: Vec<PromptText> = before.into_iter().collect();
        let mut room = self.request_chars.saturating_sub(parts.iter().map(chars).sum());
        let mut taken = 0;
        for exchange in old {
            let all: usize = exchange.entries.iter().map(chars).sum();
            if all <= room {
                parts.extend(exchange.entries.iter().cloned());
            } else if taken == 0 {
                parts.extend(shortened(rolling.renderer, exchange, all - room));
            } else {
                break;
            }
            taken += 1;
            room = room.saturating_sub(all);
        }
        let instructions = own(text::INSTRUCTIONS);
        (SummaryRequest { instructions, text: PromptText::blocks(parts) }, taken)
    }
}

/// The entries of an exchange without the longest ones, so that it is so much shorter; those are mentioned.
fn shortened(renderer: &PromptRenderer, exchange: &Exchange, excess: usize) -> Vec<PromptText> {
    let mut by_length: Vec<(usize, usize)> =
        exchange.entries.iter().map(chars).enumerate().map(|(at, it)| (it, at)).collect();
    by_length.sort_unstable_by(|a, b| b.cmp(a));
    let mut entries = exchange.entries.clone();
    let mut saved = 0;
    for (length, at) in by_length {
        if saved >= excess {
            break;
        }
        if let Some(entry) = entries.get_mut(at) {
            *entry = text::left_out(renderer, length);
            saved += length.saturating_sub(chars(entry));
        }
    }
    entries
}

fn chars(text: &PromptText) -> usize {
    text.as_str().chars().count()
}

fn tell_empty(rolling: &Rolling<'_>) {
    rolling.cx.dispatch().emit_with(|| EventKind::Warning {
        source: rolling.source.into(),
        topic: "summary-empty".into(),
        message: "the summarizer wrote nothing, so that all stays as it is".into(),
        payload: None,
    });
}
