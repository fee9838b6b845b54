//! Values of parameters and of columns.

use haft_core::clock::Timestamp;
use haft_core::store::{Mark, StoreError};

use super::damaged;

/// The value of a parameter.
#[derive(Clone, Copy, Debug)]
pub(in crate::turns) enum SqlValue<'v> {
    Int(Option<i64>),
    Text(Option<&'v str>),
    Bytes(&'v [u8]),
}

impl From<i64> for SqlValue<'_> {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<Option<Timestamp>> for SqlValue<'_> {
    fn from(time: Option<Timestamp>) -> Self {
        Self::Int(time.map(Timestamp::as_micros))
    }
}

impl From<Timestamp> for SqlValue<'_> {
    fn from(time: Timestamp) -> Self {
        Self::Int(Some(time.as_micros()))
    }
}

impl<'v> From<&'v str> for SqlValue<'v> {
    fn from(text: &'v str) -> Self {
        Self::Text(Some(text))
    }
}

impl<'v> From<&'v String> for SqlValue<'v> {
    fn from(text: &'v String) -> Self {
        Self::Text(Some(text))
    }
}

impl<'v> From<Option<&'v str>> for SqlValue<'v> {
    fn from(text: Option<&'v str>) -> Self {
        Self::Text(text)
    }
}

impl<'v> From<&'v Mark> for SqlValue<'v> {
    fn from(mark: &'v Mark) -> Self {
        Self::Bytes(mark.as_bytes())
    }
}

impl<'v> From<&'v [u8]> for SqlValue<'v> {
    fn from(bytes: &'v [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'v> From<&'v [u8; 32]> for SqlValue<'v> {
    fn from(bytes: &'v [u8; 32]) -> Self {
        Self::Bytes(bytes)
    }
}

/// The value of a column.
#[derive(Debug)]
pub(in crate::turns) enum Cell {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
    /// A text that is no Unicode, or of a type that no column has.
    Invalid,
}

/// A row, of which the columns are taken in their order.
#[derive(Debug)]
pub(in crate::turns) struct SqlRow(std::vec::IntoIter<Cell>);

impl SqlRow {
    pub(in crate::turns) fn new(cells: Vec<Cell>) -> Self {
        Self(cells.into_iter())
    }

    pub(in crate::turns) fn int(&mut self) -> Result<i64, StoreError> {
        self.optional_int()?.ok_or_else(wrong_type)
    }

    pub(super) fn optional_int(&mut self) -> Result<Option<i64>, StoreError> {
        match self.0.next() {
            Some(Cell::Int(value)) => Ok(Some(value)),
            Some(Cell::Null) => Ok(None),
            _ => Err(wrong_type()),
        }
    }

    pub(super) fn text(&mut self) -> Result<String, StoreError> {
        self.optional_text()?.ok_or_else(wrong_type)
    }

    pub(super) fn optional_text(&mut self) -> Result<Option<String>, StoreError> {
        match self.0.next() {
            Some(Cell::Text(text)) => Ok(Some(text)),
            Some(Cell::Null) => Ok(None),
            _ => Err(wrong_type()),
        }
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, StoreError> {
        match self.0.next() {
            Some(Cell::Bytes(bytes)) => Ok(bytes),
            _ => Err(wrong_type()),
        }
    }

    pub(super) fn mark(&mut self) -> Result<Mark, StoreError> {
        Mark::from_bytes(&self.bytes()?).ok_or_else(wrong_type)
    }

    /// A mark that a row has only under a condition.
    pub(super) fn optional_mark(&mut self) -> Result<Option<Mark>, StoreError> {
        match self.0.next() {
            Some(Cell::Bytes(bytes)) => Mark::from_bytes(&bytes).map(Some).ok_or_else(wrong_type),
            Some(Cell::Null) => Ok(None),
            _ => Err(wrong_type()),
        }
    }

    pub(super) fn time(
        &mut self,
        damaged: impl FnOnce() -> StoreError,
    ) -> Result<Option<Timestamp>, StoreError> {
        let time = self.optional_int()?.map(Timestamp::from_micros).transpose();
        time.map_err(|_| damaged())
    }
}

fn wrong_type() -> StoreError {
    damaged("a row", "a column has a value of another type")
}
