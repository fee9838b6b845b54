//! The names of columns.

use std::collections::{HashMap, HashSet};

use haft_core::json::{Document, JsonWriter};

use super::error::CsvError;
use super::scan::CsvRecord;

/// The columns of a table, each with a name of its own.
#[derive(Debug, Default)]
pub(super) struct Columns {
    names: Vec<Box<str>>,
    /// The names again, for the fields beyond the columns, which need names of their own.
    taken: HashSet<String>,
}

impl Columns {
    /// The columns that a header row names.
    pub(super) fn from_header(header: CsvRecord<'_>) -> Self {
        let given: Vec<String> =
            header.fields().map(|it| String::from_utf8_lossy(it).into_owned()).collect();
        let mut taken: HashSet<String> = given.iter().cloned().collect();
        let (mut used, mut numbers) = (HashSet::new(), HashMap::new());
        let mut names = Vec::new();
        for (name, place) in given.into_iter().zip(1..) {
            let mut name = if name.is_empty() { column_name(place) } else { name };
            if !used.insert(name.clone()) {
                let number = numbers.entry(name.clone()).or_insert(2);
                name = unused_name(&name, number, &taken);
                used.insert(name.clone());
            }
            taken.insert(name.clone());
            names.push(name.into_boxed_str());
        }
        Self { names, taken }
    }

    /// Columns without names, as many as `count`.
    pub(super) fn unnamed(count: usize) -> Self {
        let taken: HashSet<String> = (1..=count).map(column_name).collect();
        Self {
            names: (1..=count).map(|place| column_name(place).into_boxed_str()).collect(),
            taken,
        }
    }

    pub(super) fn names(&self) -> &[Box<str>] {
        &self.names
    }

    /// The index of a column.
    pub(super) fn find(&self, name: &str) -> Result<usize, CsvError> {
        self.names.iter().position(|it| **it == *name).ok_or_else(|| self.unknown(name))
    }

    /// The error for a column that does not exist.
    pub(super) fn unknown(&self, name: &str) -> CsvError {
        CsvError::NoColumn {
            name: name.chars().take(80).collect::<String>().into(),
            columns: self.names.iter().take(LISTED).cloned().collect(),
            more: self.names.len().saturating_sub(LISTED),
        }
    }

    /// A row as a JSON object, with only the columns at these indices if any are given.
    pub(super) fn row_object(&self, record: CsvRecord<'_>, only: &[usize]) -> Document {
        let mut out = JsonWriter::new();
        out.object(|out| {
            let mut member = |place: usize| {
                let Some(field) = record.field(place) else { return };
                match self.names.get(place) {
                    Some(name) => out.key(name),
                    None => out.key(&self.extra_column_name(place)),
                };
                out.string(&String::from_utf8_lossy(field));
            };
            if only.is_empty() {
                (0..record.len()).for_each(&mut member);
            } else {
                only.iter().copied().for_each(&mut member);
            }
        });
        out.finish()
    }

    /// The name for a field beyond the columns.
    fn extra_column_name(&self, place: usize) -> String {
        let name = column_name(place + 1);
        if !self.taken.contains(&name) {
            return name;
        }
        unused_name(&name, &mut 2, &self.taken)
    }
}

fn column_name(place: usize) -> String {
    format!("column_{place}")
}

/// A name with a number after it that is not in use, from this number on.
fn unused_name(name: &str, number: &mut u64, taken: &HashSet<String>) -> String {
    loop {
        let found = format!("{name}_{number}");
        *number += 1;
        if !taken.contains(&found) {
            return found;
        }
    }
}

/// How many columns an error names.
const LISTED: usize = 40;
