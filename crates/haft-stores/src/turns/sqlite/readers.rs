//! Connections that read.

use std::sync::{Arc, Mutex, PoisonError};

use haft_core::store::StoreError;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::fault::Fault;
use super::file::File;
use super::migration::check_version;
use crate::blocking::run_blocking;

/// Reads from one file, a few at a time.
pub(super) struct Readers {
    pool: Arc<Pool>,
    permits: Arc<Semaphore>,
}

struct Pool {
    file: File,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(file: File) -> Self {
        let pool = Arc::new(Pool { file, idle: Mutex::default() });
        Self { pool, permits: Arc::new(Semaphore::new(READERS)) }
    }

    /// Does this in a transaction, on a thread for work that blocks.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let pool = Arc::clone(&self.pool);
        let done = run_blocking(move || {
            let result = pool.read(work);
            drop((pool, permit));
            Ok(result)
        });
        let result = done.await.map_err(|error| StoreError::backend(doing, error))?;
        result.map_err(|fault| fault.into_error(doing))
    }
}

impl Pool {
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.file.open_to_read()?,
        };
        // All statements of one read see the same moment.
        let transaction = connection.transaction()?;
        let result = check_version(&transaction).and_then(|()| work(&transaction));
        drop(transaction);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        result
    }
}

/// How many can read at the same time.
const READERS: usize = 4;
