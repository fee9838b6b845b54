//! What can be wrong with records.

use crate::error::codes;
use std::fmt;

use super::RecordName;
use crate::error::{Coded, ErrorCode, InvalidName};
use crate::media::{InvalidMedia, MediaError};
use crate::spool::SpoolError;
use crate::store::{RowKind, StoreError};

/// A record that was refused, with every problem.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InvalidRecord {
    /// The kind of record: `message`, `identity`, `tool call`, …
    pub what: &'static str,
    /// What is wrong. Never empty.
    pub faults: Vec<RecordFault>,
    code: ErrorCode,
}

impl std::error::Error for InvalidRecord {}

impl fmt::Display for InvalidRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} was refused: ", self.what)?;
        for (n, fault) in self.faults.iter().enumerate() {
            let between = if n == 0 { "" } else { "; " };
            write!(f, "{between}{fault}")?;
        }
        Ok(())
    }
}

impl Coded for InvalidRecord {
    fn code(&self) -> ErrorCode {
        self.code.clone()
    }
}

/// One thing that is wrong with a record.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFault {
    /// A name cannot be one.
    #[error("`{field}` {}", .why.why)]
    Name {
        /// Which field.
        field: &'static str,
        /// What is wrong with it.
        why: InvalidName,
    },
    /// A text is empty that has to say something.
    #[error("`{field}` is empty")]
    Empty {
        /// Which field.
        field: &'static str,
    },
    /// A field without a default was not set.
    #[error("`{field}` is missing")]
    Missing {
        /// Which field.
        field: &'static str,
    },
    /// A number is not between 0 and 1.
    #[error("`{field}` is {found}, and has to be from 0 to 1")]
    OutOfRange {
        /// Which field.
        field: &'static str,
        /// The number.
        found: f64,
    },
    /// A message has neither text nor attachments.
    #[error("there is neither `content` nor an attachment")]
    NothingSaid,
    /// A provider's payload has no tag that says which providers understand it.
    #[error("`payload` needs `replayCompatibility`")]
    Unpaired,
    /// A value nests so deeply that it could not be read again.
    #[error("`{field}` is nested too deeply")]
    TooDeep {
        /// Which field.
        field: &'static str,
    },
    /// A text is so long that it could not be read again.
    #[error("`{field}` is too long")]
    TooLong {
        /// Which field.
        field: &'static str,
    },
    /// A media item was refused.
    #[error("`{field}` {index}: {why}")]
    Media {
        /// Which field.
        field: &'static str,
        /// Which of them, from zero.
        index: usize,
        /// What is wrong with it.
        why: InvalidMedia,
    },
    /// Two fields do not belong together.
    #[error("{0}")]
    Mismatch(&'static str),
}

/// Gathers what is wrong with a record that is being made.
#[derive(Debug, Default)]
pub(crate) struct RecordFaults(Vec<RecordFault>);

impl RecordFaults {
    pub(crate) fn add(&mut self, fault: RecordFault) {
        self.0.push(fault);
    }

    pub(crate) fn add_if(&mut self, bad: bool, fault: RecordFault) {
        if bad {
            self.add(fault);
        }
    }

    pub(crate) fn check_name(&mut self, field: &'static str, name: &RecordName) {
        if let Err(why) = name.as_str().parse::<RecordName>() {
            self.add(RecordFault::Name { field, why });
        }
    }

    pub(crate) fn check_not_empty(&mut self, field: &'static str, text: &str) {
        self.add_if(text.is_empty(), RecordFault::Empty { field });
    }

    /// A number from 0 to 1, or NaN if it was not set.
    pub(super) fn check_unit_interval(&mut self, field: &'static str, found: f64) {
        let fault = match found.is_nan() {
            true => RecordFault::Missing { field },
            false => RecordFault::OutOfRange { field, found },
        };
        self.add_if(!(0.0..=1.0).contains(&found), fault);
    }

    pub(crate) fn media<'m>(
        &mut self,
        field: &'static str,
        media: impl IntoIterator<Item = &'m crate::media::Media>,
    ) {
        for (index, medium) in media.into_iter().enumerate() {
            if let Err(why) = medium.check() {
                self.add(RecordFault::Media { field, index, why });
            }
        }
    }

    /// Fails with every fault, if there is one.
    pub(crate) fn end(self, what: &'static str, code: ErrorCode) -> Result<(), InvalidRecord> {
        if self.0.is_empty() { Ok(()) } else { Err(InvalidRecord { what, faults: self.0, code }) }
    }
}

/// A record cannot be stored so that it can be read again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotStorable {
    /// The record breaks a rule.
    #[error(transparent)]
    Invalid(#[from] InvalidRecord),
    /// The reader of an artifact or of a media item has no descriptor, so that no other process could find the content.
    #[error("the {what} cannot be stored: {why}")]
    Reader {
        /// The kind of record.
        what: &'static str,
        /// Which reader it is.
        why: String,
    },
    /// A part of it nests so deeply that it could not be read again.
    #[error("the {what} cannot be stored: a part of it is nested too deeply")]
    TooDeep {
        /// The kind of record.
        what: &'static str,
    },
}

impl Coded for NotStorable {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(error) => error.code(),
            Self::Reader { .. } => codes::READER_NOT_DESCRIBABLE,
            Self::TooDeep { .. } => codes::STORE,
        }
    }

    fn retryable(&self) -> bool {
        false
    }
}

/// A stored record could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The text is not the stored form of such a record.
    #[error("what is stored of a {} is damaged: {reason}", kind.as_str())]
    Damaged {
        /// What it was to be.
        kind: RowKind,
        /// What is wrong with it.
        reason: String,
    },
    /// The stored record breaks a rule.
    #[error(transparent)]
    Invalid(#[from] InvalidRecord),
    /// A media item of it could not be made again.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// The content of an artifact could not be opened.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

impl LoadError {
    /// What is stored is not such a record.
    #[must_use]
    pub fn damaged(kind: RowKind, reason: impl Into<String>) -> Self {
        Self::Damaged { kind, reason: reason.into() }
    }
}

impl Coded for LoadError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Damaged { .. } => codes::STORE,
            Self::Invalid(error) => error.code(),
            Self::Media(error) => error.code(),
            Self::Spool(error) => error.code(),
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Media(error) => error.retryable(),
            Self::Spool(error) => error.retryable(),
            _ => false,
        }
    }
}

/// What is stored is damaged, or what it refers to failed.
impl From<LoadError> for StoreError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Damaged { kind, reason } => {
                Self::Damaged { what: format!("a {}", kind.as_str()), reason }
            }
            error => Self::Backend {
                doing: "load a record".to_owned(),
                retryable: error.retryable(),
                source: Box::new(error),
            },
        }
    }
}
