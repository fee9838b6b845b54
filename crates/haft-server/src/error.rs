//! Failures of requests, and how they travel.

#[cfg(test)]
mod tests;

#[cfg(feature = "service")]
use axum::Extension;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use haft::error::{Coded, ErrorCode};
use haft::schema::Problems;
use haft::stores::{SpoolError, StoreError};
use haft::turn::{InvalidEdit, SettleError, TurnError};

use crate::wire::{ApiProblem, FieldProblem};

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    /// The status of the response.
    pub(crate) status: StatusCode,
    /// The stable code.
    pub(crate) code: String,
    /// What failed.
    pub(crate) message: String,
    /// What can be done about it.
    pub(crate) hint: Option<String>,
    /// Every problem of a value that breaks a schema.
    pub(crate) problems: Vec<FieldProblem>,
}

/// What handlers return.
pub(crate) type ApiResult<T> = Result<Json<T>, ApiError>;

impl ApiError {
    /// A failure with a status, a code and a message.
    pub(crate) fn new(
        status: StatusCode,
        code: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let code = code.into();
        let message = message.into();
        Self { status, code, message, hint: None, problems: Vec::new() }
    }

    /// Something that was named does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "E_API_NOT_FOUND", message)
    }

    /// The request cannot be understood.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "E_API_INVALID_REQUEST", message)
    }

    /// The server does not allow it, or cannot do it.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "E_API_NOT_AVAILABLE", message)
    }

    /// Adds what can be done about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The failure that an error with a code is, with its causes.
    fn from_coded(error: &(impl Coded + std::error::Error)) -> Self {
        let code: ErrorCode = error.code();
        // The statuses of codes are more than those of HTTP: 529 says that something of the operator is wrong.
        let status = StatusCode::from_u16(error.status()).ok();
        let status = status.filter(|it| it.canonical_reason().is_some());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(status, code.as_str(), list_causes(error))
    }
}

/// An error and its causes in one line, each of them once: some errors repeat their cause.
pub(crate) fn list_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let text = next.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = next.source();
    }
    message
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let failure = Self { status: status_of(&error), ..Self::from_coded(&error) };
        match &error {
            StoreError::Held { .. } => failure.hint(
                "another process runs the turn; stop it there, or wait until its lease has expired",
            ),
            _ => failure,
        }
    }
}

/// Whether the request was wrong, came at the wrong time, or found a store that failed.
fn status_of(error: &StoreError) -> StatusCode {
    match error {
        StoreError::Unknown { .. } => StatusCode::NOT_FOUND,
        StoreError::Held { .. } | StoreError::LeaseLost { .. } | StoreError::Exists { .. } => {
            StatusCode::CONFLICT
        }
        StoreError::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<TurnError> for ApiError {
    fn from(error: TurnError) -> Self {
        match error {
            TurnError::Store(error) => error.into(),
            error @ TurnError::Invalid { .. } => {
                Self { status: StatusCode::BAD_REQUEST, ..Self::from_coded(&error) }
            }
            error @ TurnError::OtherExecutor { .. } => {
                Self { status: StatusCode::CONFLICT, ..Self::from_coded(&error) }
            }
            error => Self::from_coded(&error),
        }
    }
}

impl From<SettleError> for ApiError {
    fn from(error: SettleError) -> Self {
        let problems = match &error {
            SettleError::Invalid { problems }
            | SettleError::Edit(InvalidEdit::Problems(problems)) => field_problems(problems),
            _ => Vec::new(),
        };
        let status = match &error {
            SettleError::Closed { .. } | SettleError::Expired { .. } => StatusCode::CONFLICT,
            SettleError::Invalid { .. } | SettleError::Edit(_) | SettleError::NotAnApproval => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            SettleError::Store(error) => status_of(error),
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { status, problems, ..Self::from_coded(&error) }
    }
}

impl From<SpoolError> for ApiError {
    fn from(error: SpoolError) -> Self {
        Self::from_coded(&error)
    }
}

/// The problems of a value, by field.
pub(crate) fn field_problems(problems: &Problems) -> Vec<FieldProblem> {
    let each = problems.list.iter().map(|problem| FieldProblem {
        pointer: problem.pointer.clone(),
        message: problem.to_string(),
    });
    each.collect()
}

/// A failure of the server, whose response contains the details. A service for tenants shows them to its operator
/// instead.
#[cfg(feature = "service")]
#[derive(Clone, Debug)]
pub(crate) struct ServerFailure {
    pub(crate) code: String,
    pub(crate) message: String,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self { status, code, message, hint, problems } = self;
        #[cfg(feature = "service")]
        let failure = status
            .is_server_error()
            .then(|| ServerFailure { code: code.clone(), message: message.clone() });
        let response = (status, Json(ApiProblem { code, message, hint, problems })).into_response();
        #[cfg(feature = "service")]
        let response = match failure {
            Some(failure) => (Extension(failure), response).into_response(),
            None => response,
        };
        response
    }
}
