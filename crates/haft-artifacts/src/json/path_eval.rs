//! Paths on content that is too large for a tree.

use std::ops::ControlFlow;

use crate::jsonpath::ast::{FilterExpr, SegmentReach, Selector};
use crate::jsonpath::{JsonPath, PathStep, VisitBudget};
use haft_core::artifact::QueryListBuilder;
use haft_core::json::{ValueKind, ValueRef};

use super::children::{CONTINUE, Child, ChildFlow};
use super::container::{Container, ContainerKind};
use super::error::{JsonError, ScanError};
use super::scan::JsonScan;
use crate::table::TableRun;
use crate::tree_record::TreeRecord;

/// What takes the values that a path selects.
pub(super) enum SelectionSink<'l> {
    Listing(&'l mut QueryListBuilder, usize),
    /// Records of an SQL query; of a list, its elements.
    Table(&'l mut TableRun),
}

impl SelectionSink<'_> {
    /// Offers what a path selects in a value.
    pub(super) fn select(
        &mut self,
        path: &JsonPath,
        view: ValueRef<'_>,
        visits: &mut VisitBudget,
    ) -> ChildFlow {
        if path.segments().is_empty() {
            return self.push(view);
        }
        let found = path.select_within(view, visits);
        for value in &found {
            let flow = self.push(value)?;
            if flow.is_break() {
                return Ok(flow);
            }
        }
        if found.truncated().is_some() {
            return Err(JsonError::TooMuchWork.into());
        }
        CONTINUE
    }

    fn push(&mut self, view: ValueRef<'_>) -> ChildFlow {
        match self {
            Self::Listing(listing, _) => Ok(listing.push(view)),
            Self::Table(_) => self.push_records(view),
        }
    }

    /// Offers the elements of a list as records, or any other value as one.
    pub(super) fn push_records(&mut self, view: ValueRef<'_>) -> ChildFlow {
        let Self::Table(table) = self else { return self.push(view) };
        if view.kind() != ValueKind::Array {
            return Ok(table.push(&TreeRecord(view))?);
        }
        for element in view.elements() {
            let flow = table.push(&TreeRecord(element))?;
            if flow.is_break() {
                return Ok(flow);
            }
        }
        CONTINUE
    }

    /// Offers the children of a large list as records.
    pub(super) fn push_children(
        &mut self,
        scan: &mut JsonScan,
        container: &Container,
    ) -> ChildFlow {
        scan.for_each_child(container, 0, &mut |scan, child| match (child, &mut *self) {
            (Child::Tree(view), Self::Table(table)) => Ok(table.push(&TreeRecord(view))?),
            (Child::Tree(view), Self::Listing(listing, _)) => Ok(listing.push(view)),
            (Child::Large(start, depth), sink) => match sink {
                Self::Table(_) => Err(too_large_for_filter(scan, start)),
                Self::Listing(..) => sink.push_large(scan, start, depth),
            },
        })
    }

    /// Offers a value that is too large for a tree.
    pub(super) fn push_large(
        &mut self,
        scan: &mut JsonScan,
        start: u64,
        depth: usize,
    ) -> ChildFlow {
        match self {
            Self::Table(_) => match scan.find_container(start, depth)? {
                Some(list) if list.kind == ContainerKind::Array => self.push_children(scan, &list),
                _ => Err(too_large_for_filter(scan, start)),
            },
            Self::Listing(listing, _) if listing.skips_next() => Ok(listing.push_start_of("", 0)),
            Self::Listing(listing, shown) => {
                let bytes = scan.find_end(start, depth)? - start;
                let text = scan.read_start(start, *shown)?;
                Ok(listing.push_start_of(&text, bytes))
            }
        }
    }

    fn skips_next(&self) -> bool {
        match self {
            Self::Listing(listing, _) => listing.skips_next(),
            Self::Table(_) => false,
        }
    }
}

/// Selects from records, one per line. They are a list for a path that begins with positions, filters or `*`; any other
/// path is evaluated in each of them.
pub(super) fn select_in_records(
    scan: &mut JsonScan,
    path: &JsonPath,
    records: &Container,
    sink: &mut SelectionSink<'_>,
) -> ChildFlow {
    let Some(first) = path.segments().first().filter(|_| path.selects_elements()) else {
        return scan.for_each_child(records, 0, &mut |scan, record| match record {
            Child::Tree(view) => sink.select(path, view, &mut scan.visits),
            Child::Large(start, depth) => select(scan, path, (start, depth), sink),
        });
    };
    let rest = path.without_first(1);
    for selector in &first.selectors {
        let flow = apply(scan, selector, &rest, records, sink)?;
        if flow.is_break() {
            return Ok(flow);
        }
    }
    CONTINUE
}

/// Selects from a value, which is nested in `depth` others, and is the path's `$`.
pub(super) fn select(
    scan: &mut JsonScan,
    path: &JsonPath,
    (start, depth): (u64, usize),
    sink: &mut SelectionSink<'_>,
) -> ChildFlow {
    if let Some(doc) = scan.read_tree(start, depth)? {
        return sink.select(path, doc.root(), &mut scan.visits);
    }
    if path.looks_at_root() {
        return Err(JsonError::TooLarge {
            what: format!(
                "a filter that refers to `$` needs the whole value, and this one has more than {} bytes",
                scan.value_bytes()
            ),
            hint: "ask for what `$` leads to first, and write its value into the filter",
        }
        .into());
    }
    select_large(scan, path, (start, depth), sink)
}

/// Selects from a value of any size.
fn select_from(
    scan: &mut JsonScan,
    path: &JsonPath,
    (start, depth): (u64, usize),
    sink: &mut SelectionSink<'_>,
) -> ChildFlow {
    if path.segments().is_empty() && sink.skips_next() {
        return sink.push_large(scan, start, depth);
    }
    match scan.read_tree(start, depth)? {
        Some(doc) => sink.select(path, doc.root(), &mut scan.visits),
        None => select_large(scan, path, (start, depth), sink),
    }
}

/// Selects from a value that is too large for a tree. Recurses as deep as the content is nested.
fn select_large(
    scan: &mut JsonScan,
    path: &JsonPath,
    (start, depth): (u64, usize),
    sink: &mut SelectionSink<'_>,
) -> ChildFlow {
    let Some(segment) = path.segments().first() else { return sink.push_large(scan, start, depth) };
    let Some(container) = scan.find_container(start, depth)? else { return CONTINUE };
    let rest = path.without_first(1);
    for selector in &segment.selectors {
        scan.check_work()?;
        let flow = apply(scan, selector, &rest, &container, sink)?;
        if flow.is_break() {
            return Ok(flow);
        }
    }
    if segment.reach == SegmentReach::Children {
        return CONTINUE;
    }
    scan.for_each_child(&container, 0, &mut |scan, child| match child {
        Child::Tree(view) => sink.select(path, view, &mut scan.visits),
        Child::Large(start, depth) => select_large(scan, path, (start, depth), sink),
    })
}

/// Applies a selector, and the rest of the path to what it selects.
fn apply(
    scan: &mut JsonScan,
    selector: &Selector,
    rest: &JsonPath,
    container: &Container,
    sink: &mut SelectionSink<'_>,
) -> ChildFlow {
    let list = container.kind != ContainerKind::Object;
    let at = match selector {
        Selector::Step(PathStep::Name(name)) => {
            if list {
                return CONTINUE;
            }
            return match scan.find_member(container, name)? {
                Some(value) => select_from(scan, rest, (value, container.depth), sink),
                None => CONTINUE,
            };
        }
        Selector::Step(PathStep::Wildcard) => return apply_to_all(scan, rest, container, sink),
        Selector::Filter(filter) => {
            return apply_filter(scan, filter, rest, container, sink);
        }
        Selector::Slice(slice) if list => {
            for at in slice.positions(container.count) {
                let flow = apply_at(scan, at, rest, container, sink)?;
                if flow.is_break() {
                    return Ok(flow);
                }
            }
            return CONTINUE;
        }
        Selector::Slice(_) => return CONTINUE,
        Selector::Step(PathStep::Index(at)) => Some(*at),
        Selector::FromEnd(back) => container.count.checked_sub(*back),
    };
    match at.filter(|at| list && *at < container.count) {
        Some(at) => apply_at(scan, at, rest, container, sink),
        None => CONTINUE,
    }
}

fn apply_at(
    scan: &mut JsonScan,
    at: u64,
    rest: &JsonPath,
    list: &Container,
    sink: &mut SelectionSink<'_>,
) -> ChildFlow {
    if rest.segments().is_empty() && sink.skips_next() {
        return sink.push_large(scan, 0, 0);
    }
    if list.kind == ContainerKind::Lines {
        let mut flow = ControlFlow::Continue(());
        let _ = scan.for_each_child(list, at, &mut |scan, child| {
            flow = match child {
                Child::Tree(view) => sink.select(rest, view, &mut scan.visits)?,
                Child::Large(start, depth) => select_large(scan, rest, (start, depth), sink)?,
            };
            Ok(ControlFlow::Break(()))
        })?;
        return Ok(flow);
    }
    let place = scan.find_child(list, at)?;
    select_from(scan, rest, (place, list.depth), sink)
}

fn apply_to_all(
    scan: &mut JsonScan,
    rest: &JsonPath,
    container: &Container,
    sink: &mut SelectionSink<'_>,
) -> ChildFlow {
    let mut from = 0;
    if rest.segments().is_empty() && container.kind != ContainerKind::Object {
        while from < container.count && sink.skips_next() {
            let _ = sink.push_large(scan, 0, 0)?;
            from += 1;
        }
    }
    scan.for_each_child(container, from, &mut |scan, child| match child {
        Child::Tree(view) => sink.select(rest, view, &mut scan.visits),
        Child::Large(start, depth) => select_large(scan, rest, (start, depth), sink),
    })
}

fn apply_filter(
    scan: &mut JsonScan,
    filter: &FilterExpr,
    rest: &JsonPath,
    container: &Container,
    sink: &mut SelectionSink<'_>,
) -> ChildFlow {
    scan.for_each_child(container, 0, &mut |scan, child| match child {
        Child::Tree(view) if filter.holds_within(view, &mut scan.visits)? => {
            sink.select(rest, view, &mut scan.visits)
        }
        Child::Tree(_) => CONTINUE,
        Child::Large(start, _) => Err(too_large_for_filter(scan, start)),
    })
}

/// Filters and SQL look at trees.
fn too_large_for_filter(scan: &JsonScan, start: u64) -> ScanError {
    let most = scan.value_bytes();
    JsonError::TooLarge {
        what: format!(
            "the value at byte {start} has more than {most} bytes, too many for a filter"
        ),
        hint: "select it by name or index, and filter what is in it",
    }
    .into()
}
