//! Stores of the agent development kit Haft, for turns and for the content of large results.
//!
//! This crate implements two contracts of [`haft_core`], each with persistent stores and with one in memory:
//!
//! | contract | persistent | in memory |
//! |---|---|---|
//! | [`TurnStore`](haft_core::store::TurnStore): turns, records, journals, gates | `SqliteStore` (feature `sqlite`), `PostgresStore` (feature `postgres`) | [`MemoryStore`] |
//! | [`SpoolStore`](haft_core::spool::SpoolStore): content of any size | [`DirSpoolStore`], `ObjectSpoolStore` (feature `object-store`) | [`MemorySpoolStore`] |
//!
//! `TurnDir` (feature `sqlite`) is one directory with both persistent stores, the approvals, and the key that signs
//! decisions on gates. [`DirApprovals`] and `PostgresApprovals` remember which approvals were used, and the standing ones. `OpenStores`
//! (feature `sqlite`) opens the stores that a [`StoreUrl`] and a [`SpoolUrl`] name. [`FileSpoolReader`] reads any file
//! as if a store had written it.
//!
//! ```
//! use haft_core::spool::{SpoolReader as _, SpoolStore as _};
//! use haft_stores::DirSpoolStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! let store = DirSpoolStore::open(dir.path())?;
//! store.write("report".into(), "one\ntwo\n".into()).await?;
//!
//! let report = store.read("report".into()).await?.ok_or("the report is missing")?;
//! assert_eq!(report.read_at(4, 3).await?, "two");
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - `sqlite`: `SqliteStore` and `TurnDir`. It links the SQLite library of the system.
//! - `sqlite-bundled`: compiles SQLite and links it statically. It implies `sqlite`.
//! - `postgres`: `PostgresStore`, for processes on many machines.
//! - `object-store`: `ObjectSpoolStore`, for large results in S3 and compatible services. `azure` and `gcp` add the stores
//!   of these two.
//! - `rustls`, `native-tls`, `rustls-no-provider`: the TLS of `postgres` and `object-store`. PostgreSQL is always reached by
//!   rustls; without `rustls`, the program installs a cryptography provider first.
//!
//! None is on by default. Only one version of the native SQLite library can be linked into a program, and the
//! program decides which one.
//!
//! # Dependencies
//!
//! This crate depends on [`haft_core`] and on no other crate of the workspace.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod approvals;
mod blocking;
#[cfg(feature = "sqlite")]
mod open_stores;
mod private_file;
#[cfg(feature = "sqlite")]
mod process;
#[cfg(feature = "sqlite")]
mod secret;
mod spools;
mod store_url;
#[cfg(feature = "sqlite")]
mod tenants;
#[cfg(feature = "sqlite")]
mod turn_dir;
mod turns;

/// The crate whose stores [`ObjectSpoolStore::with_store`] takes.
#[cfg(feature = "object-store")]
pub use object_store;

pub use self::approvals::DirApprovals;
#[cfg(feature = "sqlite")]
pub use self::open_stores::{OpenStores, StoreOptions};
pub use self::spools::{DirSpoolStore, FileSpoolReader, MemorySpoolStore};
#[cfg(feature = "object-store")]
pub use self::spools::{ObjectOptions, ObjectSpoolStore};
pub use self::store_url::{InvalidStoreUrl, SpoolUrl, StoreUrl};
#[cfg(feature = "sqlite")]
pub use self::turn_dir::TurnDir;
pub use self::turns::MemoryStore;
#[cfg(feature = "postgres")]
pub use self::turns::{PostgresApprovals, PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use self::turns::{SqliteOptions, SqliteStore, Synchronous};
