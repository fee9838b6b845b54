//! Base64 (RFC 4648) of chunks that are not text.

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        for at in 0..4 {
            let digit = ALPHABET.get((bits >> (18 - 6 * at) & 63) as usize);
            let padding = at > three.len();
            out.push(digit.filter(|_| !padding).map_or('=', |it| char::from(*it)));
        }
    }
    out
}

/// The bytes; nothing if the text is not what [`encode`] writes.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (fours, []) = text.as_bytes().as_chunks::<4>() else { return None };
    for four in fours {
        let mut bits = 0_u32;
        let mut digits = 0;
        for byte in four.iter().take_while(|byte| **byte != b'=') {
            let digit = ALPHABET.iter().position(|it| it == byte)?;
            bits = bits << 6 | u32::try_from(digit).ok()?;
            digits += 1;
        }
        let bytes = (bits << (6 * (4 - digits))).to_be_bytes();
        out.extend_from_slice(bytes.get(1..digits.max(1))?);
    }
    (encode(&out) == text).then_some(out)
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
