//! Runs skips stored content off the async workers.
//!
//! A format implements [`ContentScan`]: it says which bytes it needs next and processes them.
//! [`run_scan`] does the reading, so that a scan is the same for local files and for remote content.

mod chunks;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::io;
use std::sync::Arc;

use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::spool::{AlignedBuffer, LocalRead, SpoolError, SpoolReader};

pub(crate) use self::chunks::ChunkScan;
use crate::blocking::run_blocking;

/// Work on content that requests one read after the other and does no I/O itself.
pub(crate) trait ContentScan: Send + 'static {
    /// The next read; `None` when the scan is complete.
    fn next_read(&self) -> Option<ReadRequest>;

    /// Processes the bytes that were retained followed by those that were read, and returns how many
    /// of the last bytes to retain for the next call.
    fn process(&mut self, data: &[u8]) -> usize;
}

/// A read of bytes that all exist in the content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadRequest {
    pub(crate) offset: u64,
    pub(crate) len: usize,
}

impl ReadRequest {
    /// A read of the next bytes of content that has `length` bytes: at most `window` of them. `None` at
    /// the end.
    pub(crate) fn next_window(position: u64, length: u64, window: usize) -> Option<Self> {
        let left = length.saturating_sub(position);
        (left > 0).then(|| Self { offset: position, len: saturating_len(left).min(window.max(1)) })
    }
}

/// A length as `usize`. A length that does not fit is as long as memory can be, so that the minimum of it
/// and a window size is right on every platform.
pub(crate) fn saturating_len(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

/// Runs a scan to its end.
pub(crate) async fn run_scan<S: ContentScan>(
    reader: &Arc<dyn SpoolReader>,
    cancellation: &Cancellation,
    mut scan: S,
) -> Result<S, SpoolError> {
    if let Some(local) = reader.local() {
        check_cancelled(cancellation)?;
        let mut window = INLINE_WINDOW.take();
        let Some(retained) = run_inline(&*local, &mut scan, &mut window)? else {
            INLINE_WINDOW.set(window);
            return Ok(scan);
        };
        let work =
            move |token: &_| resume_local_scan(&*local, token, scan, (&mut window, retained));
        return run_cancellable(cancellation, work).await;
    }
    let mut window = AlignedBuffer::default();
    let mut retained = 0;
    while let Some(request) = scan.next_read() {
        check_cancelled(cancellation)?;
        let bytes = reader.read_at(request.offset, request.len).await?;
        if bytes.len() != request.len {
            return Err(too_short());
        }
        let processed = run_blocking(move || {
            window.next(retained, bytes.len()).copy_from_slice(&bytes);
            window.filled(bytes.len());
            let retained = scan.process(window.data());
            Ok((scan, window, retained))
        });
        (scan, window, retained) = processed.await.map_err(read_error)?;
    }
    Ok(scan)
}

/// Runs blocking work on a thread for it. Dropping this future cancels the work.
pub(crate) async fn run_cancellable<T: Send + 'static>(
    cancellation: &Cancellation,
    work: impl FnOnce(&Cancellation) -> Result<T, SpoolError> + Send + 'static,
) -> Result<T, SpoolError> {
    // A child, because the caller's token must outlive this query.
    let guard = CancelOnDrop(cancellation.child());
    let token = guard.0.clone();
    run_blocking(move || work(&token).map_err(io::Error::from)).await.map_err(read_error)
}

thread_local! {
    /// The window of scans that need not wait. It is as large as such a scan may read.
    static INLINE_WINDOW: Cell<AlignedBuffer> = Cell::default();
}

/// How many bytes a scan may read and process on an async worker: two blocks of the line index.
const MAX_INLINE_BYTES: usize = 128 * 1024;

/// Runs a scan on this thread as long as it is short and its reads do not wait. Returns how many bytes the window
/// retains for the rest, or `None` if the scan is complete.
fn run_inline<S: ContentScan>(
    local: &dyn LocalRead,
    scan: &mut S,
    window: &mut AlignedBuffer,
) -> Result<Option<usize>, SpoolError> {
    let mut left = MAX_INLINE_BYTES;
    let mut retained = 0;
    while let Some(request) = scan.next_read() {
        left = match left.checked_sub(request.len) {
            Some(left) => left,
            None => return Ok(Some(retained)),
        };
        let buffer = window.next(retained, request.len);
        if !fill_without_waiting(local, request.offset, buffer)? {
            return Ok(Some(retained));
        }
        window.filled(request.len);
        retained = scan.process(window.data());
    }
    Ok(None)
}

/// Fills the buffer with the bytes from `offset` on, which must exist. Returns false if that has to wait.
fn fill_without_waiting(
    local: &dyn LocalRead,
    offset: u64,
    buffer: &mut [u8],
) -> Result<bool, SpoolError> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match local.read_at_without_waiting(offset + filled as u64, rest) {
            None => return Ok(false),
            Some(Ok(0)) => return Err(too_short()),
            Some(Ok(read)) => filled += read,
            Some(Err(error)) => return Err(read_error(error)),
        }
    }
    Ok(true)
}

/// Runs the rest of a scan whose window retains `retained` bytes.
pub(crate) fn resume_local_scan<S: ContentScan>(
    local: &dyn LocalRead,
    cancellation: &Cancellation,
    mut scan: S,
    (window, mut retained): (&mut AlignedBuffer, usize),
) -> Result<S, SpoolError> {
    while let Some(request) = scan.next_read() {
        check_cancelled(cancellation)?;
        let buffer = window.next(retained, request.len);
        read_exact_local(local, request.offset, buffer)?;
        window.filled(request.len);
        retained = scan.process(window.data());
    }
    Ok(scan)
}

/// Fills the buffer with the bytes from `offset` on, which must exist.
pub(crate) fn read_exact_local(
    local: &dyn LocalRead,
    offset: u64,
    buffer: &mut [u8],
) -> Result<(), SpoolError> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match local.read_at(offset + filled as u64, rest) {
            Ok(0) => return Err(too_short()),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(read_error(error)),
        }
    }
    Ok(())
}

/// Fails if the query was cancelled.
pub(crate) fn check_cancelled(cancellation: &Cancellation) -> Result<(), SpoolError> {
    match cancellation.reason() {
        Some(reason) => Err(SpoolError::Cancelled { reason }),
        None => Ok(()),
    }
}

pub(crate) fn read_error(source: io::Error) -> SpoolError {
    let store = |source| SpoolError::Store { doing: "read from", source };
    source.downcast::<SpoolError>().unwrap_or_else(store)
}

pub(crate) fn too_short() -> SpoolError {
    let reason = "the content ends before the length that its reader gave";
    read_error(io::Error::new(io::ErrorKind::UnexpectedEof, reason))
}

/// Cancels a token when it is dropped.
pub(crate) struct CancelOnDrop(pub(crate) Cancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel(CancelReason::Requested);
    }
}
