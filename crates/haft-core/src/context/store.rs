//! The seam through which a dispatch keeps its records.

use std::future::Future;
use std::pin::Pin;

use crate::call::ToolCall;
use crate::error::{Code, Coded};

/// Keeps the records of a turn. Persist first, then show: a record that was not stored did not happen.
pub trait RecordStore: Send + Sync {
    /// Stores a call, replacing the record of the same id.
    fn store_tool_call<'s>(
        &'s self,
        call: &'s ToolCall,
    ) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 's>>;
}

/// A record could not be stored.
#[derive(Debug, thiserror::Error)]
#[error("could not store {what}")]
#[non_exhaustive]
pub struct StoreError {
    /// What was to be stored.
    pub what: String,
    /// Why it failed.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl StoreError {
    /// An error of a store.
    pub fn new(
        what: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { what: what.into(), source: source.into() }
    }
}

impl Coded for StoreError {
    fn error_code(&self) -> Code {
        Code::Store
    }
}
