//! Reads text files of bounded size.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::user_error::UserError;

/// Maximum size of text files that people write, in bytes.
pub(crate) const MAX_TEXT_BYTES: u64 = 1024 * 1024;

/// Reads a regular file that another user may have written. Opening never blocks.
pub(crate) fn read_regular_text(path: &Path, max_bytes: u64) -> Result<String> {
    let shown = path.display();
    let cannot_read = || format!("cannot read `{shown}`");
    // Checked before the file is opened, because opening alone triggers some devices, and again afterwards, because
    // the path may name another file by then.
    require_regular_file(path, &std::fs::metadata(path).with_context(cannot_read)?, max_bytes)?;
    let file = open_without_blocking(path).with_context(cannot_read)?;
    require_regular_file(path, &file.metadata().with_context(cannot_read)?, max_bytes)?;
    let text = read_at_most(file, max_bytes).with_context(cannot_read)?;
    if text.len() as u64 > max_bytes {
        return Err(too_large(path, &format!("more than {max_bytes}"), max_bytes).into());
    }
    String::from_utf8(text).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        let error = UserError::new(format!("{shown}:{line}: the text is not valid UTF-8"));
        error.hint("is this the right file?").into()
    })
}

/// The error of a file that the user names and that cannot be opened. If it is not there, the hint names a similar one, or
/// the directory in which it was looked for.
pub(crate) fn file_error(
    message: impl Into<String>,
    path: &Path,
    error: io::Error,
) -> anyhow::Error {
    let failed = UserError::new(message);
    let failed = match error.kind() {
        io::ErrorKind::NotFound => failed.hint(missing_file_hint(path)),
        _ => failed,
    };
    anyhow::Error::new(error).context(failed)
}

fn missing_file_hint(path: &Path) -> String {
    let dir = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).take(MAX_NAMES).collect();
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    let near = haft::schema::nearest(&wanted, names.iter().map(String::as_str));
    match near {
        Some(near) => format!("did you mean `{}`?", path.with_file_name(near).display()),
        None if path.is_absolute() => "check the path".to_owned(),
        None => {
            let here = std::env::current_dir().unwrap_or_default();
            format!("the path is seen from `{}`", here.display())
        }
    }
}

/// In how many names of a directory a similar one is looked for.
const MAX_NAMES: usize = 10_000;

/// Reads a file that the user names, which may be a pipe or `/dev/null`.
///
/// # Errors
///
/// The file cannot be read, is not UTF-8 or has too many bytes.
pub(crate) fn read_named_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    let text = read_at_most(File::open(path)?, max_bytes)?;
    if text.len() as u64 > max_bytes {
        let kind = io::ErrorKind::FileTooLarge;
        return Err(io::Error::new(kind, format!("it has more than {max_bytes} bytes")));
    }
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-8");
    String::from_utf8(text).map_err(invalid)
}

/// Reads a file to its end, or to the first byte that is too many.
fn read_at_most(file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut text)?;
    Ok(text)
}

/// Opens a file without waiting for the other end of a pipe.
fn open_without_blocking(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

fn require_regular_file(
    path: &Path,
    metadata: &std::fs::Metadata,
    max_bytes: u64,
) -> Result<(), UserError> {
    if !metadata.is_file() {
        let kind = if metadata.is_dir() { "a directory" } else { "not a regular file" };
        let error = UserError::new(format!("`{}` is {kind}", path.display()));
        return Err(error.hint("use the path of a text file"));
    }
    if metadata.len() > max_bytes {
        return Err(too_large(path, &metadata.len().to_string(), max_bytes));
    }
    Ok(())
}

fn too_large(path: &Path, length: &str, max_bytes: u64) -> UserError {
    let error = UserError::new(format!("`{}` has {length} bytes", path.display()));
    error.hint(format!("the maximum is {max_bytes} bytes; is this the right file?"))
}
