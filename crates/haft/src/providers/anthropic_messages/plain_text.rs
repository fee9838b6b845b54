//! Documents of plain text, which the API takes as text.

/// The text of a document. What is not UTF-8 is replaced. Nothing if it is not base64.
pub(super) fn plain_text(base64: &str) -> Option<String> {
    let digits = base64.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0;
        for digit in group {
            bits = bits << 6 | value(*digit)?;
        }
        let missing = 4_usize.checked_sub(group.len())?;
        bits <<= 6 * missing;
        let [_, decoded @ ..] = bits.to_be_bytes();
        // One digit alone is less than a byte.
        let whole = 3_usize.checked_sub(missing).filter(|it| *it > 0)?;
        bytes.extend(decoded.iter().take(whole));
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The six bits of a digit.
fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}
