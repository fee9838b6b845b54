use std::io;
use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_core::cancel::Cancellation;
use haft_core::spool::{LineIndexBuilder, LocalRead, SpoolError};
use proptest::prelude::*;

use super::{FoundLines, GrepLimits, GrepOptions, GrepScan, LineSearch, parallel};
use crate::scan::run_local_scan;
use crate::text::page::{PageLimit, TextLine};
use crate::text::pattern::Pattern;
use haft_core::artifact::Budget;
use haft_core::spool::AlignedBuffer;

/// Content that counts what is read of it, and fails from some offset on.
struct Bytes {
    content: Vec<u8>,
    read: AtomicU64,
    broken_from: u64,
}

impl Bytes {
    fn new(content: impl Into<Vec<u8>>) -> Self {
        Self { content: content.into(), read: AtomicU64::new(0), broken_from: u64::MAX }
    }
}

impl LocalRead for Bytes {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset >= self.broken_from {
            return Err(io::Error::other("a bad sector"));
        }
        self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        let start = usize::try_from(offset).unwrap();
        buffer.copy_from_slice(&self.content[start..start + buffer.len()]);
        Ok(buffer.len())
    }
}

fn count(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap()
}

fn query(content: &[u8], pattern: &str, block: u32, limits: GrepLimits) -> LineSearch {
    let mut index = LineIndexBuilder::new(NonZeroU32::new(block).unwrap());
    index.push(content);
    LineSearch {
        pattern: Pattern::new(pattern, &GrepOptions::new()).unwrap(),
        index: Arc::new(index.finish()),
        budget: Budget::new(),
        limit: None,
        limits,
    }
}

/// By one scan from start to end.
fn by_one(query: &LineSearch, local: &dyn LocalRead, lines: &Range<u64>) -> FoundLines {
    let scan = GrepScan::new(Arc::new(query.clone()), lines);
    let mut found = FoundLines::new(query);
    found.add(
        run_local_scan(local, &Cancellation::new(), scan, &mut AlignedBuffer::default()).unwrap(),
    );
    found
}

type Answer = (Vec<TextLine>, Option<(u64, PageLimit)>, u64, Option<u64>);

fn answer(found: FoundLines) -> Answer {
    (found.shown.lines, found.resume, found.unsearched, found.first_unsearched_line)
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let pieces: [&[u8]; 9] =
        [b"\n", b"\n", b"\r\n", b"a", b"b", b"ab", b"\xff", b"\xef\xbb\xbf", b"xxxxxxxxxxxxxxxxxx"];
    let piece = prop::sample::select(pieces.to_vec());
    prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(300)))]

    #[test]
    fn many_threads_find_what_one_finds(
        content in content(),
        pattern in prop::sample::select(vec!["a", "^b", "x$", "", "^$", "ab|x", "zzz"]),
        (block, window, line) in (1_u32..30, 1_usize..60, 0_usize..40),
        (threads, part) in (2_usize..5, 1_u64..80),
        (lines, bytes, limit) in (1_usize..20, 0_usize..100, prop::option::of(1_usize..9)),
        (start, len) in (0_u64..20, 0_u64..80),
    ) {
        let limits = GrepLimits { window, line, threads: count(threads), parallel: 0, part };
        let mut query = query(&content, pattern, block, limits);
        query.budget = Budget::new().lines(count(lines)).bytes(bytes);
        query.limit = limit.map(count);
        let lines = start..(start + len).min(query.index.line_count());
        let local = Bytes::new(content);
        let many = parallel::search(&query, &local, &Cancellation::new(), lines.clone()).unwrap();
        prop_assert_eq!(answer(many), answer(by_one(&query, &local, &lines)));
        // Nor does it matter how much is read at once.
        let mut wide = query.clone();
        wide.limits.window = 1 << 20;
        prop_assert_eq!(
            answer(by_one(&wide, &local, &lines)),
            answer(by_one(&query, &local, &lines))
        );
    }
}

/// A thousand lines of ten bytes in parts of a hundred.
fn lines_in_parts(pattern: &str) -> (LineSearch, Bytes) {
    let content: String = (0..1000).map(|number| format!("line {number:04}\n")).collect();
    let limits = GrepLimits { window: 50, line: 50, threads: count(2), parallel: 0, part: 100 };
    (query(content.as_bytes(), pattern, 50, limits), Bytes::new(content))
}

#[test]
fn a_full_answer_stops_all_threads() {
    let (mut query, local) = lines_in_parts("line");
    query.limit = Some(count(3));
    let found = parallel::search(&query, &local, &Cancellation::new(), 0..1001).unwrap();
    assert_eq!(found.resume, Some((3, PageLimit::Matches)));
    // The second thread may have gone through some parts meanwhile, but they all end at three matches.
    assert!(local.read.load(Ordering::Relaxed) < 10_000);
}

#[test]
fn a_fault_behind_a_full_answer_is_not_met() {
    let (mut query, mut local) = lines_in_parts("line");
    local.broken_from = 5000;
    query.limit = Some(count(3));
    let found = parallel::search(&query, &local, &Cancellation::new(), 0..1001).unwrap();
    assert_eq!(found.shown.lines.len(), 3);
    query.limit = None;
    query.budget = query.budget.lines(count(10_000)).bytes(1 << 20);
    let failed = parallel::search(&query, &local, &Cancellation::new(), 0..1001).err().unwrap();
    assert!(matches!(failed, SpoolError::Store { .. }), "{failed}");
}

#[test]
fn cancelling_stops_all_threads() {
    let (query, local) = lines_in_parts("no such line");
    let cancellation = Cancellation::new();
    cancellation.cancel("enough");
    let failed = parallel::search(&query, &local, &cancellation, 0..1001).err().unwrap();
    assert_eq!(failed.to_string(), "reading was cancelled: enough");
    assert_eq!(local.read.load(Ordering::Relaxed), 0);
}
