//! Base64, in both alphabets.

/// The standard alphabet with padding, or that of URLs without.
pub(super) fn encode(bytes: &[u8], url: bool) -> String {
    let alphabet = if url { URL } else { STANDARD };
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            if place <= chunk.len() {
                let index = (bits >> (18 - 6 * place) & 63) as usize;
                out.extend(alphabet.get(index).copied().map(char::from));
            } else if !url {
                out.push('=');
            }
        }
    }
    out
}

/// Both alphabets, with or without padding; white space is passed over. Nothing if it is not base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|it| !it.is_ascii_whitespace()).collect();
    let end = digits.iter().rposition(|it| *it != b'=').map_or(0, |at| at + 1);
    let (digits, padding) = digits.split_at_checked(end)?;
    if padding.len() > 2 || digits.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for chunk in digits.chunks(4) {
        let mut bits = 0_u32;
        for place in 0..4 {
            bits = bits << 6 | chunk.get(place).map_or(Some(0), |it| value(*it))?;
        }
        out.extend(bits.to_be_bytes().into_iter().skip(1).take(chunk.len().saturating_sub(1)));
    }
    Some(out)
}

fn value(digit: u8) -> Option<u32> {
    let digit = match digit {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    };
    STANDARD.iter().position(|it| *it == digit).and_then(|at| u32::try_from(at).ok())
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
