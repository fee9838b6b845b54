//! The steps of a write that can fail, each of which a test can make fail.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// What is about to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Create,
    Write,
    Sync,
    Replace,
    NoteIndex,
    SyncFolder,
}

#[cfg(test)]
pub(super) type Probe = std::sync::Arc<dyn Fn(Step) -> io::Result<()> + Send + Sync>;

/// The disk, as a writer sees it.
#[derive(Clone, Default)]
pub(super) struct Disk {
    /// Asked before every step.
    #[cfg(test)]
    pub(super) probe: Option<Probe>,
}

impl Disk {
    pub(super) fn create(&self, path: &Path) -> io::Result<File> {
        self.before(Step::Create)?;
        File::options().read(true).write(true).create_new(true).open(path)
    }

    pub(super) fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        self.before(Step::Write)?;
        file.write_all(bytes)
    }

    pub(super) fn sync(&self, file: &File) -> io::Result<()> {
        self.before(Step::Sync)?;
        file.sync_all()
    }

    pub(super) fn replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.before(Step::Replace)?;
        fs::rename(from, to)
    }

    /// Writes the file of an index. If it cannot be written whole, it is removed.
    pub(super) fn note_index(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let written = self.before(Step::NoteIndex).and_then(|()| fs::write(path, bytes));
        if written.is_err() {
            remove(path)?;
        }
        written
    }

    /// Brings the names in a folder to the disk, where the system can do that.
    pub(super) fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.before(Step::SyncFolder)?;
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "tests have a probe here")]
    fn before(&self, _step: Step) -> io::Result<()> {
        Ok(())
    }

    #[cfg(test)]
    fn before(&self, step: Step) -> io::Result<()> {
        self.probe.as_ref().map_or(Ok(()), |probe| probe(step))
    }
}

/// Removes a file and says whether there was one.
pub(super) fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
