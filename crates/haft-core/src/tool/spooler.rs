//! From the end of a call to its record: what is large goes to the spool.

use crate::error::codes;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_core::Stream as _;

use crate::artifact::{
    ArtifactDraft, ArtifactKind, Budget, DraftContent, SpooledArtifact, cut_to_budget,
};
use crate::call::{CallError, RecordId, ToolCall, ToolResults};
use crate::error::Coded as _;
use crate::failure::{ToolFailure, error_chain};
use crate::record::Retrievable;
use crate::spool::{ContentDigest, ContentHasher, SpoolError, SpoolKey, SpoolPayload, SpoolStore};
use crate::tool::executor::StreamEnd;
use crate::tool::{ByteStream, Invocation, ToolEffect, ToolOutput, ToolRole};
use crate::trust::TrustTier;

/// The number of bytes below which text stays in the record, unless a program sets another.
pub(super) const DEFAULT_INLINE_BELOW: usize = 4 * 1024;

/// Makes records of finished calls: small text stays in the record, everything else goes to the spool.
#[derive(Clone)]
pub struct Spooler {
    options: Arc<SpoolerOptions>,
    /// The epoch of the lease under which results are stored.
    epoch: u64,
}

/// What the spoolers of all turns share.
#[derive(Clone)]
struct SpoolerOptions {
    store: Arc<dyn SpoolStore>,
    inline_below: usize,
    query_budget: Budget,
}

impl Spooler {
    /// Stores large results in a spool store.
    #[must_use]
    pub fn new(store: Arc<dyn SpoolStore>) -> Self {
        let options = SpoolerOptions {
            store,
            inline_below: DEFAULT_INLINE_BELOW,
            query_budget: Budget::new(),
        };
        Self { options: Arc::new(options), epoch: 0 }
    }

    /// The store of large results.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn SpoolStore> {
        &self.options.store
    }

    /// Sets the number of bytes below which text stays in the record, where the model reads it without a query; the
    /// default is 4096.
    #[must_use]
    pub fn inline_below(mut self, bytes: usize) -> Self {
        Arc::make_mut(&mut self.options).inline_below = bytes;
        self
    }

    /// Bounds the text of query tools, which is never an artifact itself: what does not fit is cut off, with a note for
    /// the model. The default is that of [`Budget::new`].
    #[must_use]
    pub fn query_budget(mut self, budget: Budget) -> Self {
        Arc::make_mut(&mut self.options).query_budget = budget;
        self
    }

    /// Stores under the lease of this epoch. Every process that takes a turn over has an epoch of its own, and so have the
    /// keys of what it stores: a process that lost its lease cannot replace what the record of the new holder refers to.
    #[must_use]
    pub fn for_epoch(mut self, epoch: u64) -> Self {
        self.epoch = epoch;
        self
    }

    /// The key of something that a turn stores under the lease of this spooler.
    fn key(&self, turn: &str, rest: impl fmt::Display) -> SpoolKey {
        // The first holder of a turn has the epoch 1.
        match self.epoch {
            0 | 1 => SpoolKey::of_turn(turn, rest),
            epoch => SpoolKey::of_turn(turn, format_args!("{epoch}/{rest}")),
        }
    }

    /// A retrieved record with its text in the store, if that is where it belongs: it is to be queried by
    /// a handle, and it is not small.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn spool_retrieved(
        &self,
        turn: &str,
        record: Arc<Retrievable>,
    ) -> Result<Arc<Retrievable>, SpoolError> {
        match record.to_spool().filter(|text| text.len() >= self.options.inline_below) {
            None => Ok(record),
            Some(text) => {
                let key = self.key(turn, format_args!("retrieved/{}", record.id()));
                let reader = self.options.store.write(key, text.into()).await?;
                Ok(Arc::new(record.spooled(reader)))
            }
        }
    }

    /// The key under which a medium is stored that a call of a turn has returned.
    #[must_use]
    pub fn media_key(&self, turn: &str, call: RecordId, number: usize) -> SpoolKey {
        self.key(turn, format_args!("{call}/media/{number}"))
    }

    /// Whether text is shown to the model as it is.
    fn is_small(&self, text: &str) -> bool {
        text.is_empty() || text.len() < self.options.inline_below
    }

    /// Ends a requested call: stores what its tool returned, and returns its record.
    ///
    /// A result that cannot be stored ends the call as failed, or as unknown if the call must not be repeated: it had
    /// its effect. The rest of its output is read and dropped, because a program whose output is closed dies in the
    /// middle of its work. The record has the cause for the operator, and the turn continues.
    ///
    /// A call that must not be repeated is also unknown if its tool does not know what it did
    /// ([`ToolFailure::outcome_unknown`](crate::failure::ToolFailure::outcome_unknown)). Its record has no cause.
    pub async fn complete_call(
        &self,
        turn: &str,
        requested: ToolCall,
        done: Invocation,
    ) -> ToolCall {
        let started_at = done.started_at;
        let stream_end = done.stream_end.clone();
        let mut call = self.store_results(turn, requested, done).await;
        if let Some(duration) = stream_end.as_ref().and_then(StreamEnd::get) {
            call.end_at(started_at.saturating_add(duration));
        }
        call
    }

    async fn store_results(
        &self,
        turn: &str,
        requested: ToolCall,
        mut done: Invocation,
    ) -> ToolCall {
        let mut call = requested.complete(&done);
        let kind = match done.tool.role() {
            ToolRole::Standard(kind) => Some(kind.clone()),
            ToolRole::ArtifactQuery => None,
        };
        let Ok(output) = &mut done.outcome else { return call };
        let output = std::mem::replace(output, ToolOutput::Text(String::new()));
        if kind.is_none() && matches!(output, ToolOutput::Artifacts(_) | ToolOutput::Media(_)) {
            let tool = done.tool.name();
            let message = format!("`{tool}` is a query on artifacts and can only answer with text");
            return call.fail(CallError::new(codes::TOOL_DOWNSTREAM_ERROR, message, false));
        }
        let is_once = done.tool.effect() == ToolEffect::Once;
        let (id, label) = (call.id(), call.label());
        let place = CallSpool { spooler: self, turn, id, label, drains: is_once };
        // Boxed, because most results are small text and every call would make room for the others.
        match Box::pin(place.results(output, kind)).await {
            Ok(results) => {
                call.results = Some(results);
                call.name_media();
                call
            }
            Err(error) => {
                let tool = done.tool.name().as_str();
                let message = failure_message(tool, &error);
                let ended = match &error {
                    SpoolError::Source { failure, .. } if done.is_in_doubt(failure.failure()) => {
                        return call.end_unknown(CallError::in_doubt(&message));
                    }
                    SpoolError::Source { .. } => {
                        call.fail(CallError::new(error.code(), message, error.retryable()))
                    }
                    _ if is_once => {
                        let message = format!(
                            "`{tool}` ran, but its result could not be stored; do not repeat it blindly"
                        );
                        let unknown = CallError::new(codes::TOOL_OUTCOME_UNKNOWN, message, false);
                        call.end_unknown(unknown)
                    }
                    _ => call.fail(CallError::new(error.code(), message, error.retryable())),
                };
                let cause = match &error {
                    // That the result could not be stored is a consequence.
                    SpoolError::Source { failure, .. } => failure.failure().operator_text(),
                    _ => error_chain(&error),
                };
                ended.with_cause(Some(cause))
            }
        }
    }
}

impl fmt::Debug for Spooler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spooler")
            .field("store", &self.options.store)
            .field("inline_below", &self.options.inline_below)
            .finish()
    }
}

/// Where the results of one call go.
#[derive(Clone, Copy)]
struct CallSpool<'c> {
    spooler: &'c Spooler,
    turn: &'c str,
    id: RecordId,
    label: TrustTier,
    /// Whether a stream that cannot be stored is read to its end.
    drains: bool,
}

impl CallSpool<'_> {
    /// `kind` is the kind of artifact into which text and bytes are wrapped; `None` if they never are.
    async fn results(
        self,
        output: ToolOutput,
        kind: Option<ArtifactKind>,
    ) -> Result<ToolResults, SpoolError> {
        let payload = match output {
            ToolOutput::Media(media) => return Ok(ToolResults::Media(media)),
            ToolOutput::Answer { text, .. } => {
                // Answers of formats keep to the budget and add notes behind it.
                let is_bounded = text.len() <= self.spooler.options.query_budget.bytes + MAX_NOTES;
                let text = if is_bounded { text } else { self.bounded(text, "") };
                return Ok(ToolResults::Text(text));
            }
            ToolOutput::Artifacts(drafts) => return self.drafts(drafts).await,
            ToolOutput::Text(text) if self.spooler.is_small(&text) => {
                return Ok(ToolResults::Text(text));
            }
            ToolOutput::Text(text) => SpoolPayload::Bytes(text.into()),
            ToolOutput::Bytes(bytes) => {
                match small_text(bytes, self.spooler.options.inline_below) {
                    Ok(text) => return Ok(ToolResults::Text(text)),
                    Err(bytes) => SpoolPayload::Bytes(bytes),
                }
            }
            ToolOutput::Stream(stream) => {
                match start_of(stream, self.spooler.options.inline_below, &self.key(None)).await? {
                    Start::Whole(text) => return Ok(ToolResults::Text(text)),
                    Start::Stream(stream) => SpoolPayload::Stream(stream),
                }
            }
        };
        let Some(kind) = kind else {
            return self.final_text(payload).await.map(ToolResults::Text);
        };
        let artifact = self.store(None, kind, payload, self.label).await?;
        Ok(ToolResults::Artifacts(vec![artifact]))
    }

    async fn drafts(self, drafts: Vec<ArtifactDraft>) -> Result<ToolResults, SpoolError> {
        let single = drafts.len() == 1;
        let mut artifacts = Vec::with_capacity(drafts.len());
        for (part, draft) in drafts.into_iter().enumerate() {
            // Content from elsewhere is trusted no more than its label and no more than the tool.
            let label = draft.label.map_or(self.label, |label| label.floor(self.label));
            artifacts.push(match draft.content {
                DraftContent::Stored(artifact) => artifact.floor(label),
                DraftContent::New(payload) => {
                    let part = (!single).then_some(part);
                    self.store(part, draft.kind, payload, label).await?
                }
            });
        }
        Ok(ToolResults::Artifacts(artifacts))
    }

    async fn store(
        self,
        part: Option<usize>,
        kind: ArtifactKind,
        payload: SpoolPayload,
        label: TrustTier,
    ) -> Result<SpooledArtifact, SpoolError> {
        let (payload, digest) = PendingDigest::of(payload);
        match self.spooler.options.store.write(self.key(part), payload).await {
            Ok(reader) => {
                Ok(SpooledArtifact::with_digest(kind, reader, label, Some(digest.finish())))
            }
            Err(error) => {
                if self.drains {
                    digest.drain_stream().await;
                }
                Err(error)
            }
        }
    }

    /// The answer of a query that a program wrote itself, within the budget of queries.
    async fn final_text(self, payload: SpoolPayload) -> Result<String, SpoolError> {
        let (bytes, more) = match payload {
            SpoolPayload::Text(text) => return Ok(self.bounded(text, "")),
            SpoolPayload::Bytes(bytes) => (bytes, ""),
            SpoolPayload::Stream(stream) => {
                let limit = self.spooler.options.query_budget.bytes.saturating_add(1);
                collect_start(stream, limit, &self.key(None)).await?
            }
        };
        Ok(self.bounded(String::from_utf8_lossy(&bytes).into_owned(), more))
    }

    /// Cuts an answer that is longer than a query may answer. `more` says that there are bytes that were not read.
    fn bounded(self, text: String, more: &str) -> String {
        let budget = self.spooler.options.query_budget;
        let all = text.len();
        match cut_to_budget(&text, budget) {
            None => text,
            Some(start) => format!(
                "{start}\n[cut after {} of {more}{all} bytes, the most that one answer has; ask for a smaller part, or \
                 for what follows if the tool can skip what was shown]",
                start.len()
            ),
        }
    }

    /// One key per epoch, record and part.
    fn key(self, part: Option<usize>) -> SpoolKey {
        let Self { spooler, turn, id, .. } = self;
        match part {
            Some(part) => spooler.key(turn, format_args!("{id}/{part}")),
            None => spooler.key(turn, id),
        }
    }
}

/// The digest of content that is being stored.
enum PendingDigest {
    Known(ContentDigest),
    Streamed(Arc<Mutex<HashedSource>>),
}

impl PendingDigest {
    /// The content, and its digest as soon as it is stored.
    fn of(payload: SpoolPayload) -> (SpoolPayload, Self) {
        match payload {
            SpoolPayload::Text(text) => {
                let digest = ContentDigest::of(text.as_bytes());
                (SpoolPayload::Text(text), Self::Known(digest))
            }
            SpoolPayload::Bytes(bytes) => {
                let digest = ContentDigest::of(&bytes);
                (SpoolPayload::Bytes(bytes), Self::Known(digest))
            }
            SpoolPayload::Stream(stream) => {
                let source = HashedSource { stream: Some(stream), hasher: ContentHasher::new() };
                let source = Arc::new(Mutex::new(source));
                let hashed = HashedStream(Arc::clone(&source));
                (SpoolPayload::Stream(ByteStream::new(hashed)), Self::Streamed(source))
            }
        }
    }

    fn finish(self) -> ContentDigest {
        match self {
            Self::Known(digest) => digest,
            Self::Streamed(source) => {
                source.lock().unwrap_or_else(PoisonError::into_inner).hasher.clone().finish()
            }
        }
    }

    /// Reads what is left of a stream whose content could not be stored, and drops it. The time of the call bounds it,
    /// and a stream without end is closed.
    async fn drain_stream(self) {
        let Self::Streamed(source) = self else { return };
        let mut stream = source.lock().unwrap_or_else(PoisonError::into_inner).stream.take();
        let mut left = MAX_DRAINED_BYTES;
        while let Some(stream) = &mut stream {
            match poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await {
                Some(Ok(chunk)) if left >= chunk.len() as u64 => left -= chunk.len() as u64,
                _ => return,
            }
        }
    }
}

/// How many bytes are read of a stream that cannot be stored.
const MAX_DRAINED_BYTES: u64 = 4 << 30;

/// A stream and the hash of what was read of it. It outlives the store that reads it, so that it can be read on if the
/// store fails.
struct HashedSource {
    stream: Option<ByteStream>,
    hasher: ContentHasher,
}

/// A stream whose bytes are hashed on their way to the store.
struct HashedStream(Arc<Mutex<HashedSource>>);

impl futures_core::Stream for HashedStream {
    type Item = <ByteStream as futures_core::Stream>::Item;

    fn poll_next(
        self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        let mut source = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let HashedSource { stream, hasher } = &mut *source;
        let Some(open) = stream else { return std::task::Poll::Ready(None) };
        let polled = Pin::new(open).poll_next(cx);
        if let std::task::Poll::Ready(Some(Ok(chunk))) = &polled {
            hasher.update(chunk);
        }
        polled
    }
}

fn small_text(bytes: Bytes, below: usize) -> Result<String, Bytes> {
    if bytes.len() >= below && !bytes.is_empty() {
        return Err(bytes);
    }
    match str::from_utf8(&bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(bytes),
    }
}

enum Start {
    Whole(String),
    Stream(ByteStream),
}

/// Reads a stream until it is known whether it is small.
async fn start_of(
    mut stream: ByteStream,
    below: usize,
    key: &SpoolKey,
) -> Result<Start, SpoolError> {
    let mut start = BytesMut::new();
    while start.len() < below {
        match next(&mut stream, start.len(), key).await? {
            Some(chunk) => start.extend_from_slice(&chunk),
            None => {
                return Ok(match small_text(start.freeze(), usize::MAX) {
                    Ok(text) => Start::Whole(text),
                    Err(bytes) => {
                        Start::Stream(ByteStream::new(Then { start: Some(bytes), stream }))
                    }
                });
            }
        }
    }
    Ok(Start::Stream(ByteStream::new(Then { start: Some(start.freeze()), stream })))
}

/// Reads the first bytes of a stream. The text says whether there are more.
async fn collect_start(
    mut stream: ByteStream,
    limit: usize,
    key: &SpoolKey,
) -> Result<(Bytes, &'static str), SpoolError> {
    let mut start = BytesMut::new();
    while let Some(chunk) = next(&mut stream, start.len(), key).await? {
        start.extend_from_slice(&chunk);
        if start.len() >= limit {
            return Ok((start.freeze(), "more than "));
        }
    }
    Ok((start.freeze(), ""))
}

/// How many bytes the notes of an answer may have.
const MAX_NOTES: usize = 4 * 1024;

async fn next(
    stream: &mut ByteStream,
    received: usize,
    key: &SpoolKey,
) -> Result<Option<Bytes>, SpoolError> {
    let polled = poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await;
    let broken = |failure: ToolFailure| SpoolError::Source {
        key: key.clone(),
        received: received as u64,
        failure: failure.into(),
    };
    polled.transpose().map_err(broken)
}

/// A stream of which something was read already.
struct Then {
    start: Option<Bytes>,
    stream: ByteStream,
}

impl futures_core::Stream for Then {
    type Item = <ByteStream as futures_core::Stream>::Item;

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        match self.start.take().filter(|start| !start.is_empty()) {
            Some(start) => std::task::Poll::Ready(Some(Ok(start))),
            None => Pin::new(&mut self.stream).poll_next(cx),
        }
    }
}

/// What the model is told when a result could not be stored.
fn failure_message(tool: &str, error: &SpoolError) -> String {
    match error {
        SpoolError::Source { received: 0, failure, .. } => format!("`{tool}` failed: {failure}"),
        SpoolError::Source { received, failure, .. } => {
            format!("`{tool}` failed after {received} bytes: {failure}")
        }
        SpoolError::TooLarge { limit, .. } => format!(
            "the result of `{tool}` is larger than the limit of {limit} bytes; ask for less at once"
        ),
        _ => format!("the result of `{tool}` could not be stored; the operator was told why"),
    }
}
