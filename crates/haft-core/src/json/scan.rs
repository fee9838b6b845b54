//! Finding the end of plain string text, eight bytes at a time.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES << 7;

/// [`plain_len`] for a string that ends within eight bytes, as most keys do, or `None` if it does not.
#[inline(always)]
pub(super) fn short_plain_len(bytes: &[u8], quote: u8) -> Option<usize> {
    let hits = special(u64::from_le_bytes(*bytes.first_chunk::<8>()?), quote);
    (hits != 0).then_some((hits.trailing_zeros() / 8) as usize)
}

/// How many bytes at the start stand for themselves inside a string that `quote` delimits: up to the
/// first control character, backslash or `quote`.
#[inline]
pub(super) fn plain_len(bytes: &[u8], quote: u8) -> usize {
    let mut rest = bytes;
    let mut words = 0;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        let hits = special(u64::from_le_bytes(*word), quote);
        if hits != 0 {
            return bytes.len() - rest.len() + (hits.trailing_zeros() / 8) as usize;
        }
        words += 1;
        rest = if words % 4 == 0 { skip_blocks(tail, quote) } else { tail };
    }
    if is_end_plain(bytes, rest, quote) {
        return bytes.len();
    }
    let len = rest.iter().take_while(|byte| !is_special(**byte, quote)).count();
    bytes.len() - rest.len() + len
}

/// True when the last, fewer than eight bytes of `bytes` are known to be plain. Looks at them
/// together with plain ones before them, or twice at some of them.
#[inline]
fn is_end_plain(bytes: &[u8], rest: &[u8], quote: u8) -> bool {
    if let Some(word) = bytes.last_chunk::<8>() {
        return special(u64::from_le_bytes(*word), quote) == 0;
    }
    match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (Some(head), Some(tail)) => {
            let head = u32::from_le_bytes(*head);
            let tail = u32::from_le_bytes(*tail);
            special(u64::from(head) << 32 | u64::from(tail), quote) == 0
        }
        _ => false,
    }
}

/// Drops blocks of a long text that have nothing special in them. Compiles to vector instructions.
#[inline(never)]
fn skip_blocks(bytes: &[u8], quote: u8) -> &[u8] {
    let mut rest = bytes;
    while let Some((block, tail)) = rest.split_first_chunk::<64>() {
        if block.iter().fold(false, |found, byte| found | is_special(*byte, quote)) {
            break;
        }
        rest = tail;
    }
    rest
}

#[inline]
const fn is_special(byte: u8, quote: u8) -> bool {
    (byte < b' ') | (byte == b'\\') | (byte == quote)
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
