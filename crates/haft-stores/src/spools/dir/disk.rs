//! The disk operations of a write. Tests can make each of them fail.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::private_file::{private_file_options, sync_dir, write_private_file};

/// An operation of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiskStep {
    Create,
    Write,
    Sync,
    Replace,
    WriteIndex,
    SyncDir,
}

#[cfg(test)]
pub(super) type DiskProbe = std::sync::Arc<dyn Fn(DiskStep) -> io::Result<()> + Send + Sync>;

/// Access to the disk.
#[derive(Clone, Default)]
pub(super) struct Disk {
    /// Whether written bytes are left to the operating system, which writes them to the disk later.
    pub(super) skips_sync: bool,
    /// Called before every operation; its error makes the operation fail.
    #[cfg(test)]
    pub(super) probe: Option<DiskProbe>,
}

impl Disk {
    pub(super) fn create(&self, path: &Path) -> io::Result<File> {
        self.check_step(DiskStep::Create)?;
        private_file_options().read(true).write(true).create_new(true).open(path)
    }

    pub(super) fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        self.check_step(DiskStep::Write)?;
        file.write_all(bytes)
    }

    pub(super) fn sync(&self, file: &File) -> io::Result<()> {
        self.check_step(DiskStep::Sync)?;
        if self.skips_sync { Ok(()) } else { file.sync_all() }
    }

    pub(super) fn replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check_step(DiskStep::Replace)?;
        fs::rename(from, to)
    }

    /// Writes an index file. A file that could not be written completely is removed.
    pub(super) fn write_index(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let written =
            self.check_step(DiskStep::WriteIndex).and_then(|()| write_private_file(path, bytes));
        if written.is_err() {
            remove_if_exists(path)?;
        }
        written
    }

    /// Flushes the entries of a directory to the disk, if the system supports that.
    pub(super) fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.check_step(DiskStep::SyncDir)?;
        if self.skips_sync { Ok(()) } else { sync_dir(dir) }
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "tests call a probe here")]
    fn check_step(&self, _step: DiskStep) -> io::Result<()> {
        Ok(())
    }

    #[cfg(test)]
    fn check_step(&self, step: DiskStep) -> io::Result<()> {
        self.probe.as_ref().map_or(Ok(()), |probe| probe(step))
    }
}

/// Removes a file, and returns whether it existed.
pub(super) fn remove_if_exists(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
