use std::io;
use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_core::cancel::Cancellation;
use haft_core::spool::{LineIndexBuilder, LocalRead, SpoolError};
use proptest::prelude::*;

use super::{FoundLines, GrepLimits, GrepOptions, GrepScan, LineSearch};
use crate::scan::resume_local_scan;
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

fn search(
    query: &LineSearch,
    local: &dyn LocalRead,
    lines: &Range<u64>,
) -> Result<FoundLines, SpoolError> {
    let scan = GrepScan::new(Arc::new(query.clone()), lines);
    let scan =
        resume_local_scan(local, &Cancellation::new(), scan, (&mut AlignedBuffer::default(), 0))?;
    Ok(FoundLines::new(query, scan))
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
    fn it_does_not_matter_how_much_is_read_at_once(
        content in content(),
        pattern in prop::sample::select(vec!["a", "^b", "x$", "", "^$", "ab|x", "zzz"]),
        (block, window, line) in (1_u32..30, 1_usize..60, 0_usize..40),
        (lines, bytes, limit) in (1_usize..20, 0_usize..100, prop::option::of(1_usize..9)),
        (start, len) in (0_u64..20, 0_u64..80),
    ) {
        let mut query = query(&content, pattern, block, GrepLimits { window, line });
        query.budget = Budget::new().lines(count(lines)).bytes(bytes);
        query.limit = limit.map(count);
        let lines = start..(start + len).min(query.index.line_count());
        let local = Bytes::new(content);
        let mut wide = query.clone();
        wide.limits.window = 1 << 20;
        prop_assert_eq!(
            answer(search(&wide, &local, &lines).unwrap()),
            answer(search(&query, &local, &lines).unwrap())
        );
    }
}

/// A thousand lines of ten bytes, of which ten are read at once.
fn thousand_lines(pattern: &str) -> (LineSearch, Bytes) {
    let content: String = (0..1000).map(|number| format!("line {number:04}\n")).collect();
    let limits = GrepLimits { window: 100, line: 50 };
    (query(content.as_bytes(), pattern, 50, limits), Bytes::new(content))
}

#[test]
fn a_full_answer_stops_the_search() {
    let (mut query, local) = thousand_lines("line");
    query.limit = Some(count(3));
    let found = search(&query, &local, &(0..1001)).unwrap();
    assert_eq!(found.resume, Some((3, PageLimit::Matches)));
    assert_eq!(local.read.load(Ordering::Relaxed), 100);
}

#[test]
fn a_fault_behind_a_full_answer_is_not_met() {
    let (mut query, mut local) = thousand_lines("line");
    local.broken_from = 5000;
    query.limit = Some(count(3));
    let found = search(&query, &local, &(0..1001)).unwrap();
    assert_eq!(found.shown.lines.len(), 3);
    query.limit = None;
    query.budget = query.budget.lines(count(10_000)).bytes(1 << 20);
    let failed = search(&query, &local, &(0..1001)).err().unwrap();
    assert!(matches!(failed, SpoolError::Store { .. }), "{failed}");
}

#[test]
fn a_cancelled_search_reads_nothing() {
    let (query, local) = thousand_lines("no such line");
    let cancellation = Cancellation::new();
    cancellation.cancel("enough");
    let scan = GrepScan::new(Arc::new(query), &(0..1001));
    let failed = resume_local_scan(&local, &cancellation, scan, (&mut AlignedBuffer::default(), 0));
    assert_eq!(failed.err().unwrap().to_string(), "reading was cancelled: enough");
    assert_eq!(local.read.load(Ordering::Relaxed), 0);
}
