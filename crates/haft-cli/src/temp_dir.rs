//! Temporary directories. A container that has nothing but this program has no place for them.

use anyhow::Result;
use tempfile::TempDir;

use crate::user_error::UserError;

/// A new directory that is removed with this value.
pub(crate) fn new_temp_dir() -> Result<TempDir> {
    tempfile::Builder::new().prefix("haft-").tempdir().map_err(|error| {
        let dir = std::env::temp_dir();
        let message = format!("no temporary directory can be made in `{}`", dir.display());
        let context = UserError::new(message);
        anyhow::Error::from(error)
            .context(context.hint("set TMPDIR to a directory that you can write to"))
    })
}
