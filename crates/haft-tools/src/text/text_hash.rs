//! The tool `text_hash`.

use sha2::{Digest as _, Sha256, Sha512};

use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct TextHashArgs {
    /// The text, hashed as UTF-8
    #[arg(max_len = 500000, example = "hello")]
    text: String,
    #[arg(default = "sha256")]
    algorithm: Algorithm,
}

#[derive(ToolArgs)]
pub(crate) enum Algorithm {
    Sha256,
    Sha512,
    /// A check sum, as of zip files; it protects from nothing
    Crc32,
}

/// Computes a hash of a text: SHA-256, SHA-512 or CRC-32. Use it to compare or to identify texts.
///
/// Returns the hash in lower-case hex.
#[tool(read_only)]
pub(super) fn text_hash(args: TextHashArgs) -> String {
    let bytes = args.text.as_bytes();
    match args.algorithm {
        Algorithm::Sha256 => hex::encode(Sha256::digest(bytes)),
        Algorithm::Sha512 => hex::encode(Sha512::digest(bytes)),
        Algorithm::Crc32 => hex::encode(crc32(bytes).to_be_bytes()),
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}
