//! Spent approvals as empty files. Of several processes that spend the same approval, the one that creates the file is
//! the first.

#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use haft_core::gate::Spending;
use haft_core::store::GateId;
use sha2::{Digest as _, Sha256};

use crate::private_file::{create_private_dir, private_file_options, sync_dir};

/// The path of the file of a gate. It is named by the hash of the id, because an id can have characters that file
/// systems do not allow.
pub(super) fn spent_file(dir: &Path, gate: &GateId) -> PathBuf {
    let name = hex::encode(Sha256::digest(gate.as_str()));
    let (shard, rest) = name.split_at(2);
    dir.join(shard).join(rest)
}

/// Creates the file of an approval, and makes sure that it is still there after a crash.
///
/// The directories are made durable first: an error there must not leave a file behind, which would count as a use.
pub(super) fn create_marker(ledger: &Path, file: &Path) -> io::Result<Spending> {
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
