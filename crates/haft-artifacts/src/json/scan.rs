//! Walks content that is too large for a tree, and makes trees of the parts that are not.

use std::sync::Arc;

use crate::jsonpath::VisitBudget;
use haft_core::json::Document;

use super::blocking_source::BlockingSource;
use super::cache::JsonCache;
use super::container::{self, Container, ContainerKind, SurveyedContainers};
use super::cursor::ContentCursor;
use super::error::{FaultReason, InvalidJson, JsonError, JsonFault, ScanError};
use super::json_lines;
use super::notation::{self, ContentRoot, JsonNotation};
use super::validate;
use crate::content_view::visit_budget;
use crate::invariant;
use crate::scan::saturating_len;

/// What is held in memory at once, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonLimits {
    /// What is read at once.
    pub(super) window: usize,
    /// The largest value of which a tree is made.
    pub(super) value: usize,
    /// The largest content that is validated before the first result.
    pub(super) strict: u64,
    /// How much of a list becomes one tree.
    pub(super) batch: usize,
    /// How many values a query may look at; by default the size of the content decides.
    pub(super) visits: Option<u64>,
}

impl JsonLimits {
    pub(super) const fn new() -> Self {
        Self {
            window: 256 * 1024,
            value: 2 * 1024 * 1024,
            strict: 16 * 1024 * 1024,
            batch: 64 * 1024,
            visits: None,
        }
    }
}

/// A query at work.
pub(super) struct JsonScan {
    pub(super) cursor: ContentCursor,
    cache: Arc<JsonCache>,
    pub(super) limits: JsonLimits,
    pub(super) content_root: ContentRoot,
    /// The child that was looked for last: its container's start, its number, where it begins.
    last_place: Option<(u64, u64, u64)>,
    /// How many values the query may still look at.
    pub(super) visits: VisitBudget,
}

impl JsonScan {
    /// Looks at the content, unless that was done before.
    pub(super) fn open(
        source: BlockingSource,
        declared: Option<JsonNotation>,
        limits: JsonLimits,
        cache: Arc<JsonCache>,
    ) -> Result<Self, JsonError> {
        let mut cursor = ContentCursor::new(source, limits.window);
        let content_root = match cache.opened_as(declared) {
            Some(known) => known?,
            None => open_first(&mut cursor, declared, &limits, &cache)?,
        };
        let visits = limits.visits.map_or_else(|| visit_budget(cursor.length()), VisitBudget::new);
        Ok(Self { cursor, cache, limits, content_root, last_place: None, visits })
    }

    /// Where the root begins; `None` if there are records instead.
    pub(super) fn root(&self) -> Result<u64, Arc<Container>> {
        match &self.content_root {
            ContentRoot::Value(start) => Ok(*start),
            ContentRoot::Lines(records) => Err(Arc::clone(records)),
        }
    }

    /// The tree of a value, which is nested in `depth` others; `None` if it is too large.
    pub(super) fn read_tree(
        &mut self,
        start: u64,
        depth: usize,
    ) -> Result<Option<Document>, ScanError> {
        let limit = start.saturating_add(self.limits.value as u64);
        if self.cache.container_at(start).is_some_and(|it| it.end > limit) {
            return Ok(None);
        }
        self.cursor.seek(start);
        self.cursor.mark();
        let skipped = self.cursor.skip_value(depth, limit);
        let bytes = self.cursor.bytes_since_mark();
        let doc = match &skipped {
            Ok(Some(())) if bytes.len() <= self.limits.value => Some(parse(bytes.to_vec())),
            _ => None,
        };
        self.cursor.unmark();
        skipped?;
        match doc {
            None => Ok(None),
            Some(Some(doc)) => Ok(Some(doc)),
            Some(None) => {
                self.cursor.seek(start);
                validate::value(&mut self.cursor, depth)?;
                Err(unreadable_value(start))
            }
        }
    }

    /// What is known of a large list or object; `None` if it is a string or a number.
    pub(super) fn find_container(
        &mut self,
        start: u64,
        depth: usize,
    ) -> Result<Option<Arc<Container>>, ScanError> {
        if let Some(known) = self.cache.container_at(start) {
            return Ok(Some(known));
        }
        self.cursor.seek(start);
        if !matches!(self.cursor.peek()?, Some(b'{' | b'[')) {
            return Ok(None);
        }
        let mut surveyed = surveyed(&self.limits);
        container::survey(&mut self.cursor, depth, &mut surveyed)?;
        let own = surveyed.containers.last().map(Arc::clone);
        self.cache.store_containers(surveyed.containers);
        Ok(own.filter(|it| it.start == start))
    }

    /// What is known already of a list or an object.
    pub(super) fn known_container(&self, start: u64) -> Option<Arc<Container>> {
        self.cache.container_at(start)
    }

    /// After the last byte of a value.
    pub(super) fn find_end(&mut self, start: u64, depth: usize) -> Result<u64, ScanError> {
        if let Some(container) = self.find_container(start, depth)? {
            return Ok(container.end);
        }
        self.cursor.seek(start);
        self.cursor.skip_value(depth, u64::MAX)?;
        Ok(self.cursor.offset())
    }

    /// Where a child begins.
    pub(super) fn find_child(
        &mut self,
        container: &Container,
        child: u64,
    ) -> Result<u64, ScanError> {
        let Some((mut offset, mut pass)) = container.locate(child) else {
            return Ok(container.end);
        };
        if let Some((start, last, place)) = self.last_place
            && start == container.start
            && child.checked_sub(last).is_some_and(|it| it < pass)
        {
            (offset, pass) = (place, child - last);
        }
        self.cursor.seek(offset);
        for _ in 0..pass {
            match container.kind {
                ContainerKind::Lines => {
                    if let Some(record) = json_lines::next_record(&mut self.cursor)? {
                        json_lines::skip_record(&mut self.cursor, record);
                    }
                }
                kind => {
                    let object = kind == ContainerKind::Object;
                    if object {
                        container::read_name(&mut self.cursor)?;
                    }
                    self.cursor.skip_value(container.depth, u64::MAX)?;
                    validate::skip_separator(&mut self.cursor, object)?;
                }
            }
        }
        let place = self.cursor.offset();
        self.last_place = Some((container.start, child, place));
        Ok(place)
    }

    /// Where the value of a member begins.
    pub(super) fn find_member(
        &mut self,
        object: &Container,
        wanted: &str,
    ) -> Result<Option<u64>, ScanError> {
        if let Some(candidates) = object.candidates(wanted) {
            for offset in candidates {
                self.cursor.seek(offset);
                let name = container::read_name(&mut self.cursor)?;
                if matches!(name, container::MemberName::Short(name) if name == wanted) {
                    return Ok(Some(self.cursor.offset()));
                }
            }
            return Ok(None);
        }
        let mut found = None;
        self.cursor.seek(object.start + 1);
        self.cursor.skip_space()?;
        loop {
            let name = container::read_name(&mut self.cursor)?;
            if matches!(&name, container::MemberName::Short(name) if name == wanted) {
                found = Some(self.cursor.offset());
            }
            self.cursor.skip_value(object.depth, u64::MAX)?;
            if validate::skip_separator(&mut self.cursor, true)? {
                return Ok(found);
            }
        }
    }

    /// The first bytes of a value as text.
    pub(super) fn read_start(&mut self, start: u64, bytes: usize) -> Result<String, ScanError> {
        self.cursor.seek(start);
        self.cursor.ensure(bytes)?;
        let rest = self.cursor.rest();
        let shown = rest.get(..bytes).unwrap_or(rest);
        // A character that is cut in half is omitted.
        let whole = match str::from_utf8(shown) {
            Err(error) if error.error_len().is_none() => {
                invariant::slice(shown, ..error.valid_up_to())
            }
            _ => shown,
        };
        Ok(String::from_utf8_lossy(whole).into_owned())
    }

    /// Ends a query that reads the content over and over.
    pub(super) fn check_work(&self) -> Result<(), ScanError> {
        let most = self.cursor.length().saturating_mul(MAX_PASSES).max(MAX_READ);
        if self.cursor.bytes_read() > most {
            return Err(JsonError::TooMuchWork.into());
        }
        Ok(())
    }

    /// How many bytes of a value are held at most.
    pub(super) fn value_bytes(&self) -> usize {
        self.limits.value
    }

    /// Says where something is wrong.
    pub(super) fn locate_error(&mut self, error: ScanError) -> JsonError {
        locate_error(&mut self.cursor, self.content_root.notation(), error)
    }
}

fn open_first(
    cursor: &mut ContentCursor,
    declared: Option<JsonNotation>,
    limits: &JsonLimits,
    cache: &JsonCache,
) -> Result<ContentRoot, JsonError> {
    let mut surveyed = surveyed(limits);
    match notation::open_content(cursor, declared, limits, &mut surveyed) {
        Ok(opened) => {
            cache.store_containers(surveyed.containers);
            cache.store_opened(declared, Ok(opened.clone()));
            Ok(opened)
        }
        Err(unfit) => {
            let error = locate_error(cursor, unfit.notation, unfit.error);
            if let JsonError::Content(error) = &error {
                cache.store_opened(declared, Err(error.clone()));
            }
            Err(error)
        }
    }
}

/// Puts a fault into words, with its line and column.
fn locate_error(cursor: &mut ContentCursor, notation: JsonNotation, error: ScanError) -> JsonError {
    let JsonFault { reason, offset } = match error {
        ScanError::Query(error) => return error,
        ScanError::Fault(fault) => fault,
    };
    let mut line = 1;
    let mut column = 1;
    cursor.clear_end();
    cursor.seek(0);
    while cursor.offset() < offset {
        match cursor.ensure(1) {
            Err(error) => return error.into(),
            Ok(()) if cursor.rest().is_empty() => break,
            Ok(()) => {}
        }
        let left = saturating_len(offset - cursor.offset());
        let mut piece = cursor.rest();
        piece = piece.get(..left).unwrap_or(piece);
        let len = piece.len();
        if let Some(last) = memchr::memrchr(b'\n', piece) {
            (line, column) = (line + haft_core::spool::count_newlines(piece), 1);
            piece = invariant::slice(piece, last + 1..);
        }
        // Every byte that does not continue a character.
        column += piece.iter().filter(|byte| **byte & 0xC0 != 0x80).count() as u64;
        cursor.advance(len);
    }
    let truncated = reason.is_truncation() && offset >= cursor.length();
    let reason = reason.to_string();
    InvalidJson { notation, line, column, offset, reason, truncated }.into()
}

/// A tree of bytes that should be JSON.
pub(super) fn parse(bytes: Vec<u8>) -> Option<Document> {
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Document::parse_owned(text).ok()
}

fn surveyed(limits: &JsonLimits) -> SurveyedContainers {
    let least_bytes = (64 * 1024).min(limits.value as u64);
    SurveyedContainers { containers: Vec::new(), least_bytes }
}

/// For values that are well-formed and still have no tree; their text would have to be out of bounds.
pub(super) fn unreadable_value(offset: u64) -> ScanError {
    JsonFault { reason: FaultReason::Other("the value cannot be read"), offset }.into()
}

/// How often a query may read the content.
const MAX_PASSES: u64 = 256;
const MAX_READ: u64 = 64 * 1024 * 1024;
