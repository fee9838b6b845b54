//! The queries.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::jsonpath::JsonPath;
use haft_core::artifact::{Budget, QueryListBuilder, QueryOutput};
use haft_core::json::{Document, JsonWriter, ValueKind, ValueRef};

use super::children::{CONTINUE, Child, ChildFlow};
use super::container::{self, Container, ContainerKind, MemberName};
use super::error::ScanError;
use super::json_lines;
use super::path_eval::{self, SelectionSink};
use super::scan::JsonScan;
use super::validate;
use super::view::JsonLength;
use crate::record_condition::RecordCondition;
use crate::scan::saturating_len;

/// The sequence of records in the content.
enum RecordSequence {
    /// Lines, or the elements of a large list.
    Children(Arc<Container>),
    /// One value, or a list that fits into a tree.
    Tree(Document),
    /// One value that does not: no list, and beginning here.
    Large(u64),
}

fn read_sequence(scan: &mut JsonScan) -> Result<RecordSequence, ScanError> {
    let start = match scan.root() {
        Err(records) => return Ok(RecordSequence::Children(records)),
        Ok(start) => start,
    };
    if let Some(doc) = scan.read_tree(start, 0)? {
        return Ok(RecordSequence::Tree(doc));
    }
    let list = scan.find_container(start, 0)?.filter(|it| it.kind == ContainerKind::Array);
    Ok(list.map_or(RecordSequence::Large(start), RecordSequence::Children))
}

pub(super) fn count_records(scan: &mut JsonScan) -> Result<JsonLength, ScanError> {
    let (records, root_array) = match read_sequence(scan)? {
        RecordSequence::Children(it) if it.kind == ContainerKind::Lines => (it.count, None),
        RecordSequence::Children(list) => (1, Some(list.count)),
        RecordSequence::Tree(doc) if doc.root().kind() == ValueKind::Array => {
            (1, Some(doc.root().len() as u64))
        }
        RecordSequence::Tree(_) | RecordSequence::Large(_) => (1, None),
    };
    Ok(JsonLength { records, root_array })
}

pub(super) fn select_values(
    scan: &mut JsonScan,
    path: &JsonPath,
    (budget, skip): (Budget, u64),
) -> Result<QueryOutput, ScanError> {
    let mut listing = QueryListBuilder::new(budget, skip);
    let mut sink = SelectionSink::Listing(&mut listing, budget.bytes.saturating_add(8));
    let _ = match scan.root() {
        Ok(start) => path_eval::select(scan, path, (start, 0), &mut sink)?,
        Err(records) => scan.for_each_child(&records, 0, &mut |scan, record| match record {
            Child::Tree(view) => sink.select(path, view, &mut scan.visits),
            Child::Large(start, depth) => path_eval::select(scan, path, (start, depth), &mut sink),
        })?,
    };
    Ok(listing.finish())
}

pub(super) fn filter_records(
    scan: &mut JsonScan,
    path: &JsonPath,
    (budget, skip): (Budget, u64),
) -> Result<QueryOutput, ScanError> {
    let mut listing = QueryListBuilder::new(budget, skip);
    let condition = RecordCondition::new(path.clone());
    let shown = budget.bytes.saturating_add(8);
    let mut keep = |scan: &mut JsonScan, record: Child<'_>| match record {
        Child::Tree(view) if condition.holds(view, &mut scan.visits)? => Ok(listing.push(view)),
        Child::Tree(_) => CONTINUE,
        Child::Large(start, depth) if holds_for_large(&condition, scan, (start, depth))? => {
            SelectionSink::Listing(&mut listing, shown).push_large(scan, start, depth)
        }
        Child::Large(..) => CONTINUE,
    };
    let _ = match read_sequence(scan)? {
        RecordSequence::Children(container) => scan.for_each_child(&container, 0, &mut keep)?,
        RecordSequence::Tree(doc) => {
            for_each_record(doc.root(), &mut |view| keep(scan, Child::Tree(view)))?
        }
        RecordSequence::Large(start) => keep(scan, Child::Large(start, 0))?,
    };
    Ok(listing.finish())
}

/// The elements of a list, or else the value itself.
fn for_each_record(
    root: ValueRef<'_>,
    take: &mut dyn FnMut(ValueRef<'_>) -> ChildFlow,
) -> ChildFlow {
    if root.kind() != ValueKind::Array {
        return take(root);
    }
    for element in root.elements() {
        let flow = take(element)?;
        if flow.is_break() {
            return Ok(flow);
        }
    }
    CONTINUE
}

/// Whether a record is kept that does not fit into a tree.
fn holds_for_large(
    condition: &RecordCondition,
    scan: &mut JsonScan,
    (start, depth): (u64, usize),
) -> Result<bool, ScanError> {
    if condition.tests_record() {
        return Err(path_eval::too_large_for_filter(scan, start));
    }
    let mut found = false;
    let mut sink = SelectionSink::Any(&mut found);
    let _ = path_eval::select(scan, condition.path(), (start, depth), &mut sink)?;
    Ok(found)
}

pub(super) fn slice_records(
    scan: &mut JsonScan,
    (start, end): (Option<i64>, Option<i64>),
    (budget, skip): (Budget, u64),
) -> Result<QueryOutput, ScanError> {
    let mut listing = QueryListBuilder::new(budget, skip);
    let shown = budget.bytes.saturating_add(8);
    let container = match read_sequence(scan)? {
        RecordSequence::Children(container) => container,
        RecordSequence::Tree(doc) => return Ok(slice_tree(doc.root(), (start, end), listing)),
        RecordSequence::Large(place) => {
            let _ = SelectionSink::Listing(&mut listing, shown).push_large(scan, place, 0)?;
            return Ok(listing.finish());
        }
    };
    let (from, until) = slice_bounds(start, end, container.count);
    let mut at = from;
    while at < until && listing.skips_next() {
        let _ = listing.push_start_of("", 0);
        at += 1;
    }
    if at < until {
        let _ = scan.for_each_child(&container, at, &mut |scan, child| {
            let flow = match child {
                Child::Tree(view) => listing.push(view),
                Child::Large(start, depth) => {
                    SelectionSink::Listing(&mut listing, shown).push_large(scan, start, depth)?
                }
            };
            at += 1;
            Ok(if at >= until { ControlFlow::Break(()) } else { flow })
        })?;
    }
    Ok(listing.finish_of(until - from))
}

/// The slice of a list that fits into a tree, or the root if it is not a list.
fn slice_tree(
    root: ValueRef<'_>,
    (start, end): (Option<i64>, Option<i64>),
    mut listing: QueryListBuilder,
) -> QueryOutput {
    if root.kind() != ValueKind::Array {
        let _ = listing.push(root);
        return listing.finish();
    }
    let (from, until) = slice_bounds(start, end, root.len() as u64);
    let mut elements =
        root.elements().skip(saturating_len(from)).take(saturating_len(until - from));
    let _ = elements.try_for_each(|it| listing.push(it));
    listing.finish_of(until - from)
}

/// Positions as ECMAScript's `slice` has them: negative ones count from the end.
fn slice_bounds(start: Option<i64>, end: Option<i64>, count: u64) -> (u64, u64) {
    let absolute = |it: i64| match u64::try_from(it) {
        Ok(at) => at.min(count),
        Err(_) => count.saturating_sub(it.unsigned_abs()),
    };
    let from = start.map_or(0, absolute);
    (from, end.map_or(count, absolute).max(from))
}

pub(super) fn list_keys(
    scan: &mut JsonScan,
    (budget, skip): (Budget, u64),
) -> Result<QueryOutput, ScanError> {
    let mut keys = KeyCollector::new(QueryListBuilder::new(budget, skip));
    match scan.root() {
        Ok(start) => {
            let known = scan.known_container(start).and_then(|it| it.member_places());
            scan.cursor.seek(start);
            let _ = match known {
                Some(places) => keys.read_names_at(scan, &places)?,
                None => keys.read_value(scan)?,
            };
        }
        Err(records) => keys.read_records(scan, &records)?,
    }
    Ok(keys.finish())
}

/// Names of members, each once, in the order in which they are found.
struct KeyCollector {
    listing: QueryListBuilder,
    seen: HashSet<u64>,
    /// Whether there was an object.
    any: bool,
}

impl KeyCollector {
    fn new(listing: QueryListBuilder) -> Self {
        Self { listing, seen: HashSet::new(), any: false }
    }

    /// The names in the value at the cursor, if it is an object.
    fn read_value(&mut self, scan: &mut JsonScan) -> ChildFlow {
        let cursor = &mut scan.cursor;
        if cursor.peek()? != Some(b'{') {
            return CONTINUE;
        }
        self.any = true;
        cursor.advance(1);
        if cursor.skip_space()? == Some(b'}') {
            return CONTINUE;
        }
        loop {
            let name = container::read_name(cursor)?;
            let flow = self.push(&name);
            if flow.is_break() {
                return Ok(flow);
            }
            cursor.skip_value(1, u64::MAX)?;
            if validate::skip_separator(cursor, true)? {
                return CONTINUE;
            }
        }
    }

    /// The names that begin at these places.
    fn read_names_at(&mut self, scan: &mut JsonScan, places: &[u64]) -> ChildFlow {
        self.any = true;
        for place in places {
            scan.cursor.seek(*place);
            let name = container::read_name(&mut scan.cursor)?;
            let flow = self.push(&name);
            if flow.is_break() {
                return Ok(flow);
            }
        }
        CONTINUE
    }

    fn push(&mut self, name: &MemberName) -> ControlFlow<()> {
        if self.seen.len() >= MAX_KEYS || !self.seen.insert(name.hash()) {
            return ControlFlow::Continue(());
        }
        match name {
            MemberName::Long { start, bytes, .. } => self.listing.push_start_of(start, *bytes),
            MemberName::Short(name) => {
                let mut text = JsonWriter::new();
                text.string(name);
                self.listing.push(text.finish().root())
            }
        }
    }

    fn read_records(&mut self, scan: &mut JsonScan, records: &Container) -> Result<(), ScanError> {
        debug_assert_eq!(records.kind, ContainerKind::Lines);
        scan.cursor.clear_end();
        scan.cursor.seek(records.start);
        while let Some(record) = json_lines::next_record(&mut scan.cursor)? {
            if self.read_value(scan)?.is_break() {
                break;
            }
            json_lines::skip_record(&mut scan.cursor, record);
        }
        Ok(())
    }

    fn finish(self) -> QueryOutput {
        if !self.any {
            return QueryOutput::undefined();
        }
        let answer = self.listing.finish();
        if self.seen.len() < MAX_KEYS {
            return answer;
        }
        answer.noted(format_args!("only the first {MAX_KEYS} different keys are listed"))
    }
}

/// More keys are not distinguished.
const MAX_KEYS: usize = 100_000;
