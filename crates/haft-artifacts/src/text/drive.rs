//! Feeds content to a scan, off the async workers.

use std::io;
use std::sync::Arc;

use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::spool::{LocalRead, SpoolError, SpoolReader};

use crate::blocking::run_blocking;
use haft_core::spool::AlignedBuffer;

/// Work on content that asks for one read after the other. It does no I/O itself, so it is the same for
/// files and for content that is far away.
pub(crate) trait Scan: Send + 'static {
    /// The next read; nothing when the work is done.
    fn want(&self) -> Option<Want>;

    /// Takes what was kept and what was read, and says how many of the last bytes to keep.
    fn feed(&mut self, data: &[u8]) -> usize;
}

/// A read: all of these bytes exist.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub(crate) offset: u64,
    pub(crate) len: usize,
}

/// Runs a scan to its end.
pub(crate) async fn drive<S: Scan>(
    reader: &Arc<dyn SpoolReader>,
    cancellation: &Cancellation,
    mut scan: S,
) -> Result<S, SpoolError> {
    if let Some(local) = reader.local() {
        let work = move |token: &_| scan_local(&*local, token, scan, &mut AlignedBuffer::default());
        return on_thread(cancellation, work).await;
    }
    let (mut window, mut keep) = (AlignedBuffer::default(), 0);
    while let Some(want) = scan.want() {
        check(cancellation)?;
        let bytes = reader.read_at(want.offset, want.len).await?;
        if bytes.len() != want.len {
            return Err(too_short());
        }
        let fed = run_blocking(move || {
            window.next(keep, bytes.len()).copy_from_slice(&bytes);
            window.filled(bytes.len());
            let keep = scan.feed(window.data());
            Ok((scan, window, keep))
        });
        (scan, window, keep) = fed.await.map_err(read_error)?;
    }
    Ok(scan)
}

/// Does work that reads without a future, on a thread for it. Dropping this future stops the work.
pub(super) async fn on_thread<T: Send + 'static>(
    cancellation: &Cancellation,
    work: impl FnOnce(&Cancellation) -> Result<T, SpoolError> + Send + 'static,
) -> Result<T, SpoolError> {
    // Below the caller's token, which goes on.
    let guard = StopOnDrop(cancellation.child());
    let token = guard.0.clone();
    run_blocking(move || work(&token).map_err(io::Error::from)).await.map_err(read_error)
}

/// Runs a scan to its end right here, by way of a window that can be used again.
pub(super) fn scan_local<S: Scan>(
    local: &dyn LocalRead,
    cancellation: &Cancellation,
    mut scan: S,
    window: &mut AlignedBuffer,
) -> Result<S, SpoolError> {
    let mut keep = 0;
    while let Some(want) = scan.want() {
        check(cancellation)?;
        let buffer = window.next(keep, want.len);
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match local.read_at(want.offset + filled as u64, rest) {
                Ok(0) => return Err(too_short()),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(read_error(error)),
            }
        }
        window.filled(filled);
        keep = scan.feed(window.data());
    }
    Ok(scan)
}

pub(crate) fn check(cancellation: &Cancellation) -> Result<(), SpoolError> {
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

pub(crate) struct StopOnDrop(pub(crate) Cancellation);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel(CancelReason::Requested);
    }
}
