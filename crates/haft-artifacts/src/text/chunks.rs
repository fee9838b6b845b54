//! Content from its beginning to its end.

use std::sync::Arc;

use haft_core::cancel::Cancellation;
use haft_core::spool::{SpoolError, SpoolReader};

use super::drive::{Scan, Want, drive};

/// Hands the whole content to `take`, chunk by chunk, off the async workers, and gives back what it was
/// collected in.
pub(crate) async fn each_chunk<S: Send + 'static>(
    reader: &Arc<dyn SpoolReader>,
    cancellation: &Cancellation,
    state: S,
    take: fn(&mut S, &[u8]),
) -> Result<S, SpoolError> {
    let scan = Chunks { state, take, position: 0, end: reader.byte_length() };
    Ok(drive(reader, cancellation, scan).await?.state)
}

struct Chunks<S> {
    state: S,
    take: fn(&mut S, &[u8]),
    position: u64,
    end: u64,
}

impl<S: Send + 'static> Scan for Chunks<S> {
    fn want(&self) -> Option<Want> {
        let left = usize::try_from(self.end - self.position).unwrap_or(usize::MAX);
        (left > 0).then_some(Want { offset: self.position, len: left.min(256 * 1024) })
    }

    fn feed(&mut self, data: &[u8]) -> usize {
        self.position += data.len() as u64;
        (self.take)(&mut self.state, data);
        0
    }
}
