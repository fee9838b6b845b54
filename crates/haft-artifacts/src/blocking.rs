//! Work that blocks, off the async workers.

use std::io;

/// Runs blocking work on the runtime's blocking threads, or in place where there is no runtime.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let text = haft_artifacts::run_blocking(|| Ok("read from a file".to_owned())).await?;
/// assert_eq!(text, "read from a file");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// The work fails, panics, or is dropped by a runtime that shuts down.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.map_err(io::Error::other)?,
        Err(_) => work(),
    }
}
