//! Connections to the server.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use haft_core::store::StoreError;
use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresOptions;
use super::error::PostgresError;

/// A pool of connections, and the schema in which the tables are.
pub(super) struct Database {
    pool: Pool,
    pub(super) config: Config,
    pub(super) schema: String,
}

impl Database {
    pub(super) fn new(url: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let schema = options.schema.clone();
        let is_name =
            schema.chars().all(|it| it.is_ascii_lowercase() || it == '_' || it.is_ascii_digit());
        let begins_well = schema.chars().next().is_some_and(|it| !it.is_ascii_digit());
        let length = schema.trim_end_matches(LEDGER_SUFFIX).len();
        if !is_name || !begins_well || length > MAX_SCHEMA_LENGTH {
            let reason = "it may have lower-case letters, digits and `_`, and at most 40 of them";
            return Err(StoreError::Invalid { what: "the name of a schema", reason });
        }
        let failed = |error: tokio_postgres::Error| {
            StoreError::backend("read the address of the store", error)
        };
        let mut config = Config::from_str(url).map_err(failed)?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.application_name("haft");
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config.clone(), tls_connector()?, manager);
        let mut timeouts = Timeouts::wait_millis(WAIT_MILLIS);
        (timeouts.create, timeouts.recycle) = (Some(CONNECT_TIMEOUT), Some(CONNECT_TIMEOUT));
        let pool = Pool::builder(manager).max_size(options.connections.max(1));
        let pool = pool.timeouts(timeouts).runtime(Runtime::Tokio1).build();
        let pool =
            pool.map_err(|error| StoreError::backend("create a pool of connections", error))?;
        Ok(Self { pool, config, schema })
    }

    pub(super) async fn acquire_client(&self) -> Result<Object, PostgresError> {
        Ok(self.pool.get().await?)
    }

    /// A statement with the name of the schema in it.
    pub(super) fn qualify_tables(&self, statement: &str) -> String {
        statement.replace("{s}", &self.schema)
    }

    /// The channel on which changes are reported.
    pub(super) fn channel_name(&self) -> String {
        format!("haft_{}", self.schema)
    }

    pub(super) fn close(&self) {
        self.pool.close();
    }
}

/// TLS with the certificates that the operating system trusts. Whether it is used, `sslmode` in the address says.
pub(super) fn tls_connector() -> Result<MakeRustlsConnect, StoreError> {
    let failed = |error: rustls::Error| StoreError::backend("set up TLS", error);
    let config = ClientConfig::builder_with_provider(crypto_provider()?);
    let config = config.with_safe_default_protocol_versions().map_err(failed)?;
    let config = config.with_platform_verifier().map_err(failed)?;
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

#[cfg(feature = "rustls")]
fn crypto_provider() -> Result<Arc<CryptoProvider>, StoreError> {
    Ok(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
}

#[cfg(not(feature = "rustls"))]
fn crypto_provider() -> Result<Arc<CryptoProvider>, StoreError> {
    let reason = "enable the feature `rustls`, or install a cryptography provider of rustls first";
    let missing = StoreError::Invalid { what: "TLS to PostgreSQL", reason };
    CryptoProvider::get_default().cloned().ok_or(missing)
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an operation waits for a free connection. Less than the time that a turn gives its store.
const WAIT_MILLIS: u64 = 20_000;
/// The end of the name of a schema for spent approvals, which may be longer by that.
pub(crate) const LEDGER_SUFFIX: &str = "_ledger";
/// The server cuts names at 63 bytes, and the names of the channel and of locks have more in them.
const MAX_SCHEMA_LENGTH: usize = 40;
