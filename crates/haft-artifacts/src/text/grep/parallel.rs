//! Searches parts of the content in parallel.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use haft_core::cancel::{CancelReason, Cancellation};
use haft_core::spool::{LocalRead, SpoolError};

use super::scan::GrepScan;
use super::{FoundLines, LineSearch};
use crate::scan::run_local_scan;
use haft_core::spool::AlignedBuffer;

/// Searches these lines with as many threads as the search allows, including this one.
pub(super) fn search(
    query: &LineSearch,
    local: &dyn LocalRead,
    cancellation: &Cancellation,
    lines: Range<u64>,
) -> Result<FoundLines, SpoolError> {
    let stop = cancellation.child();
    let work = ParallelSearch(Mutex::new(SearchProgress::new(query, lines)));
    thread::scope(|scope| {
        for _ in 1..query.limits.threads.get() {
            // A thread that cannot be started is not needed: the others search its parts.
            let _ = thread::Builder::new()
                .spawn_scoped(scope, || work.search_parts(query.clone(), local, &stop));
        }
        work.search_parts(query.clone(), local, &stop);
    });
    let state = work.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.failed.map_or(Ok(state.found), Err)
}

struct ParallelSearch(Mutex<SearchProgress>);

impl ParallelSearch {
    /// Searches one part after the other. Every thread has its own copy of the search, because threads that
    /// share a regular expression wait for each other.
    fn search_parts(&self, query: LineSearch, local: &dyn LocalRead, stop: &Cancellation) {
        let (query, mut window) = (Arc::new(query), AlignedBuffer::default());
        loop {
            let Some((number, lines)) = self.lock().take(&query) else { return };
            let scan = GrepScan::new(Arc::clone(&query), &lines);
            let part = run_local_scan(local, stop, scan, &mut window);
            if self.lock().add(number, part) {
                stop.cancel(CancelReason::Requested);
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, SearchProgress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct SearchProgress {
    /// The lines that no thread has taken yet, and the block that the last part went up to.
    lines: Range<u64>,
    block: u64,
    taken: u64,
    /// Parts that were searched before an earlier part was.
    ready: BTreeMap<u64, Result<GrepScan, SpoolError>>,
    added: u64,
    found: FoundLines,
    failed: Option<SpoolError>,
    finished: bool,
}

impl SearchProgress {
    fn new(query: &LineSearch, lines: Range<u64>) -> Self {
        let start = query.index.locate(lines.start).map_or(0, |start| start.offset);
        Self {
            lines,
            block: start / u64::from(query.index.block_size().get()),
            taken: 0,
            ready: BTreeMap::new(),
            added: 0,
            found: FoundLines::new(query),
            failed: None,
            finished: false,
        }
    }

    /// The next part: the lines that begin after an LF of the next blocks.
    fn take(&mut self, query: &LineSearch) -> Option<(u64, Range<u64>)> {
        let blocks = query.limits.part.div_ceil(u64::from(query.index.block_size().get())).max(1);
        while !self.finished && !self.lines.is_empty() {
            self.block += blocks;
            let end = query.index.newlines_before_block(self.block) + 1;
            let end = end.clamp(self.lines.start, self.lines.end);
            let part = self.lines.start..end;
            self.lines.start = end;
            // Blocks without an LF have no part of their own.
            if !part.is_empty() {
                self.taken += 1;
                return Some((self.taken - 1, part));
            }
        }
        None
    }

    /// Adds the result of a part in the order of the parts. Returns true when nothing more is needed.
    fn add(&mut self, number: u64, part: Result<GrepScan, SpoolError>) -> bool {
        self.ready.insert(number, part);
        while let Some(part) = self.ready.remove(&self.added).filter(|_| !self.finished) {
            self.added += 1;
            match part {
                Ok(part) => self.finished = !self.found.add(part),
                Err(error) => {
                    (self.finished, self.failed) = (true, Some(error));
                }
            }
        }
        self.finished
    }
}
