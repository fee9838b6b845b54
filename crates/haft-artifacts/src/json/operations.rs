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
use crate::question::with_names;
use crate::table::TableRun;

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
        Err(records) => path_eval::select_in_records(scan, path, &records, &mut sink)?,
    };
    Ok(listing.finish())
}

/// Runs an SQL query over the records, or over those that a path leads to.
pub(super) fn run_table(
    scan: &mut JsonScan,
    source: Option<&JsonPath>,
    mut table: TableRun,
) -> Result<QueryOutput, ScanError> {
    let mut sink = SelectionSink::Table(&mut table);
    let _ = match (source, read_sequence(scan)?) {
        (None, RecordSequence::Children(container)) => sink.push_children(scan, &container)?,
        (None, RecordSequence::Tree(doc)) => sink.push_records(doc.root())?,
        (None, RecordSequence::Large(start)) => sink.push_large(scan, start, 0)?,
        (Some(path), _) => match scan.root() {
            Ok(start) => path_eval::select(scan, path, (start, 0), &mut sink)?,
            Err(records) => path_eval::select_in_records(scan, path, &records, &mut sink)?,
        },
    };
    Ok(table.finish()?)
}

pub(super) fn describe(
    scan: &mut JsonScan,
    (budget, skip): (Budget, u64),
) -> Result<QueryOutput, ScanError> {
    let (line, first) = match read_sequence(scan)? {
        RecordSequence::Children(container) if container.kind == ContainerKind::Lines => {
            let keys = list_keys(scan, (budget, skip))?;
            let line = format!("{} records, one per line", container.count);
            return Ok(with_names(&line, "keys", &keys));
        }
        RecordSequence::Children(list) => {
            let mut first = None;
            let _ = scan.for_each_child(&list, 0, &mut |_, child| {
                if let Child::Tree(view) = child {
                    first = Some(view.to_document());
                }
                Ok(ControlFlow::Break(()))
            })?;
            (format!("a list of {} elements", list.count), first)
        }
        RecordSequence::Tree(doc) if doc.root().kind() == ValueKind::Array => {
            let first = doc.root().item(0).map(ValueRef::to_document);
            (format!("a list of {} elements", doc.root().len()), first)
        }
        RecordSequence::Tree(doc) => return Ok(describe_value(doc.root(), (budget, skip))),
        RecordSequence::Large(_) => {
            let keys = list_keys(scan, (budget, skip))?;
            return Ok(with_names("one value", "keys", &keys));
        }
    };
    let keys = first.as_ref().map(|it| names_of(it.root(), (budget, skip)));
    Ok(with_names(&line, "keys of the first", &keys.unwrap_or_else(QueryOutput::undefined)))
}

/// A value that is no list: its members with their kinds and sizes.
fn describe_value(root: ValueRef<'_>, (budget, skip): (Budget, u64)) -> QueryOutput {
    if root.kind() != ValueKind::Object {
        return QueryOutput::whole("one value without members");
    }
    let mut list = JsonWriter::new();
    list.array(|out| {
        for (name, value) in root.members() {
            let size = match value.kind() {
                ValueKind::Array => format!("{name} (list of {})", value.len()),
                ValueKind::Object => format!("{name} (object)"),
                _ => name.to_owned(),
            };
            out.string(&size);
        }
    });
    let names = QueryOutput::list(list.finish().root().elements(), budget, skip);
    with_names("one object", "keys", &names)
}

fn names_of(value: ValueRef<'_>, (budget, skip): (Budget, u64)) -> QueryOutput {
    let mut list = JsonWriter::new();
    list.array(|out| {
        for (name, _) in value.members() {
            out.string(name);
        }
    });
    QueryOutput::list(list.finish().root().elements(), budget, skip)
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
