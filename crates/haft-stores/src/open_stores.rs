//! Opens stores by their addresses: the one place that commands, workers and servers use.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::gate::ApprovalStore;
use haft_core::spool::{SpoolError, SpoolStore};
use haft_core::store::{StoreError, TurnStore};
use sha2::{Digest as _, Sha256};

use crate::secret::{load_or_create_secret, random_secret};
use crate::tenants::{TenantSpools, TenantStore};
use crate::{
    DirApprovals, DirSpoolStore, MemorySpoolStore, MemoryStore, SpoolUrl, SqliteOptions,
    SqliteStore, StoreUrl, TurnDir,
};
#[cfg(feature = "object-store")]
use crate::{ObjectOptions, ObjectSpoolStore};
#[cfg(feature = "postgres")]
use crate::{PostgresApprovals, PostgresOptions, PostgresStore};

/// How stores are opened.
///
/// ```
/// use haft_stores::StoreOptions;
///
/// let options = StoreOptions::default().spools("s3://results/haft".parse()?).secret([7; 32]);
/// # let _ = options;
/// # Ok::<(), haft_stores::InvalidStoreUrl>(())
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct StoreOptions {
    /// Where large results are stored. By default they are next to the turns, which is not possible with a server.
    pub spools: Option<SpoolUrl>,
    /// The secret of gates, which a store that is shared with other machines needs. A directory has its own.
    pub secret: Option<[u8; 32]>,
    /// Where a PostgreSQL store records spent approvals. By default that is the same server, in a schema of its own.
    /// With another role or server, a process that can write turns cannot change these records.
    #[cfg(feature = "postgres")]
    pub ledger: Option<StoreUrl>,
    /// Options of an object store.
    #[cfg(feature = "object-store")]
    pub objects: ObjectOptions,
}

impl StoreOptions {
    /// Sets where large results are stored.
    #[must_use]
    pub fn spools(mut self, spools: SpoolUrl) -> Self {
        self.spools = Some(spools);
        self
    }

    /// Sets the secret of gates.
    #[must_use]
    pub fn secret(mut self, secret: [u8; 32]) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Sets where a PostgreSQL store records spent approvals.
    #[cfg(feature = "postgres")]
    #[must_use]
    pub fn ledger(mut self, url: StoreUrl) -> Self {
        self.ledger = Some(url);
        self
    }

    /// Sets the options of an object store.
    #[cfg(feature = "object-store")]
    #[must_use]
    pub fn objects(mut self, objects: ObjectOptions) -> Self {
        self.objects = objects;
        self
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions").field("spools", &self.spools).finish_non_exhaustive()
    }
}

/// Stores that were opened by their addresses, with the secrets that belong to them.
///
/// ```
/// use haft_core::store::{TurnQuery, TurnStore as _};
/// use haft_stores::{OpenStores, StoreOptions};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let parent = tempfile::tempdir()?;
/// let url = format!("dir:{}", parent.path().join("turns").display());
/// let stores = OpenStores::open(&url.parse()?, StoreOptions::default()).await?;
/// assert!(stores.turns().turns(TurnQuery::default()).await?.is_empty());
/// stores.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenStores {
    url: StoreUrl,
    /// The directory with the keys and everything else that is not a turn.
    dir: Option<PathBuf>,
    turns: Arc<dyn TurnStore>,
    spools: Arc<dyn SpoolStore>,
    approvals: Option<Arc<dyn ApprovalStore>>,
    secret: [u8; 32],
    envelope_secret: Option<[u8; 32]>,
    closing: Closing,
}

/// The parts that are closed at the end.
#[derive(Clone)]
enum Closing {
    Nothing,
    Sqlite(Arc<SqliteStore>),
    #[cfg(feature = "postgres")]
    Postgres(Arc<PostgresStore>, PostgresApprovals),
}

impl StoreUrl {
    /// The files and directories of this machine that the store consists of, also those that do not exist yet. Tools
    /// that a model calls must not touch them: a model that can change the store or its keys could approve its own
    /// calls.
    ///
    /// Other files in the directory of an SQLite file do not belong to it.
    ///
    /// ```
    /// use haft_stores::StoreUrl;
    ///
    /// let paths = "sqlite:turns.sqlite".parse::<StoreUrl>()?.local_paths();
    /// for name in ["turns.sqlite", "turns.sqlite-wal", "gate.key", "spools"] {
    ///     assert!(paths.iter().any(|it| it.ends_with(name)));
    /// }
    /// assert!("postgres://db.example/haft".parse::<StoreUrl>()?.local_paths().is_empty());
    /// # Ok::<(), haft_stores::InvalidStoreUrl>(())
    /// ```
    #[must_use]
    pub fn local_paths(&self) -> Vec<PathBuf> {
        match self {
            Self::Dir(path) => vec![path.clone()],
            Self::Sqlite(path) => {
                let mut paths = SqliteStore::list_files(path);
                let dir = paths.first().and_then(|file| file.parent()).map(Path::to_owned);
                let dir = dir.unwrap_or_default();
                let files = [TurnDir::KEY_FILE, TurnDir::ENVELOPE_FILE];
                let dirs = [TurnDir::SPOOLS_DIR].into_iter().chain(DirApprovals::DIRS);
                paths.extend(files.into_iter().chain(dirs).map(|name| dir.join(name)));
                paths
            }
            Self::Memory | Self::Postgres(_) => Vec::new(),
        }
    }
}

impl OpenStores {
    /// Opens a store of turns, and the store of large results that belongs to it.
    ///
    /// # Errors
    ///
    /// Fails as the stores themselves do. A store that is shared with other machines needs a secret and a store of large
    /// results; a kind of store that the program was built without is refused.
    pub async fn open(url: &StoreUrl, options: StoreOptions) -> Result<Self, StoreError> {
        match url {
            StoreUrl::Dir(path) => Self::open_dir(path, &options),
            StoreUrl::Sqlite(path) => Self::open_sqlite(path, &options),
            StoreUrl::Memory => Self::open_memory(&options),
            StoreUrl::Postgres(url) => Self::open_postgres(url, &options).await,
        }
    }

    fn open_dir(path: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let dir = TurnDir::open_with_secret(path.to_owned(), options.secret)?;
        let mut stores = Self::of_dir(&dir);
        if let Some(url) = &options.spools {
            stores.spools = open_spools(url, options)?;
        }
        Ok(stores)
    }

    /// The stores of a directory that is open.
    ///
    /// ```
    /// use haft_stores::{OpenStores, TurnDir};
    ///
    /// # let parent = tempfile::tempdir()?;
    /// let dir = TurnDir::open(parent.path().join("turns"))?;
    /// let stores = OpenStores::of_dir(&dir);
    /// assert_eq!(stores.dir(), Some(dir.path()));
    /// assert_eq!(stores.secret(), dir.secret());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of_dir(dir: &TurnDir) -> Self {
        Self {
            url: StoreUrl::Dir(dir.path().to_owned()),
            dir: Some(dir.path().to_owned()),
            turns: Arc::clone(dir.store()) as _,
            spools: Arc::clone(dir.spools()) as _,
            approvals: Some(Arc::clone(dir.approvals()) as _),
            secret: dir.secret(),
            envelope_secret: dir.envelope_secret(),
            closing: Closing::Sqlite(Arc::clone(dir.store())),
        }
    }

    fn open_sqlite(path: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let sqlite = SqliteOptions { secret: options.secret, ..SqliteOptions::default() };
        let store = Arc::new(SqliteStore::open_with(path, sqlite)?);
        let dir = store.file().parent().unwrap_or(Path::new(".")).to_owned();
        let spools = match &options.spools {
            Some(url) => open_spools(url, options)?,
            None => open_spools(&SpoolUrl::Dir(dir.join(TurnDir::SPOOLS_DIR)), options)?,
        };
        let secret = match options.secret {
            Some(secret) => secret,
            None => load_or_create_secret(&dir.join(TurnDir::KEY_FILE))?,
        };
        let envelope_secret = load_or_create_secret(&dir.join(TurnDir::ENVELOPE_FILE))?;
        Ok(Self {
            url: StoreUrl::Sqlite(path.to_owned()),
            turns: Arc::clone(&store) as _,
            spools,
            approvals: Some(Arc::new(DirApprovals::new(&dir))),
            secret,
            envelope_secret: Some(envelope_secret),
            closing: Closing::Sqlite(store),
            dir: Some(dir),
        })
    }

    fn open_memory(options: &StoreOptions) -> Result<Self, StoreError> {
        let spools = open_spools(options.spools.as_ref().unwrap_or(&SpoolUrl::Memory), options)?;
        let secret = match options.secret {
            Some(secret) => secret,
            None => random_secret().map_err(|error| StoreError::backend("create a key", error))?,
        };
        Ok(Self {
            url: StoreUrl::Memory,
            dir: None,
            turns: Arc::new(MemoryStore::new()),
            spools,
            approvals: None,
            secret,
            envelope_secret: Some(derive_envelope_secret(&secret)),
            closing: Closing::Nothing,
        })
    }

    #[cfg(feature = "postgres")]
    async fn open_postgres(url: &str, options: &StoreOptions) -> Result<Self, StoreError> {
        let missing = |what, reason| StoreError::Invalid { what, reason };
        let secret = options.secret.ok_or_else(|| {
            missing("a store without a secret", "processes that share a store need the same secret")
        })?;
        let spools = options.spools.as_ref().ok_or_else(|| {
            missing("a server alone", "name a store of large results, such as s3://BUCKET/PREFIX")
        })?;
        let spools = open_spools(spools, options)?;
        let (server, schema) = split_schema(url);
        let postgres = match &schema {
            Some(schema) => PostgresOptions::default().schema(schema),
            None => PostgresOptions::default(),
        };
        let approvals = open_approvals(options.ledger.as_ref(), &server, &postgres).await?;
        let store = Arc::new(PostgresStore::connect_with(&server, secret, postgres).await?);
        Ok(Self {
            url: StoreUrl::Postgres(url.to_owned()),
            dir: None,
            turns: Arc::clone(&store) as _,
            spools,
            approvals: Some(Arc::new(approvals.clone())),
            secret,
            envelope_secret: Some(derive_envelope_secret(&secret)),
            closing: Closing::Postgres(store, approvals),
        })
    }

    #[cfg(not(feature = "postgres"))]
    #[expect(clippy::unused_async, reason = "with the feature it connects")]
    async fn open_postgres(_: &str, _: &StoreOptions) -> Result<Self, StoreError> {
        let reason = "this program was built without the feature `postgres`";
        Err(StoreError::Invalid { what: "a PostgreSQL server", reason })
    }

    /// The address of the store of turns.
    #[must_use]
    pub const fn url(&self) -> &StoreUrl {
        &self.url
    }

    /// The directory with the keys and the approvals, if the store has one.
    #[must_use]
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// The store of turns.
    #[must_use]
    pub fn turns(&self) -> &Arc<dyn TurnStore> {
        &self.turns
    }

    /// The store of large results.
    #[must_use]
    pub fn spools(&self) -> &Arc<dyn SpoolStore> {
        &self.spools
    }

    /// The approvals that were used and the standing ones, if the store remembers them.
    #[must_use]
    pub fn approvals(&self) -> Option<&Arc<dyn ApprovalStore>> {
        self.approvals.as_ref()
    }

    /// The stores as one tenant sees them. Turns, gates, conversations, memories, large results and standing approvals of
    /// other tenants do not exist in them, and new turns belong to the tenant. Turns that were stored without a tenant belong
    /// to the tenant with the empty name.
    ///
    /// ```
    /// use haft_core::store::{NewTurn, TurnStore as _, TurnStoreExt as _};
    /// use haft_stores::{OpenStores, StoreOptions};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let stores = OpenStores::open(&"memory:".parse()?, StoreOptions::default()).await?;
    /// let (shop, bank) = (stores.for_tenant("shop"), stores.for_tenant("bank"));
    /// shop.turns().enqueue(NewTurn::new("turn-1".parse()?)).await?;
    /// assert!(shop.turns().load("turn-1".parse()?).await?.is_some());
    /// assert!(bank.turns().load("turn-1".parse()?).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn for_tenant(&self, tenant: &str) -> Self {
        let turns = TenantStore::new(Arc::clone(&self.turns), tenant);
        let spools = TenantSpools::new(Arc::clone(&self.spools), &turns);
        let is_unnamed = tenant.is_empty();
        Self {
            url: self.url.clone(),
            turns: Arc::new(turns),
            spools: Arc::new(spools),
            dir: self.dir.clone(),
            approvals: if is_unnamed {
                self.approvals.clone()
            } else {
                self.tenant_approvals(tenant)
            },
            secret: self.secret,
            // Conversations of two tenants can have the same name, and the names of envelopes follow from it: a tenant that
            // sees those of its own prompts must not know those of another tenant.
            envelope_secret: match self.envelope_secret {
                Some(secret) if !is_unnamed => Some(derive_tenant_secret(&secret, tenant)),
                secret => secret,
            },
            closing: self.closing.clone(),
        }
    }

    /// The approvals as one tenant sees them, if the store remembers them.
    fn tenant_approvals(&self, tenant: &str) -> Option<Arc<dyn ApprovalStore>> {
        #[cfg(feature = "postgres")]
        if let Closing::Postgres(_, approvals) = &self.closing {
            return Some(Arc::new(approvals.for_tenant(tenant)));
        }
        let approvals = DirApprovals::new(self.dir.as_ref()?);
        Some(Arc::new(approvals.for_tenant(tenant)))
    }

    /// The secret of gates. Every holder of the secret can approve calls.
    #[must_use]
    pub const fn secret(&self) -> [u8; 32] {
        self.secret
    }

    /// The secret from which the names of envelopes in prompts are derived.
    #[must_use]
    pub const fn envelope_secret(&self) -> Option<[u8; 32]> {
        self.envelope_secret
    }

    /// Closes the store of turns. Call it before the program ends.
    pub async fn close(&self) {
        match &self.closing {
            Closing::Nothing => {}
            Closing::Sqlite(store) => store.close().await,
            #[cfg(feature = "postgres")]
            Closing::Postgres(store, approvals) => {
                store.close();
                approvals.close();
            }
        }
    }
}

impl fmt::Debug for OpenStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenStores")
            .field("turns", &self.turns)
            .field("spools", &self.spools)
            .finish_non_exhaustive()
    }
}

fn open_spools(url: &SpoolUrl, options: &StoreOptions) -> Result<Arc<dyn SpoolStore>, StoreError> {
    let failed = |error: SpoolError| StoreError::backend(format!("open the spools `{url}`"), error);
    match url {
        SpoolUrl::Memory => Ok(Arc::new(MemorySpoolStore::new())),
        SpoolUrl::Dir(path) => Ok(Arc::new(DirSpoolStore::open(path).map_err(failed)?)),
        #[cfg(feature = "object-store")]
        SpoolUrl::Object(url) => {
            let store = ObjectSpoolStore::open(url, options.objects.clone()).map_err(failed)?;
            Ok(Arc::new(store))
        }
        #[cfg(not(feature = "object-store"))]
        SpoolUrl::Object(_) => {
            let _ = (options, failed);
            let reason = "this program was built without the feature `object-store`";
            Err(StoreError::Invalid { what: "an object store", reason })
        }
    }
}

/// A derived secret that reveals nothing about its source.
fn derive_envelope_secret(secret: &[u8; 32]) -> [u8; 32] {
    let hash = Sha256::new_with_prefix(b"haft secret of envelopes\n");
    hash.chain_update(secret).finalize().into()
}

/// The secret of a tenant, which says nothing about that of another one.
fn derive_tenant_secret(secret: &[u8; 32], tenant: &str) -> [u8; 32] {
    let hash = Sha256::new_with_prefix(b"haft secret of envelopes of a tenant\n");
    hash.chain_update(secret).chain_update(tenant).finalize().into()
}

/// Opens the approvals of a server: the configured one, or a schema next to that of the turns.
#[cfg(feature = "postgres")]
async fn open_approvals(
    ledger: Option<&StoreUrl>,
    server: &str,
    turns: &PostgresOptions,
) -> Result<PostgresApprovals, StoreError> {
    let beside = |options: &PostgresOptions| {
        let schema = PostgresApprovals::schema_beside(&options.schema);
        PostgresOptions::default().schema(schema).connections(LEDGER_CONNECTIONS)
    };
    match ledger {
        None => PostgresApprovals::connect(server, beside(turns)).await,
        Some(StoreUrl::Postgres(url)) => {
            let (server, schema) = split_schema(url);
            let options = schema.map_or_else(
                || beside(turns),
                |it| PostgresOptions::default().schema(it).connections(LEDGER_CONNECTIONS),
            );
            PostgresApprovals::connect(&server, options).await
        }
        Some(_) => {
            let reason = "a shared store needs one that all processes share: postgres://…";
            Err(StoreError::Invalid { what: "a ledger that is no server", reason })
        }
    }
}

/// How many connections a process uses for the ledger: approvals are rare.
#[cfg(feature = "postgres")]
const LEDGER_CONNECTIONS: usize = 2;

/// Takes the parameter `schema` out of an address.
#[cfg(feature = "postgres")]
fn split_schema(url: &str) -> (String, Option<String>) {
    let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), None) };
    let schema = query.split('&').find_map(|it| it.strip_prefix("schema=")).map(str::to_owned);
    let rest: Vec<&str> = query.split('&').filter(|it| !it.starts_with("schema=")).collect();
    let url = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
    (url, schema)
}
