//! The ledger of spent approvals as files.

#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use haft_core::BoxFuture;
use haft_core::gate::{ApprovalLedger, Spending};
use haft_core::store::{GateId, StoreError};
use sha2::{Digest as _, Sha256};

use crate::blocking::run_blocking;
use crate::private_file::{create_private_dir, private_file_options, sync_dir};

/// Records spent approvals as empty files in a directory. Of several processes that spend the same approval, the one that
/// creates the file is the first.
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
    is_read_only: bool,
}

impl DirLedger {
    /// Uses a directory, which is created when the first approval is spent.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), is_read_only: false }
    }

    /// The ledger of a directory that is only read: every approval is refused with [`StoreError::ReadOnly`].
    #[cfg(feature = "sqlite")]
    pub(crate) fn read_only(dir: PathBuf) -> Self {
        Self { dir, is_read_only: true }
    }

    /// The path of the file of a gate. It is named by the hash of the id, because an id can have characters that file
    /// systems do not allow.
    fn file(&self, gate: &GateId) -> PathBuf {
        let name = hex::encode(Sha256::digest(gate.as_str()));
        let (shard, rest) = name.split_at(2);
        self.dir.join(shard).join(rest)
    }
}

impl ApprovalLedger for DirLedger {
    fn spend(&self, gate: GateId) -> BoxFuture<'_, Result<Spending, StoreError>> {
        let (file, dir) = (self.file(&gate), self.dir.clone());
        let is_read_only = self.is_read_only;
        Box::pin(async move {
            if is_read_only {
                return Err(StoreError::read_only(SPEND));
            }
            let spent = run_blocking(move || create_marker(&dir, &file)).await;
            spent.map_err(|error| StoreError::backend(SPEND, error))
        })
    }
}

/// Creates the file of an approval, and makes sure that it is still there after a crash.
///
/// The directories are made durable first: an error there must not leave a file behind, which would count as a use.
fn create_marker(ledger: &Path, file: &Path) -> io::Result<Spending> {
    let Some(shard) = file.parent() else { return Err(ErrorKind::InvalidInput.into()) };
    create_private_dir(ledger)?;
    create_private_dir(shard)?;
    for dir in [ledger.parent(), Some(ledger)].into_iter().flatten() {
        sync_dir(dir)?;
    }
    match private_file_options().write(true).create_new(true).open(file) {
        Ok(marker) => marker.sync_all()?,
        // Another process may have created the file a moment ago. The approval is spent, whichever process runs the call.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(Spending::Repeated),
        Err(error) => return Err(error),
    }
    sync_dir(shard)?;
    Ok(Spending::First)
}

const SPEND: &str = "mark an approval as spent";
