//! Reads responses: what arrives is emitted to observers, and collected into the generation.

use std::time::Duration;

use bytes::Bytes;
use haft_core::step::StepContext;
use haft_core::stream::StreamPart;
use http::Response;
use http::header::CONTENT_TYPE;
use tokio::time::timeout;

use super::{ProviderError, ProviderState};
use crate::dialect::{DecodeError, Dialect, Framing, ModelRequest, ResponseDecoder, StreamEvent};
use crate::framing::{Frame, FrameDecoder};
use crate::generation::{
    Generation, GenerationAssembler, GenerationEvent, GenerationOutcome, ResponseTooLarge,
};
use crate::options::ControlOptions;
use crate::prompt::Prompt;
use crate::reasoning::{ReasoningFilter, ReasoningPiece};
use crate::text_calls::TextCallFilter;
use crate::transport::{Body, HttpPhase, TransportError};

/// The most bytes of a response that is delivered as a whole.
const MAX_WHOLE: usize = 64 * 1024 * 1024;

impl<D: Dialect> ProviderState<D> {
    /// Reads a response to its end.
    pub(super) async fn read_response(
        &self,
        response: Response<Body>,
        control: &ControlOptions,
        mut reader: ResponseReader<'_>,
    ) -> Result<FinishedResponse, ProviderError> {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let is_json = kind.unwrap_or_default().trim_start().starts_with("application/json");
        let body = response.into_body();
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
        while !reader.sink.is_over() {
            match next_chunk(&mut body, idle).await {
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
        self.finish_response(reader)
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

async fn next_chunk(
    body: &mut Body,
    idle: Option<Duration>,
) -> Result<Option<Bytes>, TransportError> {
    let Some(limit) = idle else { return body.next_chunk().await };
    let (host, phase) = (|| "the provider".to_owned(), HttpPhase::Idle);
    let stalled = |_| TransportError::Timeout { host: host(), phase, limit };
    timeout(limit, body.next_chunk()).await.map_err(stalled)?
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

    fn read_frame(&mut self, (name, data): &Frame<'_>) -> Result<(), DecodeError> {
        let event = StreamEvent::new(data);
        let event = name.as_deref().map_or(event, |name| event.with_name(name));
        self.decoder.decode_event(event, &mut |event| self.sink.accept(event))
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
            is_observed: ctx.dispatch().is_observed(),
        }
    }

    /// Emits nothing as it arrives.
    fn unobserved(self) -> Self {
        Self { is_observed: false, ..self }
    }

    fn accept(&mut self, event: GenerationEvent<'_>) {
        match event {
            GenerationEvent::TextDelta(text) => self.add_text(text),
            GenerationEvent::ReasoningDelta { channel, text } => self.add_reasoning(channel, text),
            other => self.push(other),
        }
    }

    /// Whether the provider has said that the response is over.
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
