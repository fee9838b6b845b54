//! Finding the end of plain string text, eight bytes at a time.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES << 7;

/// How many bytes at the start stand for themselves inside a string that `quote` delimits: up to the
/// first control character, backslash or `quote`.
#[inline]
pub(super) fn plain_len(bytes: &[u8], quote: u8) -> usize {
    let mut rest = bytes;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        let hits = special(u64::from_le_bytes(*word), quote);
        if hits != 0 {
            return bytes.len() - rest.len() + (hits.trailing_zeros() / 8) as usize;
        }
        rest = tail;
    }
    let plain = |byte: &u8| *byte >= b' ' && *byte != b'\\' && *byte != quote;
    bytes.len() - rest.len() + rest.iter().take_while(|byte| plain(byte)).count()
}

/// Marks the high bit of every byte that is special. Bits above the lowest mark may be false
/// marks, because a subtraction borrows upwards; the lowest one is always true.
#[inline]
const fn special(word: u64, quote: u8) -> u64 {
    let quotes = word ^ (ONES * quote as u64);
    let slashes = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * b' ' as u64) & !word;
    let quotes = quotes.wrapping_sub(ONES) & !quotes;
    let slashes = slashes.wrapping_sub(ONES) & !slashes;
    (control | quotes | slashes) & HIGHS
}
