//! Directories and files that only their owner can use.

use std::fs;
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
    // The system would say that the file exists, as if that were the fault.
    if let Some(file) = path.ancestors().find(|it| it.exists()).filter(|it| !it.is_dir()) {
        let text = format!("`{}` is a file and not a directory", file.display());
        return Err(io::Error::new(ErrorKind::NotADirectory, text));
    }
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

/// Opens a file to read it. A link, a pipe or a device in its place is [`ErrorKind::InvalidData`] and is not opened: opening
/// a pipe would wait for its other end.
pub(crate) fn open_regular_file(path: &Path) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is no regular file"));
    }
    File::open(path)
}

/// Writes a file. A new one gets the mode 0600. A link or a pipe in its place is replaced; the target of a link is not
/// changed.
pub(crate) fn write_private_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|entry| !entry.is_file()) {
        fs::remove_file(path)?;
    }
    let mut file = private_file_options().write(true).create(true).truncate(true).open(path)?;
    file.write_all(bytes)
}

/// Creates a file with this content, unless there is one: then it fails with [`ErrorKind::AlreadyExists`].
///
/// The content is written to a draft, which is closed and then linked to the name. So the file is complete from the first
/// moment on, and no descriptor of it is closed here: closing one would drop the POSIX locks that other connections of
/// this process have on the file.
#[cfg(feature = "sqlite")]
pub(crate) fn create_private_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension(format!("new-{}", uuid::Uuid::new_v4().simple()));
    let opened = private_file_options().write(true).create_new(true).open(&draft);
    let written = opened.and_then(|mut draft| {
        draft.write_all(bytes)?;
        draft.sync_all()
    });
    let linked = written.and_then(|()| fs::hard_link(&draft, path));
    // A draft that cannot be removed is not used by anything.
    let _ = fs::remove_file(&draft);
    linked
}

/// Makes the names in a directory survive a power failure, if the system does not do so by itself.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    // The parent of a relative path with one component is the empty path.
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}
