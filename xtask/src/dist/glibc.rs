//! Which glibc a binary asks for.

use std::io;

/// The highest version of glibc that a binary names.
///
/// The names of symbol versions stand as text in the binary. Text that only looks like one can make this check too
/// strict, never too lax.
///
/// # Errors
///
/// It is newer than `limit`, or there is none.
pub(super) fn check(binary: &[u8], limit: (u32, u32)) -> io::Result<(u32, u32)> {
    let highest = highest(binary).ok_or_else(|| io::Error::other("the binary names no glibc"))?;
    if highest <= limit {
        return Ok(highest);
    }
    let (major, minor) = highest;
    Err(io::Error::other(format!(
        "the binary needs glibc {major}.{minor}, and may need {}.{} at most; `objdump -T` names the symbols",
        limit.0, limit.1
    )))
}

fn highest(binary: &[u8]) -> Option<(u32, u32)> {
    let mark = b"GLIBC_";
    let starts = binary.windows(mark.len()).enumerate().filter(|(_, it)| it == mark);
    let versions = starts.filter_map(|(at, _)| version(binary.get(at + mark.len()..)?));
    versions.max()
}

/// The version at the start of `text`: `2.28`, also of `2.3.4`.
fn version(text: &[u8]) -> Option<(u32, u32)> {
    let end = text.iter().position(|it| !it.is_ascii_digit() && *it != b'.')?;
    let text = std::str::from_utf8(text.get(..end)?).ok()?;
    let mut parts = text.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn the_highest_version_decides() {
        let binary = b"\0GLIBC_2.2.5\0GLIBC_2.28\0GLIBC_2.3.4\0GLIBC_PRIVATE\0GLIBC_ABI_DT_RELR\0";
        assert_eq!(check(binary, (2, 28)).unwrap(), (2, 28));
        assert!(check(b"\0GLIBC_2.29\0", (2, 28)).is_err());
        assert!(check(b"\0GLIBC_2.9\0GLIBC_2.34\0", (2, 28)).is_err());
        assert!(check(b"none", (2, 28)).is_err());
    }
}
