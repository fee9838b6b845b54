//! Crates that read streams, each the way its documentation has it.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use async_openai::types::chat::CreateChatCompletionStreamResponse as Owned;
use bytes::Bytes;
use futures_core::Stream;

use super::data::Answer;
use super::floor;
use crate::dispatch::now;

/// A way of reading a stream.
type Way = (&'static str, fn(&[Bytes]) -> Result<Answer, String>);

pub(crate) const WAYS: [Way; 3] = [
    ("sseer + borrowed serde_json", |chunks| now(sseer(chunks))?),
    ("eventsource-stream + borrowed serde_json", |chunks| now(eventsource(chunks))?),
    ("async-openai's path, without its channel", |chunks| now(async_openai(chunks))?),
];

/// The next item of a stream.
pub(crate) async fn next<S: Stream + ?Sized>(mut stream: Pin<&mut S>) -> Option<S::Item> {
    poll_fn(|cx| stream.as_mut().poll_next(cx)).await
}

async fn sseer(chunks: &[Bytes]) -> Result<Answer, String> {
    let mut events = pin!(sseer::EventStream::new(Chunks(chunks)));
    let mut answer = Answer::default();
    while let Some(event) = next(events.as_mut()).await {
        let event = event.map_err(|error| format!("{error:?}"))?;
        if event.data != "[DONE]" {
            floor::add(event.data.as_bytes(), &mut answer)?;
        }
    }
    Ok(answer)
}

async fn eventsource(chunks: &[Bytes]) -> Result<Answer, String> {
    let events = eventsource_stream::EventStream::new(Chunks(chunks));
    read_eventsource(pin!(events)).await
}

/// The same over any stream of bytes.
pub(crate) async fn read_eventsource<E: std::fmt::Debug>(
    mut events: Pin<&mut impl Stream<Item = Result<eventsource_stream::Event, E>>>,
) -> Result<Answer, String> {
    let mut answer = Answer::default();
    while let Some(event) = next(events.as_mut()).await {
        let event = event.map_err(|error| format!("{error:?}"))?;
        if event.data != "[DONE]" {
            floor::add(event.data.as_bytes(), &mut answer)?;
        }
    }
    Ok(answer)
}

/// Its splitter and its types; over HTTP there is its client too.
async fn async_openai(chunks: &[Bytes]) -> Result<Answer, String> {
    let mut events = pin!(eventsource_stream::EventStream::new(Chunks(chunks)));
    let mut answer = Answer::default();
    while let Some(event) = next(events.as_mut()).await {
        let event = event.map_err(|error| format!("{error:?}"))?;
        if event.data != "[DONE]" {
            let chunk = serde_json::from_str(&event.data).map_err(|error| error.to_string())?;
            add(chunk, &mut answer);
        }
    }
    Ok(answer)
}

/// Adds what async-openai gives to an answer.
pub(crate) fn add(chunk: Owned, answer: &mut Answer) {
    if let Some(usage) = chunk.usage {
        answer.tokens = usage.total_tokens.into();
    }
    for choice in chunk.choices {
        if let Some(text) = choice.delta.content {
            answer.text.push_str(&text);
        }
        for call in choice.delta.tool_calls.unwrap_or_default() {
            let Some(function) = call.function else { continue };
            let index = usize::try_from(call.index).unwrap_or(usize::MAX);
            let arguments = function.arguments.unwrap_or_default();
            answer.add(index, function.name.as_deref(), &arguments);
        }
    }
}

/// Chunks that are all there.
struct Chunks<'c>(&'c [Bytes]);

impl Stream for Chunks<'_> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some((first, rest)) = self.0.split_first() else { return Poll::Ready(None) };
        self.0 = rest;
        Poll::Ready(Some(Ok(first.clone())))
    }
}
