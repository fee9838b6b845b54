//! Following segments through a document, one value at a time.
//!
//! What is still to be done stands on a stack on the heap, so that the depth of a document costs no
//! call frames, and the walk can stop after any value.

use super::PathStep;
use super::ast::{FilterExpr, Segment, SegmentReach, Selector, Slice};
use super::children::{ChildSurvey, Children, is_container};
use super::pattern::FilterPattern;
use haft_core::invariant::OrReport as _;
use haft_core::json::{Elements, ValueRef};

/// How many values may still be looked at. Evaluations that share a budget share its bound: one query over many records
/// costs no more than one query may cost.
///
/// ```
/// use haft_core::json::Document;
/// use haft_artifacts::jsonpath::{JsonPath, VisitBudget};
///
/// let record = Document::parse(r#"{"tags": ["a", "b", "c"]}"#)?;
/// let path = JsonPath::parse("$.tags[?@ == 'c']")?;
/// let mut budget = VisitBudget::new(20);
/// let mut records = 0;
/// while path.matches_within(record.root(), &mut budget).is_ok() {
///     records += 1;
/// }
/// assert!(records > 1 && budget.left() == 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisitBudget {
    left: u64,
}

/// Every value that a [`VisitBudget`] allows was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the path looks at more values than are allowed")]
#[non_exhaustive]
pub struct VisitsExhausted;

impl VisitBudget {
    /// Allows looking at this many values.
    #[must_use]
    pub const fn new(visits: u64) -> Self {
        Self { left: visits }
    }

    /// How many values may still be looked at.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.left
    }

    /// Takes the budget for an evaluation, which returns what it has not used.
    pub(super) const fn take(&mut self) -> Self {
        let left = std::mem::replace(&mut self.left, 0);
        Self { left }
    }

    /// Charges for looking at this many values.
    #[inline]
    pub(super) fn values(&mut self, count: usize) -> Result<(), VisitsExhausted> {
        match self.left.checked_sub(count as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(VisitsExhausted)
            }
        }
    }

    /// Charges for reading a string: every 64 bytes count as a value.
    pub(super) fn text(&mut self, bytes: usize) -> Result<(), VisitsExhausted> {
        self.values(bytes / 64)
    }
}

/// What one evaluation shares with the queries in its filters.
#[derive(Debug)]
pub(super) struct PathEvaluation<'p, 'd> {
    pub(super) root: ValueRef<'d>,
    pub(super) work: VisitBudget,
    /// The last pattern that came from the document.
    pub(super) found_pattern: Option<FilterPattern>,
    /// Empty stacks for the queries in filters.
    spare: Vec<Vec<WalkFrame<'p, 'd>>>,
}

impl<'d> PathEvaluation<'_, 'd> {
    pub(super) const fn new(root: ValueRef<'d>, work: VisitBudget) -> Self {
        Self { root, work, found_pattern: None, spare: Vec::new() }
    }
}

/// Segments on their way through a document.
#[derive(Debug)]
pub(super) struct PathWalk<'p, 'd> {
    segments: &'p [Segment],
    /// Where to begin, until that is done.
    origin: Option<ValueRef<'d>>,
    stack: Vec<WalkFrame<'p, 'd>>,
}

/// Something that is still to be done; `at` is the position of the segment.
#[derive(Debug)]
enum WalkFrame<'p, 'd> {
    /// Apply what is left of the segment's selectors to `node`.
    Select {
        at: usize,
        node: ValueRef<'d>,
        cursor: SelectorCursor<'p, 'd>,
        selectors: &'p [Selector],
    },
    /// Visit what is left of the children, and everything below them.
    Descend { at: usize, children: Children<'d> },
}

/// How far one selector is.
#[derive(Debug)]
enum SelectorCursor<'p, 'd> {
    Done,
    One(ValueRef<'d>),
    All(Children<'d>),
    Filter(&'p FilterExpr, Children<'d>),
    /// `skip` elements before the next, `left` more to come.
    Forward {
        elements: Elements<'d>,
        skip: usize,
        step: usize,
        left: usize,
    },
    /// Still to come, the next one last.
    Backward(Vec<ValueRef<'d>>),
}

impl<'p, 'd> PathWalk<'p, 'd> {
    pub(super) fn new(
        segments: &'p [Segment],
        origin: ValueRef<'d>,
        evaluation: &mut PathEvaluation<'p, 'd>,
    ) -> Self {
        let stack = evaluation.spare.pop().unwrap_or_default();
        Self { segments, origin: Some(origin), stack }
    }

    /// Hands the stack back for the next walk.
    pub(super) fn finish(mut self, evaluation: &mut PathEvaluation<'p, 'd>) {
        self.stack.clear();
        evaluation.spare.push(self.stack);
    }

    /// The next value.
    pub(super) fn next(
        &mut self,
        evaluation: &mut PathEvaluation<'p, 'd>,
    ) -> Result<Option<ValueRef<'d>>, VisitsExhausted> {
        if let Some(origin) = self.origin.take()
            && let Some(found) = self.apply_segments(0, origin, &mut evaluation.work)?
        {
            return Ok(Some(found));
        }
        loop {
            let found = match self.stack.last_mut() {
                None => return Ok(None),
                Some(WalkFrame::Descend { at, children }) => {
                    let at = *at;
                    match children.find(|it| is_container(*it)) {
                        Some(child) => self.visit_descendants(at, child, &mut evaluation.work)?,
                        None => {
                            self.stack.pop();
                            None
                        }
                    }
                }
                Some(WalkFrame::Select { at, node, cursor, selectors }) => {
                    match cursor.next(evaluation)? {
                        Some(child) => {
                            let at = *at + 1;
                            self.apply_segments(at, child, &mut evaluation.work)?
                        }
                        None => {
                            match selectors.split_first() {
                                Some((selector, rest)) => {
                                    *selectors = rest;
                                    *cursor =
                                        SelectorCursor::new(selector, *node, &mut evaluation.work)?;
                                }
                                None => {
                                    self.stack.pop();
                                }
                            }
                            None
                        }
                    }
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// Applies the segments from `at` on to a value. Steps to a single child are taken at once; a
    /// value that has passed all segments is the answer.
    #[inline]
    fn apply_segments(
        &mut self,
        mut at: usize,
        mut node: ValueRef<'d>,
        work: &mut VisitBudget,
    ) -> Result<Option<ValueRef<'d>>, VisitsExhausted> {
        while let Some(segment) = self.segments.get(at) {
            match segment.only_child() {
                Some(selector) if selector.is_singular() => {
                    let Some(child) = select_child(node, selector, work)? else { return Ok(None) };
                    node = child;
                    at += 1;
                }
                _ if node.is_empty() => return Ok(None),
                _ if segment.reach == SegmentReach::Descendants => {
                    return self.visit_descendants(at, node, work);
                }
                _ => {
                    let selectors = &segment.selectors;
                    self.stack.push(WalkFrame::Select {
                        at,
                        node,
                        cursor: SelectorCursor::Done,
                        selectors,
                    });
                    return Ok(None);
                }
            }
        }
        Ok(Some(node))
    }

    /// Applies a descendant segment to a list or an object: first its own children, then the rest.
    fn visit_descendants(
        &mut self,
        at: usize,
        node: ValueRef<'d>,
        work: &mut VisitBudget,
    ) -> Result<Option<ValueRef<'d>>, VisitsExhausted> {
        work.values(node.len())?;
        let Some(segment) = self.segments.get(at) else { return Ok(None) };
        let wanted = match segment.selectors.as_slice() {
            [Selector::Step(PathStep::Name(name))] => Some(&**name),
            _ => None,
        };
        let survey = ChildSurvey::of(node, wanted);
        if let Some(children) = survey.nested {
            self.stack.push(WalkFrame::Descend { at, children });
        }
        if wanted.is_some() {
            let Some(child) = survey.member else { return Ok(None) };
            if self.segments.len() == at + 1 {
                return Ok(Some(child));
            }
            // Taken up by the loop: entering from here would be a recursion.
            let cursor = SelectorCursor::One(child);
            self.stack.push(WalkFrame::Select { at, node, cursor, selectors: &[] });
            return Ok(None);
        }
        let selectors = &segment.selectors;
        self.stack.push(WalkFrame::Select { at, node, cursor: SelectorCursor::Done, selectors });
        Ok(None)
    }
}

/// The child that a selector of at most one child selects.
#[inline]
pub(super) fn select_child<'d>(
    node: ValueRef<'d>,
    selector: &Selector,
    work: &mut VisitBudget,
) -> Result<Option<ValueRef<'d>>, VisitsExhausted> {
    let len = node.len();
    if len == 0 {
        return Ok(None);
    }
    let index = match selector {
        Selector::Step(PathStep::Name(name)) => {
            work.values(len)?;
            return Ok(node.get(name));
        }
        Selector::Step(PathStep::Index(index)) => {
            usize::try_from(*index).ok().filter(|it| *it < len)
        }
        Selector::FromEnd(back) => {
            usize::try_from(*back).ok().and_then(|back| len.checked_sub(back))
        }
        _ => None,
    };
    let Some(index) = index else { return Ok(None) };
    // Elements in front of it are passed over one by one.
    work.values(index + 1)?;
    Ok(node.item(index))
}

impl<'p, 'd> SelectorCursor<'p, 'd> {
    fn new(
        selector: &'p Selector,
        node: ValueRef<'d>,
        work: &mut VisitBudget,
    ) -> Result<Self, VisitsExhausted> {
        Ok(match selector {
            Selector::Step(PathStep::Wildcard) => {
                work.values(node.len())?;
                Self::All(Children::of(node))
            }
            Selector::Filter(expr) => {
                work.values(node.len())?;
                Self::Filter(expr, Children::of(node))
            }
            Selector::Slice(slice) => {
                let elements = node.elements();
                work.values(elements.len())?;
                Self::slice_cursor(*slice, elements)
            }
            Selector::Step(_) | Selector::FromEnd(_) => {
                select_child(node, selector, work)?.map_or(Self::Done, Self::One)
            }
        })
    }

    fn slice_cursor(slice: Slice, mut elements: Elements<'d>) -> Self {
        let len = i64::try_from(elements.len()).or_report("a length fits `i64`", i64::MAX);
        let absolute = |it: i64| if it < 0 { len.saturating_add(it) } else { it };
        let start = slice.start.map(absolute);
        let end = slice.end.map(absolute);
        let size = |it: i64| {
            usize::try_from(it.max(0)).or_report_default("a position in a list fits memory")
        };
        // A step that does not fit memory is longer than every list.
        let step = slice.step.unsigned_abs().min(usize::MAX as u64) as usize;
        if slice.step > 0 {
            let start = start.unwrap_or(0).clamp(0, len);
            let end = end.unwrap_or(len).clamp(0, len);
            let left = size(end - start).div_ceil(step);
            return Self::Forward { elements, skip: size(start), step, left };
        }
        if slice.step == 0 {
            return Self::Done;
        }
        // Downwards from `start` to just above `end`, which may be one before the first.
        let start = start.unwrap_or(len - 1).clamp(-1, len - 1);
        let end = end.unwrap_or(-1).clamp(-1, len - 1);
        let count = size(start - end).div_ceil(step);
        let Some(lowest) = count.checked_sub(1).map(|it| size(start) - it * step) else {
            return Self::Done;
        };
        // Elements are found from the front: gathered upwards, taken downwards.
        let first = elements.nth(lowest);
        let mut found = Vec::with_capacity(count);
        found.extend(first);
        found.extend((1..count).filter_map(|_| elements.nth(step - 1)));
        Self::Backward(found)
    }

    fn next(
        &mut self,
        evaluation: &mut PathEvaluation<'p, 'd>,
    ) -> Result<Option<ValueRef<'d>>, VisitsExhausted> {
        match self {
            Self::Done => Ok(None),
            Self::One(view) => {
                let view = *view;
                *self = Self::Done;
                Ok(Some(view))
            }
            Self::All(children) => Ok(children.next()),
            Self::Filter(expr, children) => {
                for child in children {
                    if expr.holds(child, evaluation)? {
                        return Ok(Some(child));
                    }
                }
                Ok(None)
            }
            Self::Forward { elements, skip, step, left } => {
                let Some(fewer) = left.checked_sub(1) else { return Ok(None) };
                *left = fewer;
                let found = elements.nth(*skip);
                *skip = *step - 1;
                Ok(found)
            }
            Self::Backward(views) => Ok(views.pop()),
        }
    }
}
