//! Failures of the service: the operator learns their causes, and tenants their codes.

use std::fmt;
use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};

use crate::error::{ApiError, ServerFailure};

/// A request of a tenant failed because of the service, and not because of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceFailure {
    /// The tenant whose request it was; empty if that is not known.
    pub tenant: String,
    /// The stable code, which the tenant sees.
    pub code: String,
    /// What failed, with its causes, which the tenant does not see.
    pub message: String,
}

impl fmt::Display for ServiceFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tenant, code, message } = self;
        match tenant.is_empty() {
            true => write!(f, "{code}: {message}"),
            false => write!(f, "{code} for the tenant `{tenant}`: {message}"),
        }
    }
}

/// What hears of failures.
#[derive(Clone)]
pub(super) struct FailureListener(Arc<dyn Fn(&ServiceFailure) + Send + Sync>);

impl Default for FailureListener {
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl FailureListener {
    pub(super) fn new(listener: impl Fn(&ServiceFailure) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    /// Reports the failure that a response tells, and replaces its text. Other responses stay as they are.
    pub(super) fn hide_cause(&self, mut response: Response, tenant: &str) -> Response {
        let Some(failure) = response.extensions_mut().remove::<ServerFailure>() else {
            return response;
        };
        let ServerFailure { code, message } = failure;
        let failure = ServiceFailure { tenant: tenant.to_owned(), code, message };
        (self.0)(&failure);
        let text = "the service failed; its operator has the cause";
        ApiError::new(response.status(), failure.code, text).into_response()
    }
}
