//! The contract of spool readers.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use bytes::Bytes;
use haft_core::BoxFuture;
use haft_core::invariant::OrReport as _;
use haft_core::spool::{LineIndexBuilder, LocalRead, SpoolError, SpoolReader};

use haft_core::contract::ContractViolation;

/// Checks a spool reader whose content is known. Content of some hundred kilobytes with long and short lines finds the
/// most errors.
///
/// # Errors
///
/// The first promise of [`SpoolReader`] or [`LocalRead`] that is not kept.
pub async fn spool_reader(
    reader: &dyn SpoolReader,
    content: &[u8],
) -> Result<(), ContractViolation> {
    ContractViolation::ensure_equal(
        "byte_length counts bytes",
        &reader.byte_length(),
        &(content.len() as u64),
    )?;
    index_fits(reader, content).await?;
    let block = expect_ok("content has an index", reader.index().await)?.block_size().get();
    let block = usize::try_from(block).or_report("`usize` has at least 32 bits", content.len());
    let ranges = probe_ranges(content.len(), block);
    for (offset, len) in &ranges {
        let read = expect_ok("any range can be read", reader.read_at(*offset, *len).await)?;
        expect_same_bytes(
            "the bytes are those that were given",
            *offset,
            &read,
            expected_part(content, *offset, *len),
        )?;
    }
    if let Some(local) = reader.local() {
        for (offset, len) in &ranges {
            check_local(&*local, *offset, expected_part(content, *offset, *len))?;
        }
        local_past_the_end(&*local, content.len() as u64)?;
        local_side_by_side(&*local, content, &ranges)?;
    }
    dropped_reads_do_no_harm(reader, &ranges);
    side_by_side(reader, content, &ranges).await?;
    // All that changed nothing.
    index_fits(reader, content).await?;
    ContractViolation::ensure_equal(
        "byte_length stays",
        &reader.byte_length(),
        &(content.len() as u64),
    )
}

async fn index_fits(reader: &dyn SpoolReader, content: &[u8]) -> Result<(), ContractViolation> {
    let index = expect_ok("content has an index", reader.index().await)?;
    let mut expected = LineIndexBuilder::new(index.block_size());
    expected.push(content);
    let expected = expected.finish();
    ContractViolation::ensure_equal(
        "the index counts bytes",
        &index.byte_length(),
        &expected.byte_length(),
    )?;
    ContractViolation::ensure_equal(
        "the index counts lines",
        &index.line_count(),
        &expected.line_count(),
    )?;
    ContractViolation::ensure_equal(
        "the index counts newlines per block",
        &(*index == expected),
        &true,
    )
}

/// Reads at all sorts of places: around blocks and ends, past the end, of nothing and of too much.
fn probe_ranges(len: usize, block: usize) -> Vec<(u64, usize)> {
    let mut ranges = vec![(u64::MAX, 1), (u64::MAX, 0), (len as u64 + 5, 5), (0, usize::MAX)];
    let edges = [0, 1, 63, block, len / 3, len / 2, len.saturating_sub(block), len];
    for edge in edges {
        for offset in [edge.saturating_sub(1), edge, edge + 1] {
            for count in [0, 1, 3, 4096, block, block + 1, len] {
                ranges.push((offset as u64, count));
            }
        }
    }
    ranges.sort_unstable();
    ranges.dedup();
    ranges
}

fn expected_part(content: &[u8], offset: u64, len: usize) -> &[u8] {
    let start = usize::try_from(offset).map_or(content.len(), |it| it.min(content.len()));
    let end = start.saturating_add(len).min(content.len());
    content.get(start..end).or_report_default("both ends are at most the length")
}

fn expect_same_bytes(
    promise: &'static str,
    offset: u64,
    got: &[u8],
    expected: &[u8],
) -> Result<(), ContractViolation> {
    if got == expected {
        return Ok(());
    }
    let found = match (got.len(), expected.len()) {
        (same, also) if same == also => format!("{same} bytes at {offset} that differ"),
        (found, wanted) => format!("{found} bytes at {offset} instead of {wanted}"),
    };
    Err(ContractViolation::new(promise, found))
}

fn check_local(
    local: &dyn LocalRead,
    offset: u64,
    expected: &[u8],
) -> Result<(), ContractViolation> {
    let mut buffer = vec![0; expected.len()];
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let read = local.read_at(offset + filled as u64, rest);
        match read
            .map_err(|error| ContractViolation::new("any range can be read locally", error))?
        {
            0 => return Err(ContractViolation::new("local reads go to the end", filled)),
            read => filled += read,
        }
    }
    expect_same_bytes("local reads give the same bytes", offset, &buffer, expected)
}

fn local_past_the_end(local: &dyn LocalRead, len: u64) -> Result<(), ContractViolation> {
    for offset in [len, len + 1, len + 100_000, u64::MAX] {
        let read = local.read_at(offset, &mut [0; 16]);
        let read = read
            .map_err(|error| ContractViolation::new("a local read past the end is empty", error))?;
        ContractViolation::ensure_equal("a local read past the end is empty", &read, &0)?;
    }
    Ok(())
}

fn local_side_by_side(
    local: &dyn LocalRead,
    content: &[u8],
    ranges: &[(u64, usize)],
) -> Result<(), ContractViolation> {
    let check = |(offset, len): &(u64, usize)| {
        check_local(local, *offset, expected_part(content, *offset, *len))
            .map_err(|it| ContractViolation::new("local reads do not disturb each other", it))
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| ranges.iter().rev().try_for_each(check));
        let this = ranges.iter().try_for_each(check);
        let panicked =
            |_| Err(ContractViolation::new("local reads do not disturb each other", "a panic"));
        this.and(other.join().unwrap_or_else(panicked))
    })
}

/// Asks for ranges and waits for none of them.
fn dropped_reads_do_no_harm(reader: &dyn SpoolReader, ranges: &[(u64, usize)]) {
    let mut cx = Context::from_waker(Waker::noop());
    for (offset, len) in ranges {
        let _ = reader.read_at(*offset, *len).as_mut().poll(&mut cx);
    }
    let _ = reader.index().as_mut().poll(&mut cx);
}

async fn side_by_side(
    reader: &dyn SpoolReader,
    content: &[u8],
    ranges: &[(u64, usize)],
) -> Result<(), ContractViolation> {
    let reads = ranges.iter().map(|(offset, len)| reader.read_at(*offset, *len)).collect();
    for ((offset, len), read) in ranges.iter().zip(read_all(reads).await) {
        let promise = "reads do not disturb each other";
        expect_same_bytes(
            promise,
            *offset,
            &expect_ok(promise, read)?,
            expected_part(content, *offset, *len),
        )?;
    }
    Ok(())
}

/// Waits for all reads at once, the last first.
async fn read_all(
    reads: Vec<BoxFuture<'_, Result<Bytes, SpoolError>>>,
) -> Vec<Result<Bytes, SpoolError>> {
    let mut reads: Vec<_> = reads.into_iter().map(|read| (read, None)).collect();
    poll_fn(|cx| {
        let mut waiting = false;
        for (read, outcome) in reads.iter_mut().rev().filter(|(_, outcome)| outcome.is_none()) {
            match Pin::as_mut(read).poll(cx) {
                Poll::Ready(done) => *outcome = Some(done),
                Poll::Pending => waiting = true,
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    reads.into_iter().filter_map(|(_, outcome)| outcome).collect()
}

fn expect_ok<T>(
    promise: &'static str,
    result: Result<T, SpoolError>,
) -> Result<T, ContractViolation> {
    result.map_err(|error| ContractViolation::new(promise, error))
}
