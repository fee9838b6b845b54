//! The children of large containers, one after the other, as trees where they are small enough.

use std::ops::ControlFlow;

use haft_core::json::{Document, ValueRef};

use super::container::{self, Container, ContainerKind, MemberOffset};
use super::error::{JsonError, ScanError};
use super::json_lines::{self, LineRecord};
use super::scan::{JsonScan, parse, unreadable_value};
use super::validate;

/// Whether to continue.
pub(super) type ChildFlow = Result<ControlFlow<()>, ScanError>;

/// Continues with the next child.
pub(super) const CONTINUE: ChildFlow = Ok(ControlFlow::Continue(()));

/// A child of a container.
#[derive(Clone, Copy)]
pub(super) enum Child<'d> {
    Tree(ValueRef<'d>),
    /// Too large for a tree: the place where it begins, and how many containers are around it.
    Large(u64, usize),
}

impl JsonScan {
    /// Visits the children from index `from` on, until `take` stops.
    pub(super) fn for_each_child(
        &mut self,
        container: &Container,
        from: u64,
        take: &mut dyn FnMut(&mut Self, Child<'_>) -> ChildFlow,
    ) -> ChildFlow {
        if from >= container.count {
            return CONTINUE;
        }
        let start = self.find_child(container, from)?;
        match container.kind {
            ContainerKind::Array => self.for_each_element(container, start, take),
            ContainerKind::Object => self.for_each_member(container, start, take),
            ContainerKind::Lines => self.for_each_record(start, take),
        }
    }

    fn for_each_record(
        &mut self,
        start: u64,
        take: &mut dyn FnMut(&mut Self, Child<'_>) -> ChildFlow,
    ) -> ChildFlow {
        let mut next = start;
        loop {
            self.cursor.clear_end();
            self.cursor.seek(next);
            let Some(LineRecord { start, end }) = json_lines::next_record(&mut self.cursor)? else {
                return CONTINUE;
            };
            next = end;
            let flow = match self.read_tree(start, 0)? {
                Some(doc) => {
                    json_lines::expect_end(&mut self.cursor)?;
                    take(self, Child::Tree(doc.root()))?
                }
                None => take(self, Child::Large(start, 0))?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
    }

    fn for_each_member(
        &mut self,
        object: &Container,
        start: u64,
        take: &mut dyn FnMut(&mut Self, Child<'_>) -> ChildFlow,
    ) -> ChildFlow {
        let mut offset = start;
        loop {
            self.cursor.seek(offset);
            let hash = container::read_name(&mut self.cursor)?.hash();
            let value = self.cursor.offset();
            let Some(replaced) = object.is_replaced(MemberOffset { hash, offset }) else {
                return Err(too_many_members(object).into());
            };
            let doc = self.read_tree(value, object.depth)?;
            let end = match doc {
                Some(_) => self.cursor.offset(),
                None => self.find_end(value, object.depth)?,
            };
            if !replaced {
                let child = match &doc {
                    Some(doc) => Child::Tree(doc.root()),
                    None => Child::Large(value, object.depth),
                };
                let flow = take(self, child)?;
                if flow.is_break() {
                    return Ok(flow);
                }
            }
            self.cursor.seek(end);
            if validate::skip_separator(&mut self.cursor, true)? {
                return CONTINUE;
            }
            offset = self.cursor.offset();
        }
    }

    fn for_each_element(
        &mut self,
        array: &Container,
        start: u64,
        take: &mut dyn FnMut(&mut Self, Child<'_>) -> ChildFlow,
    ) -> ChildFlow {
        let mut next = Some(start);
        while let Some(start) = next {
            let batch = self.read_batch(array, start)?;
            next = batch.next;
            match batch.doc {
                Some(doc) => {
                    for element in doc.root().elements() {
                        let flow = take(self, Child::Tree(element))?;
                        if flow.is_break() {
                            return Ok(flow);
                        }
                    }
                }
                None => {
                    let flow = take(self, Child::Large(start, array.depth))?;
                    if flow.is_break() {
                        return Ok(flow);
                    }
                    let end = self.find_end(start, array.depth)?;
                    self.cursor.seek(end);
                    let last = validate::skip_separator(&mut self.cursor, false)?;
                    next = (!last).then(|| self.cursor.offset());
                }
            }
        }
        CONTINUE
    }

    /// Some elements of a list as a list of their own.
    fn read_batch(&mut self, array: &Container, start: u64) -> Result<ElementBatch, ScanError> {
        self.cursor.seek(start);
        self.cursor.mark();
        let gathered = self.measure_batch(array, start);
        let batch = match &gathered {
            Ok(gathered) if gathered.end > start => {
                let elements = self.cursor.window_bytes_at(start, gathered.end);
                let mut text = Vec::with_capacity(elements.len() + 2);
                text.push(b'[');
                text.extend_from_slice(elements);
                text.push(b']');
                Some(parse(text))
            }
            _ => None,
        };
        self.cursor.unmark();
        let gathered = gathered?;
        match batch {
            None => Ok(ElementBatch { doc: None, next: None }),
            Some(Some(doc)) => Ok(ElementBatch { doc: Some(doc), next: gathered.next }),
            Some(None) => {
                self.cursor.seek(start);
                while self.cursor.offset() < gathered.end {
                    validate::value(&mut self.cursor, array.depth)?;
                    validate::skip_separator(&mut self.cursor, false)?;
                }
                Err(unreadable_value(start))
            }
        }
    }

    /// Finds elements that fit into one tree. None of them if the first is too large for that.
    fn measure_batch(&mut self, array: &Container, start: u64) -> Result<BatchExtent, ScanError> {
        let mut gathered = BatchExtent { end: start, next: None };
        loop {
            let element = self.cursor.offset();
            let limit = element.saturating_add(self.limits.value as u64);
            let skipped = self.cursor.skip_value(array.depth, limit)?;
            let end = self.cursor.offset();
            if skipped.is_none() || end > limit {
                gathered.next = Some(element);
                return Ok(gathered);
            }
            gathered.end = end;
            let last = validate::skip_separator(&mut self.cursor, false)?;
            gathered.next = (!last).then(|| self.cursor.offset());
            if last || end - start >= self.limits.batch as u64 {
                return Ok(gathered);
            }
        }
    }
}

struct BatchExtent {
    /// After the last element that fits.
    end: u64,
    next: Option<u64>,
}

struct ElementBatch {
    doc: Option<Document>,
    next: Option<u64>,
}

fn too_many_members(object: &Container) -> JsonError {
    JsonError::TooLarge {
        what: format!("an object of {} members is too large for this path", object.count),
        hint: "name the member that you look for",
    }
}
