//! A signal that cancels a turn: a [`Cancellation`], or (feature `tokio-util`) a `CancellationToken`.

use std::future::Future;

use haft_core::BoxFuture;
use haft_core::cancel::{CancelReason, Cancellation};

/// A signal that cancels a turn: a [`Cancellation`], or (feature `tokio-util`) a `tokio_util::sync::CancellationToken`.
pub trait CancelSignal: Send + 'static {
    /// The cancellation of the turn, and a future that is ready when the signal is given; no future if the cancellation
    /// is the signal itself.
    fn into_cancellation(self) -> (Cancellation, Option<BoxFuture<'static, CancelReason>>);
}

impl CancelSignal for Cancellation {
    fn into_cancellation(self) -> (Self, Option<BoxFuture<'static, CancelReason>>) {
        (self, None)
    }
}

/// Runs work, and cancels it when the signal is given. The wait ends with the work.
pub(crate) async fn run_cancellable<T>(
    work: impl Future<Output = T>,
    watch: Option<BoxFuture<'static, CancelReason>>,
    cancellation: Cancellation,
) -> T {
    let Some(watch) = watch else { return work.await };
    let mut work = std::pin::pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        reason = watch => cancellation.cancel(reason),
    }
    work.await
}

#[cfg(feature = "tokio-util")]
pub use self::token::with_cancellation_token;

#[cfg(feature = "tokio-util")]
mod token {
    use std::future::Future;

    use haft_core::BoxFuture;
    use haft_core::cancel::{CancelReason, Cancellation};
    use tokio_util::sync::CancellationToken;

    use super::CancelSignal;

    impl CancelSignal for CancellationToken {
        fn into_cancellation(self) -> (Cancellation, Option<BoxFuture<'static, CancelReason>>) {
            let cancellation = Cancellation::new();
            if self.is_cancelled() {
                cancellation.cancel(CancelReason::Requested);
            }
            let watch = async move {
                self.cancelled().await;
                CancelReason::Requested
            };
            (cancellation, Some(Box::pin(watch)))
        }
    }

    /// Runs work with a `CancellationToken` that is cancelled when the cancellation is: for handlers that call code which
    /// takes such a token. No task is needed, and nothing remains when the work ends.
    ///
    /// ```
    /// use haft::schema::object;
    /// use haft::turn::with_cancellation_token;
    /// use haft::{Args, CallContext, Tool};
    /// use tokio_util::sync::CancellationToken;
    ///
    /// async fn crawl(token: CancellationToken) -> String {
    ///     if token.is_cancelled() { "stopped".to_owned() } else { "done".to_owned() }
    /// }
    ///
    /// let tool = Tool::builder("crawl")
    ///     .description("Crawls.")
    ///     .input(object())
    ///     .handler(async |_: Args, ctx: CallContext| {
    ///         with_cancellation_token(ctx.cancellation(), crawl).await
    ///     })
    ///     .build()?;
    /// # Ok::<(), haft::tools::InvalidTool>(())
    /// ```
    pub async fn with_cancellation_token<F, Fut>(
        cancellation: &Cancellation,
        work: F,
    ) -> Fut::Output
    where
        F: FnOnce(CancellationToken) -> Fut,
        Fut: Future,
    {
        let token = CancellationToken::new();
        if cancellation.is_cancelled() {
            token.cancel();
        }
        let mut work = std::pin::pin!(work(token.clone()));
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = cancellation.cancelled() => token.cancel(),
        }
        work.await
    }
}
