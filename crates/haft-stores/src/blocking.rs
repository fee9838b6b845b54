//! Runs blocking work outside the async workers.

use std::io;

/// Runs blocking work on the blocking threads of the runtime, or in place if there is no runtime.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.map_err(io::Error::other)?,
        Err(_) => work(),
    }
}
