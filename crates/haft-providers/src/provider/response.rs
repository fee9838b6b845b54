//! Reads responses: what arrives is emitted to observers, and collected into the generation.

use std::time::Duration;

use bytes::Bytes;
use haft_core::step::StepContext;
use haft_core::stream::StreamPart;
use http::Response;
use http::header::CONTENT_TYPE;
use tokio::time::{Instant, timeout, timeout_at};

use super::{ProviderError, ProviderState};
use crate::dialect::{DecodeError, Dialect, Framing, ModelRequest, ResponseDecoder};
use crate::framing::{Frame, FrameDecoder};
use crate::generation::{
    Generation, GenerationAssembler, GenerationEvent, GenerationOutcome, ResponseTooLarge,
};
use crate::options::ControlOptions;
use crate::prompt::Prompt;
use crate::reasoning::{ReasoningFilter, ReasoningPiece};
use crate::text_calls::TextCallFilter;
use crate::transport::{Body, HttpPhase, TransportError};

/// The maximum number of bytes of a response that is delivered as a whole.
const MAX_WHOLE: usize = 64 * 1024 * 1024;

impl<D: Dialect> ProviderState<D> {
    /// Reads a response to its end.
    pub(super) async fn read_response(
        &self,
        response: Response<Body>,
        control: &ControlOptions,
        mut reader: ResponseReader<'_>,
    ) -> Result<FinishedResponse, ProviderError> {
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let content_type = content_type.unwrap_or_default().trim().to_owned();
        let body = response.into_body();
        if is_page(&content_type) {
            return Err(self.unexpected_page(content_type, body).await);
        }
        let is_json = content_type.starts_with("application/json");
        let is_whole = is_json && self.dialect.framing() == Framing::Sse;
        if control.delivery.is_streamed() && !is_whole {
            return self.read_stream(body, control.stream_idle_timeout, reader).await;
        }
        let all = body.read_all(MAX_WHOLE).await.map_err(|source| self.body_error(source))?;
        reader.read_whole(&all).map_err(|source| self.decode_error(source))?;
        self.finish_response(reader)
    }

    async fn read_stream(
        &self,
        mut body: Body,
        idle: Option<Duration>,
        mut reader: ResponseReader<'_>,
    ) -> Result<FinishedResponse, ProviderError> {
        let code = self.dialect.codes().stream;
        let mut frames = FrameDecoder::new(self.dialect.framing());
        let mut progress = StreamProgress::start(idle);
        while !reader.sink.is_over() {
            match progress.next_chunk(&mut body, reader.sink.events).await {
                Ok(Some(chunk)) => frames.feed(chunk),
                Ok(None) => break,
                // The connection may break when the response is complete.
                Err(_) if reader.sink.is_complete() => break,
                Err(source) => return Err(self.body_error(source)),
            }
            loop {
                let frame = frames.next_frame();
                let frame =
                    frame.map_err(|error| ProviderError::frame_too_large(code.clone(), error))?;
                let Some(frame) = frame else { break };
                reader.read_frame(&frame).map_err(|source| self.decode_error(source))?;
                if let Some(error) = reader.sink.error() {
                    return Err(ProviderError::response_too_large(code, error));
                }
            }
        }
        // The last frame may be complete without its terminator; if it is not, it counts as missing.
        if !reader.sink.is_complete()
            && let Some(frame) = frames.take_rest()
            && let Err(source @ DecodeError::Provider { .. }) = reader.read_frame(&frame)
        {
            return Err(self.decode_error(source));
        }
        if !reader.sink.is_complete() && reader.sink.error().is_none() {
            return Err(ProviderError::Incomplete { code });
        }
        self.finish_response(reader)
    }

    /// The error of a response that is a page for people.
    async fn unexpected_page(&self, content_type: String, mut body: Body) -> ProviderError {
        let first = timeout(PAGE_TIMEOUT, body.next_chunk()).await;
        let first = first.ok().and_then(Result::ok).flatten().unwrap_or_default();
        let text = String::from_utf8_lossy(&first);
        let excerpt = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let excerpt = excerpt.chars().take(MAX_EXCERPT).collect();
        let content_type = content_type.chars().take(MAX_EXCERPT).collect();
        ProviderError::ContentType { code: self.dialect.codes().http, content_type, excerpt }
    }

    fn finish_response(
        &self,
        reader: ResponseReader<'_>,
    ) -> Result<FinishedResponse, ProviderError> {
        match reader.sink.error() {
            Some(error) => {
                Err(ProviderError::response_too_large(self.dialect.codes().stream, error))
            }
            None => Ok(reader.sink.finish()),
        }
    }

    fn body_error(&self, source: TransportError) -> ProviderError {
        let codes = self.dialect.codes();
        let stalled = matches!(source, TransportError::Timeout { .. });
        ProviderError::Body { code: if stalled { codes.stalled } else { codes.stream }, source }
    }

    fn decode_error(&self, source: DecodeError) -> ProviderError {
        ProviderError::Response { code: self.dialect.codes().stream, source }
    }
}

/// Whether a content type is that of a page for people, which no model responds with.
fn is_page(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    PAGE_TYPES.iter().any(|page| essence.eq_ignore_ascii_case(page))
}

const PAGE_TYPES: [&str; 4] = ["text/html", "application/xhtml+xml", "text/xml", "application/xml"];

/// How long the beginning of a page is awaited.
const PAGE_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of characters that are quoted of a page and of its content type.
const MAX_EXCERPT: usize = 200;

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
    ) -> Result<Option<Bytes>, TransportError> {
        let Some(limit) = self.limit else { return body.next_chunk().await };
        if events > self.events {
            (self.events, self.silent_since) = (events, Instant::now());
        }
        let (host, phase) = (|| "the provider".to_owned(), HttpPhase::Idle);
        let stalled = |_| TransportError::Timeout { host: host(), phase, limit };
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
        dialect: &impl Dialect,
        request: &ModelRequest<'_>,
    ) -> Self {
        let decoder = dialect.response_decoder(request);
        Self { decoder, sink: GenerationSink::new(ctx, control, request.prompt) }
    }

    /// Emits nothing as it arrives.
    pub(super) fn unobserved(self) -> Self {
        Self { sink: self.sink.unobserved(), ..self }
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
    fn new(ctx: &'c StepContext, control: &ControlOptions, prompt: &Prompt) -> Self {
        let offered: Vec<&str> = prompt.tools.iter().map(|tool| &*tool.wire_name).collect();
        Self {
            ctx,
            assembler: GenerationAssembler::new(),
            reasoning: control.reasoning.map(ReasoningFilter::new),
            text_calls: control.text_calls.map(|format| TextCallFilter::new(format, &offered)),
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
