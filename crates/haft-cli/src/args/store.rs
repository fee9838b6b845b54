//! The options that select a store.

use clap::Args;
use haft::stores::{SpoolUrl, StoreUrl};

use crate::own_paths::OwnPaths;
use crate::store_address::{StoreAddress, local_spool_dir};

// The options that select the store.
#[derive(Debug, Args)]
pub(crate) struct StoreArg {
    /// Store of turns: a directory, `sqlite:FILE` or `postgres://…` [default: .haft]
    ///
    /// A shared server also needs --spool and the variable HAFT_STORE_SECRET.
    #[arg(long, value_name = "ADDRESS", env = "HAFT_STORE", hide_env = true)]
    pub(crate) store: Option<StoreUrl>,
    /// Store of large results: a directory or `s3://BUCKET/PREFIX` [default: next to the turns]
    #[arg(long, value_name = "ADDRESS", env = "HAFT_SPOOL", hide_env = true)]
    pub(crate) spool: Option<SpoolUrl>,
}

impl StoreArg {
    /// The selected address, or the default one: the nearest `.haft` in this directory or above it.
    pub(crate) fn find_address(&self) -> StoreAddress {
        self.selected().unwrap_or_else(|| self.with_spool(StoreAddress::find_default()))
    }

    /// The address that the command line or the environment selects.
    pub(crate) fn selected(&self) -> Option<StoreAddress> {
        let url = self.store.clone()?;
        Some(StoreAddress { url, spools: self.spool.clone() })
    }

    /// An address with the selected store of large results.
    pub(crate) fn with_spool(&self, mut address: StoreAddress) -> StoreAddress {
        address.spools = self.spool.clone().or(address.spools);
        address
    }

    /// The selected paths, which tools for files do not touch.
    pub(crate) fn own_paths(&self) -> OwnPaths<'static> {
        let spool = self.spool.as_ref().and_then(local_spool_dir);
        let selected = self.selected().map(|it| it.own_paths()).unwrap_or_default();
        OwnPaths { spool, ..selected }
    }
}
