//! Reads responses: what arrives is emitted to observers, and collected into the generation.

use std::time::Duration;

use bytes::Bytes;
use haft_core::step::StepContext;
use haft_core::stream::StreamPart;
use http::Response;
use tokio::time::{Instant, timeout_at};

use super::excerpt::{RequestOrigin, ResponseHead, is_cut_json};
use super::{ProviderError, ProviderState};
use crate::dialect::{DecodeError, Dialect, ModelRequest, ResponseDecoder};
use crate::framing::{Frame, FrameDecoder};
use crate::generation::{
    Generation, GenerationAssembler, GenerationEvent, GenerationOutcome, ResponseTooLarge,
};
use crate::options::ControlOptions;
use crate::reasoning::{ReasoningFilter, ReasoningPiece};
use crate::text_calls::TextCallFilter;
use crate::transport::{Body, HttpError, HttpPhase};

/// The maximum number of bytes of a response that is delivered as a whole.
const MAX_WHOLE: usize = 64 * 1024 * 1024;

impl ProviderState {
    /// Reads a response to its end.
    pub(super) async fn read_response(
        &self,
        (mut response, origin): (Response<Body>, &RequestOrigin),
        control: &ControlOptions,
        mut reader: ResponseReader<'_>,
    ) -> Result<FinishedResponse, ProviderError> {
        // It is there already: a response without it is sent again.
        let first = response.body_mut().await_first_chunk().await;
        first.map_err(|source| ProviderError::Body { source })?;
        let head = ResponseHead::of(&response, origin);
        let body = response.into_body();
        if head.is_page() {
            return Err(self.no_model_response(&head));
        }
        if control.delivery.is_streamed() && !head.is_whole(self.dialect.framing()) {
            return self.read_stream((&head, body), control.stream_idle_timeout, reader).await;
        }
        let all =
            body.read_all(MAX_WHOLE).await.map_err(|source| ProviderError::Body { source })?;
        if let Err(source) = reader.read_whole(&all) {
            let is_cut = is_cut_json(&all);
            return Err(self.unreadable_response(source, &head, is_cut || reader.has_parts()));
        }
        self.finish_response(reader)
    }

    async fn read_stream(
        &self,
        (head, mut body): (&ResponseHead<'_>, Body),
        idle: Option<Duration>,
        mut reader: ResponseReader<'_>,
    ) -> Result<FinishedResponse, ProviderError> {
        let mut frames = FrameDecoder::new(self.dialect.framing());
        let mut progress = StreamProgress::start(idle);
        while !reader.sink.is_over() {
            match progress.next_chunk(&mut body, reader.sink.events).await {
                Ok(Some(chunk)) => frames.feed(chunk),
                Ok(None) => break,
                // The connection may break when the response is complete.
                Err(_) if reader.sink.is_complete() => break,
                Err(source) => return Err(ProviderError::Body { source }),
            }
            loop {
                let frame = frames.next_frame();
                let frame =
                    frame.map_err(|error| ProviderError::TooLarge { what: error.to_string() })?;
                let Some(frame) = frame else { break };
                if let Err(source) = reader.read_frame(&frame) {
                    let is_stream = head.is_stream() || reader.has_parts();
                    return Err(self.unreadable_response(source, head, is_stream));
                }
                if let Some(error) = reader.sink.error() {
                    return Err(ProviderError::TooLarge { what: error.to_string() });
                }
            }
        }
        // The last frame may be complete without its terminator; if it is not, it counts as missing.
        let mut is_cut = false;
        if !reader.sink.is_complete()
            && let Some(frame) = frames.take_rest()
        {
            is_cut = is_cut_json(frame.data());
            if let Err(source @ DecodeError::Provider { .. }) = reader.read_frame(&frame) {
                return Err(ProviderError::Response { source });
            }
        }
        if !reader.sink.is_complete() && reader.sink.error().is_none() {
            return Err(match is_cut || reader.has_parts() {
                true => ProviderError::Incomplete,
                false => self.no_model_response(head),
            });
        }
        self.finish_response(reader)
    }

    /// The error of a response that the dialect cannot read. `is_model` says whether something of it was from a model.
    fn unreadable_response(
        &self,
        source: DecodeError,
        head: &ResponseHead<'_>,
        is_model: bool,
    ) -> ProviderError {
        match source {
            DecodeError::Malformed(_) if !is_model => self.no_model_response(head),
            source => ProviderError::Response { source },
        }
    }

    fn no_model_response(&self, head: &ResponseHead<'_>) -> ProviderError {
        ProviderError::NoModelResponse {
            dialect: self.dialect.name(),
            response: Box::new(head.excerpt()),
            retryable: head.is_stream(),
        }
    }

    fn finish_response(
        &self,
        reader: ResponseReader<'_>,
    ) -> Result<FinishedResponse, ProviderError> {
        match reader.sink.error() {
            Some(error) => Err(ProviderError::TooLarge { what: error.to_string() }),
            None => Ok(reader.sink.finish()),
        }
    }
}

/// Bounds the time in which a stream makes no progress. Comments, pings and blank lines keep a connection open, and are
/// no progress.
struct StreamProgress {
    limit: Option<Duration>,
    /// How many events had been decoded when the current silence began.
    events: u64,
    silent_since: Instant,
}

impl StreamProgress {
    fn start(limit: Option<Duration>) -> Self {
        Self { limit, events: 0, silent_since: Instant::now() }
    }

    /// Waits for the next chunk. `events` is the number of events that were decoded so far.
    async fn next_chunk(
        &mut self,
        body: &mut Body,
        events: u64,
    ) -> Result<Option<Bytes>, HttpError> {
        let Some(limit) = self.limit else { return body.next_chunk().await };
        if events > self.events {
            (self.events, self.silent_since) = (events, Instant::now());
        }
        let (host, phase) = (|| "the provider".to_owned(), HttpPhase::Idle);
        let stalled = |_| HttpError::Timeout { host: host(), phase, limit };
        timeout_at(self.silent_since + limit, body.next_chunk()).await.map_err(stalled)?
    }
}

/// Reads one response: the decoder of the dialect, and what collects its events.
pub(super) struct ResponseReader<'c> {
    decoder: Box<dyn ResponseDecoder>,
    sink: GenerationSink<'c>,
}

impl<'c> ResponseReader<'c> {
    /// A reader for the response to a request.
    pub(super) fn new(
        ctx: &'c StepContext,
        control: &ControlOptions,
        dialect: &dyn Dialect,
        request: &ModelRequest<'_>,
    ) -> Self {
        let decoder = dialect.response_decoder(request);
        Self { decoder, sink: GenerationSink::new(ctx, control) }
    }

    /// Emits nothing as it arrives.
    pub(super) fn unobserved(self) -> Self {
        Self { sink: self.sink.unobserved(), ..self }
    }

    /// Whether something of a response of the dialect was read.
    const fn has_parts(&self) -> bool {
        self.sink.events > 0
    }

    fn read_frame(&mut self, frame: &Frame<'_>) -> Result<(), DecodeError> {
        self.decoder.decode_event(frame.event()?, &mut |event| self.sink.accept(event))
    }

    fn read_whole(&mut self, body: &[u8]) -> Result<(), DecodeError> {
        self.decoder.decode_whole(body, &mut |event| self.sink.accept(event))
    }
}

/// The channel of reasoning that is part of the text.
const IN_TEXT: &str = "text";

/// The slots of calls that are part of the text: after all slots of providers.
const TEXT_SLOTS: u32 = 1 << 30;

/// A response that was read to its end.
pub(super) struct FinishedResponse {
    pub(super) generation: Generation,
    pub(super) outcome: GenerationOutcome,
    /// The id under which the message was shown.
    pub(super) message_id: String,
    /// The channel whose reasoning was shown as it arrived, and its id.
    pub(super) thought: Option<(String, String)>,
}

/// Collects the generation of one response, and emits it to observers as it arrives.
struct GenerationSink<'c> {
    ctx: &'c StepContext,
    assembler: GenerationAssembler,
    reasoning: Option<ReasoningFilter>,
    text_calls: Option<TextCallFilter>,
    message_id: String,
    thought: Option<(String, String)>,
    error: Option<ResponseTooLarge>,
    /// How many events were decoded.
    events: u64,
    /// Whether observers see the text as it arrives. An observer that subscribes later sees the whole.
    is_observed: bool,
}

impl<'c> GenerationSink<'c> {
    fn new(ctx: &'c StepContext, control: &ControlOptions) -> Self {
        Self {
            ctx,
            assembler: GenerationAssembler::new(),
            reasoning: control.parse_think_tags.then(ReasoningFilter::new),
            text_calls: control.parse_text_calls.then(TextCallFilter::new),
            message_id: ctx.next_id("message"),
            thought: None,
            error: None,
            events: 0,
            is_observed: ctx.dispatch().is_observed(),
        }
    }

    /// Emits nothing as it arrives.
    fn unobserved(self) -> Self {
        Self { is_observed: false, ..self }
    }

    fn accept(&mut self, event: GenerationEvent<'_>) {
        self.events = self.events.saturating_add(1);
        self.ctx.note_piece();
        match event {
            GenerationEvent::TextDelta(text) => self.add_text(text),
            GenerationEvent::ReasoningDelta { channel, text } => self.add_reasoning(channel, text),
            other => self.push(other),
        }
    }

    /// Whether the provider has ended the response.
    const fn is_over(&self) -> bool {
        self.assembler.is_over()
    }

    /// Whether nothing of the response is missing.
    const fn is_complete(&self) -> bool {
        self.assembler.is_complete()
    }

    /// The first error.
    const fn error(&self) -> Option<ResponseTooLarge> {
        self.error
    }

    fn finish(mut self) -> FinishedResponse {
        if let Some(mut filter) = self.reasoning.take() {
            match filter.finish() {
                Some(ReasoningPiece::Text(text)) => self.add_visible_text(text),
                Some(ReasoningPiece::Reasoning(text)) => self.add_reasoning(IN_TEXT, text),
                _ => {}
            }
        }
        if let Some(filter) = self.text_calls.take() {
            let parsed = filter.finish();
            self.emit_text(&parsed.text);
            // Calls that the provider has parsed take precedence.
            if self.assembler.generation().calls.is_empty() {
                for (slot, call) in (TEXT_SLOTS..).zip(&parsed.calls) {
                    let arguments = call.arguments.to_text();
                    let (name, arguments) = (Some(call.name.as_str()), &*arguments);
                    self.push(GenerationEvent::CallDelta { slot, id: None, name, arguments });
                    self.push(GenerationEvent::CallEnd { slot });
                }
            }
        }
        let (generation, outcome) = self.assembler.finish();
        let (message_id, thought) = (self.message_id, self.thought);
        FinishedResponse { generation, outcome, message_id, thought }
    }

    fn add_text(&mut self, text: &str) {
        let Some(mut filter) = self.reasoning.take() else { return self.add_visible_text(text) };
        for piece in filter.feed(text) {
            match piece {
                ReasoningPiece::Reasoning(text) => self.add_reasoning(IN_TEXT, text),
                ReasoningPiece::Text(text) => self.add_visible_text(text),
            }
        }
        self.reasoning = Some(filter);
    }

    fn add_visible_text(&mut self, text: &str) {
        let Some(mut filter) = self.text_calls.take() else { return self.emit_text(text) };
        let shown = filter.feed(text);
        self.emit_text(shown);
        self.text_calls = Some(filter);
    }

    fn emit_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.push(GenerationEvent::TextDelta(text));
            if self.is_observed {
                // A stream that cannot be shown is still a response.
                let _ = self.ctx.report_message(&self.message_id, text, StreamPart::More);
            }
        }
    }

    fn add_reasoning(&mut self, channel: &str, text: &str) {
        self.push(GenerationEvent::ReasoningDelta { channel, text });
        // Only the first channel is shown as it arrives: others often repeat it, which is known at the end.
        let ctx = self.ctx;
        let shown =
            self.thought.get_or_insert_with(|| (channel.to_owned(), ctx.next_id("thought")));
        if self.is_observed && shown.0 == channel {
            let _ = ctx.report_thought(&shown.1, text, StreamPart::More);
        }
    }

    fn push(&mut self, event: GenerationEvent<'_>) {
        if let Err(error) = self.assembler.push(event) {
            self.error.get_or_insert(error);
        }
    }
}
