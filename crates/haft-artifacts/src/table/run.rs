//! Evaluates a `SELECT` record by record.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use haft_core::artifact::{Budget, QueryOutput};

use super::aggregate::AggregateState;
use super::parse::parse;
use super::rows::{Row, ShownRows, compare_rows, push_field};
use super::statement::{InvalidSql, Statement};
use super::value::{Cell, Cells, evaluate, holds};

/// A record of a table.
pub(crate) trait TableRecord {
    /// The cell of a column: by its place if the table has a header, else by its path.
    fn cell(&self, path: &[String], place: Option<usize>) -> Option<Cow<'_, str>>;

    /// The names of the columns that the record has.
    fn names(&self) -> Vec<Cow<'_, str>>;
}

/// A query at work.
#[derive(Debug)]
pub(crate) struct TableRun {
    statement: Statement,
    /// The places of the columns of the statement, if the table has a header.
    places: Vec<Option<usize>>,
    /// What `*` stands for.
    star: Vec<(Vec<String>, Option<usize>)>,
    /// Which columns a record had.
    found: Vec<bool>,
    /// The columns of the first record.
    names: Vec<String>,
    has_header: bool,
    records: u64,
    rows: RowSink,
    groups: Groups,
}

/// What becomes of rows.
#[derive(Debug)]
struct RowSink {
    shown: ShownRows,
    /// The rows that are sorted in the end.
    sorted: Vec<Row>,
    sorted_bytes: usize,
    is_truncated: bool,
    distinct: HashSet<String>,
    distinct_bytes: usize,
    /// How many rows the statement leaves out, and how many it shows at most.
    offset: u64,
    left: u64,
}

#[derive(Debug, Default)]
struct Groups {
    /// In the order of their first records.
    all: Vec<Group>,
    index: HashMap<Vec<Option<String>>, usize>,
    bytes: usize,
}

/// The records with the same values.
#[derive(Debug)]
struct Group {
    /// The cells of the first record.
    cells: Vec<Option<String>>,
    states: Vec<AggregateState>,
}

impl TableRun {
    /// Reads a query. `skip` rows of its result are left out.
    pub(crate) fn new(sql: &str, budget: Budget, skip: u64) -> Result<Self, InvalidSql> {
        let statement = parse(sql)?;
        let shown = ShownRows::new(budget, skip);
        let rows = RowSink {
            shown,
            sorted: Vec::new(),
            sorted_bytes: 0,
            is_truncated: false,
            distinct: HashSet::new(),
            distinct_bytes: 0,
            offset: statement.offset,
            left: statement.limit.unwrap_or(u64::MAX),
        };
        let found = vec![false; statement.columns.len()];
        let places = vec![None; statement.columns.len()];
        let (star, names) = (Vec::new(), Vec::new());
        let (has_header, records, groups) = (false, 0, Groups::default());
        Ok(Self { statement, places, star, found, names, has_header, records, rows, groups })
    }

    /// The JSONPath that leads to the records.
    pub(crate) fn source(&self) -> Option<&str> {
        self.statement.source.as_deref()
    }

    /// Finds the columns of the query among those of a table with a header.
    ///
    /// # Errors
    ///
    /// The table has no such column.
    #[cfg(feature = "formats")]
    pub(crate) fn bind(&mut self, names: &[Box<str>]) -> Result<(), UnknownColumn> {
        self.has_header = true;
        let find = |wanted: &str| {
            let exact = names.iter().position(|it| **it == *wanted);
            exact.or_else(|| names.iter().position(|it| it.eq_ignore_ascii_case(wanted)))
        };
        for (column, place) in self.statement.columns.iter().zip(&mut self.places) {
            let name = column.to_string();
            // Names may be prefixed by the name of the table.
            *place = find(&name).or_else(|| find(column.path.last()?));
            if place.is_none() && !column.is_quoted {
                return Err(UnknownColumn(name));
            }
        }
        let star = names.iter().enumerate();
        self.star = star.map(|(place, name)| (vec![name.to_string()], Some(place))).collect();
        self.found.fill(true);
        Ok(())
    }

    /// Takes the next record; `Break` if the result has no room for more.
    ///
    /// # Errors
    ///
    /// There are more groups or different rows than can be held.
    pub(crate) fn push(&mut self, record: &dyn TableRecord) -> Result<ControlFlow<()>, InvalidSql> {
        self.records += 1;
        if !self.has_header {
            self.note_names(record);
        }
        let cells = RecordCells { record, run: self };
        let is_kept = self.statement.condition.as_ref().is_none_or(|it| holds(it, &cells));
        if !is_kept {
            return Ok(ControlFlow::Continue(()));
        }
        if self.is_grouped() {
            let keys = self.statement.group_by.iter();
            let keys: Vec<_> = keys.map(|it| evaluate(it, &cells).map(Cow::into_owned)).collect();
            return self.add_to_group(keys, record).map(|()| ControlFlow::Continue(()));
        }
        if self.statement.outputs.is_empty() && self.star.is_empty() {
            self.star = record.names().iter().map(|it| (vec![it.to_string()], None)).collect();
        }
        let row = self.row(&RecordCells { record, run: self }, Some(record));
        self.write_header();
        self.rows.push(row, &self.statement)
    }

    /// The result.
    ///
    /// # Errors
    ///
    /// There are more different rows than can be held.
    pub(crate) fn finish(mut self) -> Result<QueryOutput, InvalidSql> {
        if self.is_grouped() {
            if self.groups.all.is_empty() && self.statement.group_by.is_empty() {
                let cells = vec![None; self.statement.columns.len()];
                self.groups.all.push(Group { cells, states: self.new_states() });
            }
            self.write_header();
            for group in std::mem::take(&mut self.groups.all) {
                let cells = GroupCells { group: &group, statement: &self.statement };
                if self.statement.having.as_ref().is_some_and(|it| !holds(it, &cells)) {
                    continue;
                }
                let row = self.row(&cells, None);
                if self.rows.push(row, &self.statement)?.is_break() {
                    break;
                }
            }
        }
        let note = self.missing_columns();
        let output = self.rows.finish(&self.statement);
        Ok(match note {
            Some(note) => output.noted(note),
            None => output,
        })
    }

    fn is_grouped(&self) -> bool {
        !self.statement.group_by.is_empty() || !self.statement.aggregates.is_empty()
    }

    fn new_states(&self) -> Vec<AggregateState> {
        self.statement.aggregates.iter().map(|_| AggregateState::default()).collect()
    }

    fn write_header(&mut self) {
        if self.rows.shown.has_header() {
            return;
        }
        if self.statement.outputs.is_empty() {
            self.rows
                .shown
                .header(self.star.iter().filter_map(|(path, _)| path.last().map(String::as_str)));
        } else {
            self.rows.shown.header(self.statement.outputs.iter().map(|it| it.name.as_str()));
        }
    }

    fn row(&self, cells: &dyn Cells, record: Option<&dyn TableRecord>) -> Row {
        let mut line = String::new();
        if self.statement.outputs.is_empty() {
            for (at, (path, place)) in self.star.iter().enumerate() {
                if at > 0 {
                    line.push(',');
                }
                let cell = record.and_then(|record| record.cell(path, *place));
                push_field(&mut line, &cell.unwrap_or_default());
            }
        }
        for (at, output) in self.statement.outputs.iter().enumerate() {
            if at > 0 {
                line.push(',');
            }
            push_field(&mut line, &evaluate(&output.value, cells).unwrap_or_default());
        }
        let keys = self.statement.order_by.iter();
        let keys = keys.map(|it| evaluate(&it.value, cells).map(Cow::into_owned)).collect();
        Row { keys, line }
    }

    fn add_to_group(
        &mut self,
        keys: Vec<Option<String>>,
        record: &dyn TableRecord,
    ) -> Result<(), InvalidSql> {
        let at = match self.groups.index.get(&keys) {
            Some(at) => *at,
            None => {
                self.groups.bytes += keys.iter().flatten().map(String::len).sum::<usize>();
                if self.groups.all.len() == MAX_GROUPS || self.groups.bytes > MAX_GROUP_BYTES {
                    return Err(InvalidSql::new(format_args!(
                        "there are more than {MAX_GROUPS} groups; group by a column with fewer different fields, or \
                         add a WHERE"
                    )));
                }
                let cells = RecordCells { record, run: self };
                let first = (0..self.statement.columns.len())
                    .map(|at| cells.column(at).map(Cow::into_owned));
                let group = Group { cells: first.collect(), states: self.new_states() };
                self.groups.all.push(group);
                self.groups.index.insert(keys, self.groups.all.len() - 1);
                self.groups.all.len() - 1
            }
        };
        // The group is taken out for a moment, because evaluating a value reads the rest.
        let Some(group) = self.groups.all.get_mut(at) else { return Ok(()) };
        let mut states = std::mem::take(&mut group.states);
        let cells = RecordCells { record, run: self };
        for (aggregate, state) in self.statement.aggregates.iter().zip(&mut states) {
            match &aggregate.value {
                None => state.add_record(),
                Some(value) => {
                    if let Some(text) = evaluate(value, &cells) {
                        state.add(aggregate, &text);
                    }
                }
            }
        }
        if let Some(group) = self.groups.all.get_mut(at) {
            group.states = states;
        }
        Ok(())
    }

    /// Remembers which columns there are, for a note about those that are missing.
    fn note_names(&mut self, record: &dyn TableRecord) {
        if self.names.is_empty() {
            self.names = record.names().iter().take(MAX_NAMED).map(ToString::to_string).collect();
        }
        for (column, found) in self.statement.columns.iter().zip(&mut self.found) {
            *found |= column.is_quoted || record.cell(&column.path, None).is_some();
        }
    }

    fn missing_columns(&self) -> Option<String> {
        let columns = self.statement.columns.iter().zip(&self.found);
        let missing: Vec<String> =
            columns.filter(|(_, found)| !**found).map(|(it, _)| format!("`{it}`")).collect();
        if missing.is_empty() || self.records == 0 {
            return None;
        }
        let names = self.names.join(", ");
        let hint = match self.records {
            1 => "; the content is one record: FROM $.name takes the records from a list in it",
            _ => "",
        };
        Some(format!("no record has {}; the first one has {names}{hint}", missing.join(" or ")))
    }
}

impl RowSink {
    fn push(&mut self, row: Row, statement: &Statement) -> Result<ControlFlow<()>, InvalidSql> {
        if statement.is_distinct && !self.distinct.contains(&row.line) {
            self.distinct_bytes += row.line.len();
            if self.distinct.len() == MAX_GROUPS || self.distinct_bytes > MAX_GROUP_BYTES {
                return Err(InvalidSql::new(format_args!(
                    "there are more than {MAX_GROUPS} different rows"
                )));
            }
            self.distinct.insert(row.line.clone());
        } else if statement.is_distinct {
            return Ok(ControlFlow::Continue(()));
        }
        if statement.order_by.is_empty() {
            return Ok(self.show(&row.line));
        }
        self.sorted_bytes += row.line.len();
        self.sorted.push(row);
        // Of rows that sort behind all that can be shown nothing is kept.
        let wanted = self.left.saturating_add(self.offset).min(MAX_SORTED as u64);
        let wanted = usize::try_from(wanted).unwrap_or(MAX_SORTED);
        if self.sorted.len() >= wanted.saturating_mul(2).max(64) {
            self.sort(statement);
            self.is_truncated |= wanted == MAX_SORTED;
            self.sorted.truncate(wanted);
            self.sorted_bytes = self.sorted.iter().map(|it| it.line.len()).sum();
        }
        if self.sorted_bytes > MAX_SORTED_BYTES {
            return Err(InvalidSql::new(
                "the rows to sort are too long; select fewer columns, or add a LIMIT",
            ));
        }
        Ok(ControlFlow::Continue(()))
    }

    fn sort(&mut self, statement: &Statement) {
        let descending: Vec<bool> = statement.order_by.iter().map(|it| it.is_descending).collect();
        self.sorted.sort_by(|left, right| compare_rows(left, right, &descending));
    }

    fn show(&mut self, line: &str) -> ControlFlow<()> {
        if self.offset > 0 {
            self.offset -= 1;
            return ControlFlow::Continue(());
        }
        if self.left == 0 {
            return ControlFlow::Break(());
        }
        self.left -= 1;
        self.shown.push(line)
    }

    fn finish(mut self, statement: &Statement) -> QueryOutput {
        if statement.order_by.is_empty() {
            return self.shown.finish(None);
        }
        self.sort(statement);
        let count = self.sorted.len() as u64;
        let total = count.saturating_sub(self.offset).min(self.left);
        for row in std::mem::take(&mut self.sorted) {
            if self.show(&row.line).is_break() {
                break;
            }
        }
        let output = self.shown.finish(Some(total));
        match self.is_truncated {
            true => output
                .noted(format_args!("only the first {MAX_SORTED} rows in this order are kept")),
            false => output,
        }
    }
}

/// The cells of a record.
struct RecordCells<'r> {
    record: &'r dyn TableRecord,
    run: &'r TableRun,
}

impl Cells for RecordCells<'_> {
    fn column(&self, at: usize) -> Cell<'_> {
        let column = self.run.statement.columns.get(at)?;
        let place = self.run.places.get(at).copied().flatten();
        let cell = match place.is_none() && self.run.has_header {
            true => None,
            false => self.record.cell(&column.path, place),
        };
        let text = || {
            column.path.first().filter(|_| column.is_quoted).map(|it| Cow::Borrowed(it.as_str()))
        };
        cell.or_else(text).filter(|it| !it.is_empty())
    }

    fn aggregate(&self, _: usize) -> Cell<'_> {
        None
    }
}

/// The cells of the first record of a group, and its aggregates.
struct GroupCells<'g> {
    group: &'g Group,
    statement: &'g Statement,
}

impl Cells for GroupCells<'_> {
    fn column(&self, at: usize) -> Cell<'_> {
        self.group.cells.get(at)?.as_deref().map(Cow::Borrowed)
    }

    fn aggregate(&self, at: usize) -> Cell<'_> {
        let result = self.group.states.get(at)?.result(self.statement.aggregates.get(at)?);
        result.map(Cow::Owned)
    }
}

/// A table has no column of this name.
#[cfg(feature = "formats")]
#[derive(Debug)]
pub(crate) struct UnknownColumn(pub(crate) String);

/// How many groups or different rows are held, and how many bytes they may have together.
const MAX_GROUPS: usize = 10_000;
const MAX_GROUP_BYTES: usize = 4 * 1024 * 1024;
/// How many rows are sorted at most, and how many bytes they may have together.
const MAX_SORTED: usize = 10_000;
const MAX_SORTED_BYTES: usize = 16 * 1024 * 1024;
/// How many columns a note names.
const MAX_NAMED: usize = 30;
