//! A skip the whole content that needs nothing but its bytes in order.

use super::{ContentScan, ReadRequest};

/// A scan that hands every chunk of the content to a function, together with the state it collects.
#[derive(Debug)]
pub(crate) struct ChunkScan<S> {
    state: S,
    take: fn(&mut S, &[u8]),
    position: u64,
    length: u64,
    window: usize,
}

impl<S> ChunkScan<S> {
    pub(crate) fn new(length: u64, window: usize, state: S, take: fn(&mut S, &[u8])) -> Self {
        Self { state, take, position: 0, length, window }
    }

    /// What was collected.
    pub(crate) fn into_state(self) -> S {
        self.state
    }
}

impl<S: Send + 'static> ContentScan for ChunkScan<S> {
    fn next_read(&self) -> Option<ReadRequest> {
        ReadRequest::next_window(self.position, self.length, self.window)
    }

    fn process(&mut self, data: &[u8]) -> usize {
        self.position += data.len() as u64;
        (self.take)(&mut self.state, data);
        0
    }
}
