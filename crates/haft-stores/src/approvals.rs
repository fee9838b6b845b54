//! Approvals as files: those that were used, and the standing ones.

mod grants;
pub(crate) mod limits;
mod spent;

use std::path::{Path, PathBuf};

use haft_core::BoxFuture;
use haft_core::gate::{ApprovalStore, GrantId, GrantRow, Spending};
use haft_core::store::{GateId, StoreError};
#[cfg(feature = "sqlite")]
use sha2::{Digest as _, Sha256};

use crate::blocking::run_blocking;

/// Remembers approvals as files of a directory: an empty file for each one that was used, a file for each standing
/// one, and an empty file for each of those that was revoked, which is never removed.
///
/// ```
/// use haft_core::gate::{ApprovalStore, GrantId, Spending};
/// use haft_stores::DirApprovals;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let approvals = DirApprovals::new(dir.path());
/// assert_eq!(approvals.spend("gate-1".parse()?).await?, Spending::First);
/// assert_eq!(approvals.spend("gate-1".parse()?).await?, Spending::Repeated);
///
/// let id = GrantId::of(&"gate-1".parse()?);
/// approvals.insert_grant(id, "{}".to_owned()).await?;
/// assert_eq!(approvals.load_grants().await?.len(), 1);
/// assert!(approvals.revoke_grant(id).await?);
/// assert!(approvals.load_grants().await?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct DirApprovals {
    #[cfg(feature = "sqlite")]
    dir: PathBuf,
    spent: PathBuf,
    grants: PathBuf,
    is_read_only: bool,
}

impl DirApprovals {
    /// The directories with files of approvals.
    pub(crate) const DIRS: [&str; 3] = ["spent-approvals", "grants", "tenant-grants"];

    /// Uses a directory. What it needs in there is created when the first approval is stored.
    #[must_use]
    pub fn new(dir: impl AsRef<Path>) -> Self {
        let dir = dir.as_ref();
        let [spent, grants, _] = Self::DIRS;
        Self {
            #[cfg(feature = "sqlite")]
            dir: dir.to_owned(),
            spent: dir.join(spent),
            grants: dir.join(grants),
            is_read_only: false,
        }
    }

    /// The approvals of a directory that is only read: everything that writes fails with [`StoreError::ReadOnly`].
    #[cfg(feature = "sqlite")]
    pub(crate) fn read_only(dir: &Path) -> Self {
        Self { is_read_only: true, ..Self::new(dir) }
    }

    /// The approvals of a tenant, whose standing approvals are its own.
    #[cfg(feature = "sqlite")]
    pub(crate) fn for_tenant(&self, tenant: &str) -> Self {
        let [.., tenants] = Self::DIRS;
        let name = hex::encode(Sha256::digest(tenant));
        Self { grants: self.dir.join(tenants).join(name), ..self.clone() }
    }

    /// Writes on a thread that may block.
    async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.is_read_only {
            return Err(StoreError::read_only(doing));
        }
        run_blocking(work).await.map_err(|error| StoreError::backend(doing, error))
    }
}

impl ApprovalStore for DirApprovals {
    fn spend(&self, gate: GateId) -> BoxFuture<'_, Result<Spending, StoreError>> {
        let (dir, file) = (self.spent.clone(), spent::spent_file(&self.spent, &gate));
        Box::pin(self.write("mark an approval as spent", move || spent::create_marker(&dir, &file)))
    }

    fn insert_grant(&self, id: GrantId, json: String) -> BoxFuture<'_, Result<(), StoreError>> {
        let dir = self.grants.clone();
        let insert = move || grants::insert_grant(&dir, id, &json);
        Box::pin(self.write("store a standing approval", insert))
    }

    fn load_grants(&self) -> BoxFuture<'_, Result<Vec<GrantRow>, StoreError>> {
        let dir = self.grants.clone();
        Box::pin(async move {
            let loaded = run_blocking(move || grants::load_grants(&dir)).await;
            loaded.map_err(|error| StoreError::backend("load the standing approvals", error))
        })
    }

    fn revoke_grant(&self, id: GrantId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let dir = self.grants.clone();
        Box::pin(self.write("revoke a standing approval", move || grants::revoke_grant(&dir, id)))
    }
}
