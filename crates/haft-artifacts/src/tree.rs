//! Queries of documents that are trees in memory: those of YAML and XML.
//!
//! Content is one document or a stream of several. One document is the `$` of a path, and the elements of its list are
//! the records of SQL. The documents of a stream are records, and a list for a path that begins with positions, filters
//! or `*`; any other path is evaluated in each of them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use haft_core::artifact::{QueryListBuilder, QueryOutput};
use haft_core::json::{Document, ValueKind, ValueRef};

use crate::jsonpath::ast::Selector;
use crate::jsonpath::{JsonPath, PathStep, VisitBudget};
use crate::table::{InvalidSql, TableRun};
use crate::tree_record::TreeRecord;

/// A query at work, which takes one document after the other.
#[derive(Debug)]
pub(crate) struct TreeRun {
    question: TreeQuestion,
    visits: VisitBudget,
    /// Whether there are values that were not looked at.
    is_cut_short: bool,
    /// The first document, until it is known whether it is the only one.
    first: Option<Document>,
    documents: u64,
    error: Option<InvalidSql>,
}

#[derive(Debug)]
enum TreeQuestion {
    Path {
        path: JsonPath,
        listing: QueryListBuilder,
        /// The number of values, if it is known although not all are shown.
        total: Option<u64>,
        /// The documents that the beginning of the path selects by their positions.
        positions: BTreeSet<u64>,
    },
    Table {
        table: Box<TableRun>,
        source: Option<JsonPath>,
    },
}

impl TreeRun {
    /// The values that a path selects. `documents` is their number if the path [counts](counts_documents) them.
    pub(crate) fn path(
        path: JsonPath,
        listing: QueryListBuilder,
        visits: VisitBudget,
        documents: u64,
    ) -> Self {
        let positions = positions_of(&path, documents);
        Self::new(TreeQuestion::Path { path, listing, total: None, positions }, visits)
    }

    /// The result of SQL over the records, or over those that a path leads to.
    pub(crate) fn table(table: TableRun, source: Option<JsonPath>, visits: VisitBudget) -> Self {
        Self::new(TreeQuestion::Table { table: Box::new(table), source }, visits)
    }

    fn new(question: TreeQuestion, visits: VisitBudget) -> Self {
        Self { question, visits, is_cut_short: false, first: None, documents: 0, error: None }
    }

    /// Takes the next document; `Break` if the result needs no more. `last` is true if it is known that no other document
    /// follows.
    pub(crate) fn visit(&mut self, document: Document, last: bool) -> ControlFlow<()> {
        self.documents += 1;
        if self.documents == 1 {
            if last {
                return self.visit_only(document.root());
            }
            self.first = Some(document);
            return ControlFlow::Continue(());
        }
        if let Some(first) = self.first.take() {
            self.visit_record(first.root(), 0)?;
        }
        self.visit_record(document.root(), self.documents - 1)
    }

    /// Takes the only document, whose values are shown from another one that has the same places.
    pub(crate) fn visit_twin(&mut self, document: &Document, shown: &Document) {
        let Self { question: TreeQuestion::Path { path, listing, total, .. }, visits, .. } = self
        else {
            return;
        };
        let selection = path.select_within(document.root(), visits);
        self.is_cut_short |= selection.truncated().is_some();
        let stopped = selection.located().try_for_each(|(place, value)| {
            // What is skipped need not be found.
            let found = if listing.skips_next() { None } else { find(shown.root(), &place) };
            listing.push(found.unwrap_or(value))
        });
        if stopped.is_break() {
            *total = Some(selection.len() as u64);
        }
    }

    /// Says that there are no more documents.
    pub(crate) fn end(&mut self) {
        if let Some(first) = self.first.take() {
            let _ = self.visit_only(first.root());
        }
    }

    /// Whether no value was found.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.question, TreeQuestion::Path { listing, .. } if listing.seen() == 0)
    }

    pub(crate) fn finish(self) -> Result<QueryOutput, InvalidSql> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let output = match self.question {
            TreeQuestion::Table { table, .. } => table.finish()?,
            TreeQuestion::Path { listing, total: Some(total), .. } => listing.finish_of(total),
            TreeQuestion::Path { listing, total: None, .. } => listing.finish(),
        };
        Ok(if self.is_cut_short { output.noted(CUT_SHORT) } else { output })
    }

    fn visit_only(&mut self, root: ValueRef<'_>) -> ControlFlow<()> {
        let Self { question, visits, is_cut_short, error, .. } = self;
        match question {
            TreeQuestion::Path { path, listing, total, .. } => {
                let selection = path.select_within(root, visits);
                *is_cut_short |= selection.truncated().is_some();
                if selection.iter().try_for_each(|value| listing.push(value)).is_break() {
                    *total = Some(selection.len() as u64);
                }
                ControlFlow::Break(())
            }
            TreeQuestion::Table { table, source } => {
                take(table, root, source.as_ref(), (visits, is_cut_short, error))
            }
        }
    }

    /// Takes a document of several.
    fn visit_record(&mut self, root: ValueRef<'_>, at: u64) -> ControlFlow<()> {
        let Self { question, visits, is_cut_short, error, .. } = self;
        let flow = match question {
            TreeQuestion::Table { table, source: None } => {
                table.push(&TreeRecord(root)).unwrap_or_else(|invalid| {
                    *error = Some(invalid);
                    ControlFlow::Break(())
                })
            }
            TreeQuestion::Table { table, source } => {
                take(table, root, source.as_ref(), (visits, is_cut_short, error))
            }
            TreeQuestion::Path { path, listing, positions, .. } => {
                let is_selected = match path.selects_elements() {
                    false => None,
                    true => Some(positions.contains(&at) || is_kept(path, root, visits)),
                };
                let rest;
                let path = match is_selected {
                    None => &*path,
                    Some(false) => return ControlFlow::Continue(()),
                    Some(true) => {
                        rest = path.without_first(1);
                        &rest
                    }
                };
                let selection = path.select_within(root, visits);
                *is_cut_short |= selection.truncated().is_some();
                selection.iter().try_for_each(|value| listing.push(value))
            }
        };
        if self.visits.left() == 0 {
            self.is_cut_short = true;
            return ControlFlow::Break(());
        }
        flow
    }
}

/// The value at a normalised path.
fn find<'d>(root: ValueRef<'d>, place: &str) -> Option<ValueRef<'d>> {
    // Only a path of more than 4 KiB cannot be read again.
    JsonPath::parse(place).ok()?.prefix().try_fold(root, |value, step| match step {
        PathStep::Name(name) => value.get(name),
        PathStep::Index(index) => value.item(usize::try_from(*index).ok()?),
        PathStep::Wildcard => None,
    })
}

/// Hands records to SQL: what a path leads to, or the value itself; of lists, the elements.
fn take(
    table: &mut TableRun,
    root: ValueRef<'_>,
    source: Option<&JsonPath>,
    (visits, is_cut_short, error): (&mut VisitBudget, &mut bool, &mut Option<InvalidSql>),
) -> ControlFlow<()> {
    let selection = source.map(|path| path.select_within(root, visits));
    *is_cut_short |= selection.as_ref().is_some_and(|it| it.truncated().is_some());
    let values: Vec<ValueRef<'_>> = match &selection {
        Some(selection) => selection.iter().collect(),
        None => vec![root],
    };
    let mut push = |value: ValueRef<'_>| match table.push(&TreeRecord(value)) {
        Ok(flow) => flow,
        Err(invalid) => {
            *error = Some(invalid);
            ControlFlow::Break(())
        }
    };
    values.into_iter().try_for_each(|value| match value.kind() {
        ValueKind::Array => value.elements().try_for_each(&mut push),
        _ => push(value),
    })
}

/// The selectors at the beginning of a path, if they select documents of a stream.
fn document_selectors(path: &JsonPath) -> &[Selector] {
    let first = path.segments().first().filter(|_| path.selects_elements());
    first.map_or(&[], |segment| &segment.selectors)
}

/// Whether the beginning of a path selects documents by their positions, so that their number has to be known.
pub(crate) fn counts_documents(path: &JsonPath) -> bool {
    document_selectors(path).iter().any(|selector| {
        !matches!(selector, Selector::Filter(_) | Selector::Step(PathStep::Wildcard))
    })
}

fn positions_of(path: &JsonPath, documents: u64) -> BTreeSet<u64> {
    let mut positions = BTreeSet::new();
    for selector in document_selectors(path) {
        match selector {
            Selector::Step(PathStep::Index(at)) => positions.extend([*at]),
            Selector::FromEnd(back) => positions.extend(documents.checked_sub(*back)),
            Selector::Slice(slice) => positions.extend(slice.positions(documents)),
            Selector::Step(_) | Selector::Filter(_) => {}
        }
    }
    positions
}

/// Whether a filter or `*` at the beginning of a path keeps a document.
fn is_kept(path: &JsonPath, root: ValueRef<'_>, visits: &mut VisitBudget) -> bool {
    document_selectors(path).iter().any(|selector| match selector {
        Selector::Step(PathStep::Wildcard) => true,
        Selector::Filter(filter) => filter.holds_within(root, visits).unwrap_or(false),
        _ => false,
    })
}

const CUT_SHORT: &str = "the path finds more than is looked at in one query; ask for less, such as a part of the document";
