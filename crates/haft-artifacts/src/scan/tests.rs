use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Content of which some is in memory.
struct PartlyCached {
    bytes: Vec<u8>,
    cached: u64,
    waited: AtomicUsize,
}

impl LocalRead for PartlyCached {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.waited.fetch_add(1, Ordering::Relaxed);
        let start = usize::try_from(offset).unwrap();
        buffer.copy_from_slice(&self.bytes[start..start + buffer.len()]);
        Ok(buffer.len())
    }

    fn read_at_without_waiting(&self, offset: u64, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        let length = self.cached.checked_sub(offset).filter(|length| *length > 0)?;
        let length = buffer.len().min(usize::try_from(length).unwrap());
        let start = usize::try_from(offset).unwrap();
        buffer[..length].copy_from_slice(&self.bytes[start..start + length]);
        Some(Ok(length))
    }
}

/// Sums bytes, and retains some that it must see again.
struct Sum {
    position: u64,
    length: u64,
    window: usize,
    retained: usize,
    sum: u64,
}

impl ContentScan for Sum {
    fn next_read(&self) -> Option<ReadRequest> {
        ReadRequest::next_window(self.position, self.length, self.window)
    }

    fn process(&mut self, data: &[u8]) -> usize {
        let new = &data[self.retained..];
        self.sum += new.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        self.position += new.len() as u64;
        self.retained = data.len().min(5);
        self.retained
    }
}

/// Sums content of so many bytes. Returns how often it had to wait.
fn sum(length: usize, cached: u64, window: usize) -> usize {
    let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
    let expected: u64 = bytes.iter().map(|byte| u64::from(*byte)).sum();
    let content = PartlyCached { bytes, cached, waited: AtomicUsize::new(0) };
    let mut scan = Sum { position: 0, length: length as u64, window, retained: 0, sum: 0 };
    let mut buffer = AlignedBuffer::default();
    if let Some(retained) = run_inline(&content, &mut scan, &mut buffer).unwrap() {
        let rest = (&mut buffer, retained);
        scan = resume_local_scan(&content, &Cancellation::new(), scan, rest).unwrap();
    }
    assert_eq!(scan.sum, expected, "{length} bytes, {cached} cached, {window} at a time");
    content.waited.load(Ordering::Relaxed)
}

#[test]
fn what_is_in_memory_is_not_waited_for() {
    assert_eq!(sum(100_000, u64::MAX, 65_536), 0);
    assert_eq!(sum(0, u64::MAX, 65_536), 0);
    assert_eq!(sum(MAX_INLINE_BYTES, u64::MAX, 1000), 0);
}

/// A scan goes on elsewhere from where it had to wait, with the bytes that it retained.
#[test]
fn the_rest_is_read_where_it_may_wait() {
    assert_eq!(sum(100_000, 0, 10_000), 10);
    assert_eq!(sum(100_000, 25_000, 10_000), 8);
    assert_eq!(sum(100_000, 20_000, 10_000), 8);
}

/// Long scans leave the async worker although nothing has to be waited for.
#[test]
fn a_long_scan_does_not_stay() {
    assert_eq!(sum(MAX_INLINE_BYTES + 10_000, u64::MAX, 16_384), 1);
    assert_eq!(sum(1 << 20, u64::MAX, 1 << 18), 4);
}
