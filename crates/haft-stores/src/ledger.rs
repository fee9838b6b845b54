//! The ledger of spent approvals as files.

#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use haft_core::gate::{ApprovalLedger, Spending};
use haft_core::store::{GateId, StoreError, StoreFuture};
use sha2::{Digest as _, Sha256};

use crate::blocking::run_blocking;

/// A directory with one empty file per spent approval. The file system decides which of several processes is the first.
///
/// ```
/// use haft_core::gate::{ApprovalLedger, Spending};
/// use haft_stores::DirLedger;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let parent = tempfile::tempdir()?;
/// let ledger = DirLedger::new(parent.path().join("spent-approvals"));
/// assert_eq!(ledger.spend("gate-1".parse()?).await?, Spending::First);
/// assert_eq!(ledger.spend("gate-1".parse()?).await?, Spending::Repeated);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct DirLedger {
    dir: PathBuf,
}

impl DirLedger {
    /// Uses a directory, which is created when the first approval is spent.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The file of a gate. Ids can have any characters; their hashes are names of files everywhere.
    fn file(&self, gate: &GateId) -> PathBuf {
        let digest = Sha256::digest(gate.as_str());
        let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let (shard, rest) = name.split_at(2);
        self.dir.join(shard).join(rest)
    }
}

impl ApprovalLedger for DirLedger {
    fn spend(&self, gate: GateId) -> StoreFuture<'_, Spending> {
        let (file, dir) = (self.file(&gate), self.dir.clone());
        Box::pin(async move {
            let spent = run_blocking(move || create_marker(&dir, &file)).await;
            spent.map_err(|error| StoreError::backend("mark an approval as spent", error))
        })
    }
}

/// Creates the file of an approval, and makes sure that it is still there after a crash.
fn create_marker(ledger: &Path, file: &Path) -> io::Result<Spending> {
    let Some(shard) = file.parent() else { return Err(ErrorKind::InvalidInput.into()) };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(shard)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Ok(marker) => marker.sync_all()?,
        // Another process may have created the file a moment ago; it is the first only if the file survives.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(Spending::Repeated),
        Err(error) => return Err(error),
    }
    for dir in [Some(shard), Some(ledger), ledger.parent()].into_iter().flatten() {
        sync_dir(dir)?;
    }
    Ok(Spending::First)
}

/// Makes the names in a directory durable.
#[cfg(unix)]
fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Other systems make names durable by themselves.
#[cfg(not(unix))]
fn sync_dir(_: &Path) -> io::Result<()> {
    Ok(())
}
