//! Calls whose results are streamed: they end with their streams.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;

use crate::call::CallId;
use crate::clock::ClockReading;
use crate::error::{ErrorCode, codes};
use crate::event::EventKind;
use crate::failure::ToolFailure;
use crate::tool::context::DispatchContext;
use crate::tool::{ByteStream, Tool};

/// How long a call took whose result is streamed, as soon as that has ended.
#[derive(Clone, Debug, Default)]
pub(in crate::tool) struct StreamEnd(Arc<OnceLock<Duration>>);

impl StreamEnd {
    pub(in crate::tool) fn get(&self) -> Option<Duration> {
        self.0.get().copied()
    }
}

/// A call whose handler has begun.
#[derive(Clone, Debug)]
pub(super) struct RunningTool {
    pub(super) ctx: DispatchContext,
    pub(super) tool: Tool,
    pub(super) call_id: CallId,
    pub(super) began: ClockReading,
}

impl RunningTool {
    pub(super) fn elapsed(&self) -> Duration {
        self.ctx.clock().monotonic().saturating_sub(self.began.monotonic)
    }

    /// Tells observers that the call has ended.
    pub(super) fn announce_end(
        &self,
        duration: Duration,
        error: Option<ErrorCode>,
        cause: Option<String>,
    ) {
        self.ctx.emit_with(|| EventKind::ToolExecutionEnd {
            tool_name: self.tool.name().clone(),
            call_id: self.call_id,
            started_at: self.began.wall,
            duration,
            is_error: error.is_some(),
            error,
            cause: cause.map(Into::into),
        });
    }

    /// Lets the call end when the stream does.
    pub(super) fn end_with(self, stream: &mut ByteStream, end: StreamEnd) {
        let inner = std::mem::replace(stream, ByteStream::new(NoBytes));
        *stream = ByteStream::new(StreamedResult { inner, call: self, end });
    }

    fn end(&self, end: &StreamEnd, failure: Option<&ToolFailure>) {
        let duration = self.elapsed();
        if end.0.set(duration).is_err() {
            return;
        }
        let code = failure.map(|_| codes::TOOL_DOWNSTREAM_ERROR);
        self.announce_end(duration, code, failure.map(ToolFailure::operator_text));
    }
}

/// The result of a call while it is read. The call ends with it, or when it is dropped.
struct StreamedResult {
    inner: ByteStream,
    call: RunningTool,
    end: StreamEnd,
}

impl Stream for StreamedResult {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = Pin::new(&mut self.inner).poll_next(cx);
        match &polled {
            Poll::Ready(None) => self.call.end(&self.end, None),
            Poll::Ready(Some(Err(failure))) => self.call.end(&self.end, Some(failure)),
            _ => {}
        }
        polled
    }
}

impl Drop for StreamedResult {
    fn drop(&mut self) {
        self.call.end(&self.end, None);
    }
}

/// A stream that has ended.
struct NoBytes;

impl Stream for NoBytes {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(None)
    }
}
