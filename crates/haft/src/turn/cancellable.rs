//! Work that a signal cancels.

use std::future::Future;

use haft_core::cancel::{CancelReason, Cancellation};

/// Runs work, and cancels it when the signal is given. The wait ends with the work.
pub(crate) async fn run_cancellable<T>(
    work: impl Future<Output = T>,
    signal: impl Future,
    cancellation: Cancellation,
) -> T {
    let mut work = std::pin::pin!(work);
    tokio::select! {
        biased;
        // A signal that was given before cancels the work before it begins.
        _ = signal => cancellation.cancel(CancelReason::Requested),
        done = &mut work => return done,
    }
    work.await
}

#[cfg(feature = "tokio-util")]
pub use self::token::with_cancellation_token;

#[cfg(feature = "tokio-util")]
mod token {
    use std::future::Future;

    use haft_core::cancel::Cancellation;
    use tokio_util::sync::CancellationToken;

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
