//! The visitors of documents: one type per query.

use std::collections::HashSet;
use std::ops::{ControlFlow, Range};

use crate::jsonpath::{JsonPath, VisitBudget};
use haft_core::artifact::{QueryListBuilder, QueryOutput};
use haft_core::json::{Document, JsonWriter, ValueKind, ValueRef};

use super::scan::DocumentVisitor;
use crate::record_condition::RecordCondition;

/// Counts documents, up to a number.
#[derive(Debug)]
pub(super) struct CountDocuments {
    pub(super) documents: u64,
    pub(super) at_most: u64,
    /// How many elements the root of the last document has, if it is a list.
    pub(super) elements: Option<usize>,
}

impl DocumentVisitor for CountDocuments {
    fn visit_document(&mut self, document: Document, _: bool) -> ControlFlow<()> {
        self.documents += 1;
        let root = document.root();
        self.elements = (root.kind() == ValueKind::Array).then(|| root.len());
        continue_if(self.documents < self.at_most)
    }
}

/// The keys of all mappings, each once.
#[derive(Debug)]
pub(super) struct CollectKeys {
    pub(super) listing: QueryListBuilder,
    pub(super) any_mapping: bool,
    seen: HashSet<String>,
    room: usize,
    full: bool,
}

impl CollectKeys {
    pub(super) fn new(listing: QueryListBuilder) -> Self {
        Self { listing, any_mapping: false, seen: HashSet::new(), room: KEY_BYTES, full: false }
    }

    pub(super) fn answer(self) -> QueryOutput {
        if !self.any_mapping {
            return QueryOutput::undefined();
        }
        let shown = self.seen.len();
        let answer = self.listing.finish();
        if self.full {
            return answer.noted(format_args!(
                "there are too many different keys; only the first {shown} were looked at"
            ));
        }
        answer
    }
}

impl DocumentVisitor for CollectKeys {
    fn visit_document(&mut self, document: Document, _: bool) -> ControlFlow<()> {
        let root = document.root();
        self.any_mapping |= root.kind() == ValueKind::Object;
        root.members().try_for_each(|(key, _)| {
            if self.seen.contains(key) {
                return ControlFlow::Continue(());
            }
            let Some(room) = self.room.checked_sub(key.len() + 1) else {
                self.full = true;
                return ControlFlow::Break(());
            };
            self.room = room;
            self.seen.insert(key.to_owned());
            let mut text = JsonWriter::new();
            text.string(key);
            self.listing.push(text.finish().root())
        })
    }
}

/// What a path selects in every document.
#[derive(Debug)]
pub(super) struct SelectValues {
    pub(super) path: JsonPath,
    pub(super) listing: QueryListBuilder,
    /// The number of values, if it is known although not all are shown.
    pub(super) total: Option<u64>,
    pub(super) cut_short: bool,
    pub(super) visits: VisitBudget,
}

impl SelectValues {
    pub(super) fn answer(self) -> QueryOutput {
        let answer = match self.total {
            Some(total) => self.listing.finish_of(total),
            None => self.listing.finish(),
        };
        if self.cut_short { answer.noted(CUT_SHORT) } else { answer }
    }
}

impl DocumentVisitor for SelectValues {
    fn visit_document(&mut self, document: Document, last: bool) -> ControlFlow<()> {
        let selection = self.path.select_within(document.root(), &mut self.visits);
        self.cut_short |= selection.truncated().is_some();
        let before = self.listing.seen();
        let shown = selection.iter().try_for_each(|value| self.listing.push(value));
        if shown.is_break() && last {
            self.total = Some(before + selection.len() as u64);
        }
        if self.visits.left() == 0 { ControlFlow::Break(()) } else { shown }
    }
}

/// The records: documents, or the elements of the list that is the only document.
pub(super) struct Records<E> {
    /// The first document, until it is known whether it is the only one.
    first: Option<Document>,
    documents: u64,
    lists: bool,
    pub(super) each: E,
}

/// Receives records.
pub(super) trait RecordVisitor: Send + 'static {
    fn visit_record(&mut self, record: ValueRef<'_>) -> ControlFlow<()>;
}

impl<E> Records<E> {
    /// `lists` says whether the elements of a list that is the only document are records.
    pub(super) fn new(lists: bool, each: E) -> Self {
        Self { first: None, documents: 0, lists, each }
    }
}

impl<E: RecordVisitor> Records<E> {
    fn visit_only_document(&mut self, document: &Document) -> ControlFlow<()> {
        let root = document.root();
        if self.lists && root.kind() == ValueKind::Array {
            return root.elements().try_for_each(|element| self.each.visit_record(element));
        }
        self.each.visit_record(root)
    }
}

impl<E: RecordVisitor> DocumentVisitor for Records<E> {
    fn visit_document(&mut self, document: Document, last: bool) -> ControlFlow<()> {
        self.documents += 1;
        if self.documents == 1 {
            if last {
                return self.visit_only_document(&document);
            }
            self.first = Some(document);
            return ControlFlow::Continue(());
        }
        if let Some(first) = self.first.take() {
            self.each.visit_record(first.root())?;
        }
        self.each.visit_record(document.root())
    }

    fn end(&mut self) {
        if let Some(first) = self.first.take() {
            let _ = self.visit_only_document(&first);
        }
    }
}

/// The records that a path matches.
#[derive(Debug)]
pub(super) struct FilterRecords {
    condition: RecordCondition,
    listing: QueryListBuilder,
    visits: VisitBudget,
    cut_short: bool,
}

impl FilterRecords {
    pub(super) fn new(path: JsonPath, listing: QueryListBuilder, visits: VisitBudget) -> Self {
        Self { condition: RecordCondition::new(path), listing, visits, cut_short: false }
    }

    pub(super) fn answer(self) -> QueryOutput {
        let answer = self.listing.finish();
        if self.cut_short { answer.noted(CUT_SHORT) } else { answer }
    }
}

impl RecordVisitor for FilterRecords {
    fn visit_record(&mut self, record: ValueRef<'_>) -> ControlFlow<()> {
        match self.condition.holds(record, &mut self.visits) {
            Ok(true) => self.listing.push(record),
            Ok(false) => ControlFlow::Continue(()),
            Err(_) => {
                self.cut_short = true;
                ControlFlow::Break(())
            }
        }
    }
}

/// The records of a range.
#[derive(Debug)]
pub(super) struct SliceRecords {
    pub(super) at: u64,
    pub(super) range: Range<u64>,
    pub(super) listing: QueryListBuilder,
}

impl RecordVisitor for SliceRecords {
    fn visit_record(&mut self, record: ValueRef<'_>) -> ControlFlow<()> {
        let at = self.at;
        self.at += 1;
        if at >= self.range.end {
            return ControlFlow::Break(());
        }
        if at < self.range.start { ControlFlow::Continue(()) } else { self.listing.push(record) }
    }
}

fn continue_if(more: bool) -> ControlFlow<()> {
    if more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// The maximum number of bytes that the distinct keys of all documents may have.
const KEY_BYTES: usize = 4 * 1024 * 1024;

pub(super) const CUT_SHORT: &str = "the path finds more than is looked at in one query; ask for less, such as a part of the document";
