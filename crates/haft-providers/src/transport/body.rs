//! The body of a response.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;

use super::HttpError;

/// The body of a response: a stream of chunks, none of them empty, that ends with the first error. Dropping it ends the
/// request.
pub struct Body {
    /// The chunk that was read ahead.
    first: Option<Bytes>,
    rest: Option<Pin<Box<Rest>>>,
    /// The host, for messages.
    host: String,
}

type Rest = dyn Stream<Item = Result<Bytes, HttpError>> + Send;

impl Body {
    /// A body from a stream of chunks.
    #[must_use]
    pub fn new(chunks: impl Stream<Item = Result<Bytes, HttpError>> + Send + 'static) -> Self {
        Self { first: None, rest: Some(Box::pin(chunks)), host: "?".to_owned() }
    }

    /// An empty body.
    #[must_use]
    pub fn empty() -> Self {
        Self::from(Bytes::new())
    }

    /// A body from a list of chunks.
    #[must_use]
    pub fn from_chunks(chunks: impl IntoIterator<Item = Bytes>) -> Self {
        let chunks: Vec<_> = chunks.into_iter().collect();
        Self::new(ChunkStream(chunks.into_iter()))
    }

    pub(crate) fn with_host(mut self, host: String) -> Self {
        self.host = host;
        self
    }

    /// Waits for the next chunk. `None` is the end of the body.
    ///
    /// ```
    /// use haft_providers::transport::Body;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut body = Body::from_chunks(["one".into(), "two".into()]);
    /// assert_eq!(body.next_chunk().await?.as_deref(), Some(&b"one"[..]));
    /// assert_eq!(body.next_chunk().await?.as_deref(), Some(&b"two"[..]));
    /// assert!(body.next_chunk().await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The body was interrupted, took too long or is too large. The body ends with its first error.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await.transpose()
    }

    /// Reads the whole body, if it has at most `limit` bytes.
    ///
    /// ```
    /// use haft_providers::transport::Body;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let body = || Body::from_chunks(["one".into(), "two".into()]);
    /// assert_eq!(body().read_all(6).await?, "onetwo");
    /// assert!(body().read_all(5).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Body::next_chunk`]; and [`HttpError::TooLarge`].
    pub async fn read_all(mut self, limit: usize) -> Result<Bytes, HttpError> {
        let Some(first) = self.next_chunk().await? else { return Ok(Bytes::new()) };
        let host = self.host.clone();
        let too_large = || HttpError::TooLarge { host, limit: limit as u64 };
        let Some(second) = self.next_chunk().await? else {
            return if first.len() > limit { Err(too_large()) } else { Ok(first) };
        };
        let mut all = Vec::from(first);
        let mut next = Some(second);
        while let Some(chunk) = next {
            if all.len().saturating_add(chunk.len()) > limit {
                return Err(too_large());
            }
            all.extend_from_slice(&chunk);
            next = self.next_chunk().await?;
        }
        Ok(all.into())
    }

    /// The chunk that was read ahead.
    pub(crate) const fn first_chunk(&self) -> Option<&Bytes> {
        self.first.as_ref()
    }

    /// Waits for the first chunk, or for the end; the chunk is read again later.
    pub(crate) async fn await_first_chunk(&mut self) -> Result<(), HttpError> {
        if self.first.is_none() {
            self.first = self.next_chunk().await?;
        }
        Ok(())
    }
}

impl Stream for Body {
    type Item = Result<Bytes, HttpError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        while let Some(rest) = &mut self.rest {
            match ready!(rest.as_mut().poll_next(cx)) {
                Some(Ok(bytes)) if bytes.is_empty() => {}
                Some(Ok(bytes)) => return Poll::Ready(Some(Ok(bytes))),
                end => {
                    self.rest = None;
                    return Poll::Ready(end);
                }
            }
        }
        Poll::Ready(None)
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        let first = Some(bytes).filter(|it| !it.is_empty());
        Self { first, rest: None, host: "?".to_owned() }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body")
    }
}

struct ChunkStream(std::vec::IntoIter<Bytes>);

impl Stream for ChunkStream {
    type Item = Result<Bytes, HttpError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}
