//! Read-only connections.

use std::sync::{Arc, Mutex, PoisonError};

use haft_core::store::StoreError;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::database_file::DatabaseFile;
use super::error::SqliteError;
use super::migration::check_version;
use crate::blocking::run_blocking;

/// Runs reads, a few at the same time.
pub(super) struct ReadPool {
    pool: Arc<ConnectionPool>,
    permits: Arc<Semaphore>,
}

struct ConnectionPool {
    file: DatabaseFile,
    idle: Mutex<Vec<Connection>>,
}

impl ReadPool {
    pub(super) fn new(file: DatabaseFile) -> Self {
        let pool = Arc::new(ConnectionPool { file, idle: Mutex::default() });
        Self { pool, permits: Arc::new(Semaphore::new(MAX_READERS)) }
    }

    /// Runs a read in a transaction on a blocking thread.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let pool = Arc::clone(&self.pool);
        let done = run_blocking(move || {
            let result = pool.read(work);
            drop((pool, permit));
            Ok(result)
        });
        let result = done.await.map_err(|error| StoreError::backend(doing, error))?;
        result.map_err(|error| error.into_store_error(doing))
    }
}

impl ConnectionPool {
    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, SqliteError>,
    ) -> Result<T, SqliteError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.file.open_read_only()?,
        };
        // All statements of one read see the same snapshot.
        let transaction = connection.transaction()?;
        let result = check_version(&transaction).and_then(|()| work(&transaction));
        drop(transaction);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        result
    }
}

/// The maximum number of concurrent reads.
const MAX_READERS: usize = 4;
