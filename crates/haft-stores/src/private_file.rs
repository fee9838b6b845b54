//! Directories and files that only their owner can use.

use std::fs::{DirBuilder, File, OpenOptions, create_dir_all};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// Options that give a new file the mode 0600. The mode of an existing file stays as it is.
pub(crate) fn private_file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a directory with the mode 0700, and missing parents with the default mode. An existing directory stays
/// as it is.
pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        create_dir_all(parent)?;
    }
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        created => created,
    }
}

/// Writes a file. A new one gets the mode 0600.
pub(crate) fn write_private_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file: File =
        private_file_options().write(true).create(true).truncate(true).open(path)?;
    file.write_all(bytes)
}
