//! The parts of a path, for evaluation on a text that is too large for a tree.

use super::JsonPath;
use super::ast::{FilterExpr, Segment, SegmentReach, Selector, Slice};
use super::walk::{PathEvaluation, VisitBudget, VisitsExhausted};
use super::{PathStep, SelectionLimits};
use crate::invariant::OrReport as _;
use crate::json::ValueRef;

impl JsonPath {
    /// How many segments the path has; none if it is `$`.
    #[must_use]
    pub fn segment_count(&self) -> usize {
        self.segments().len()
    }

    /// A segment.
    #[must_use]
    pub fn segment(&self, at: usize) -> Option<SegmentRef<'_>> {
        self.segments().get(at).map(SegmentRef)
    }

    /// The path without its first `count` segments; `$` if there are no more.
    ///
    /// Evaluated on the values that those segments lead to, it selects what the whole path selects,
    /// unless the path [looks at the root](JsonPath::looks_at_root).
    ///
    /// ```
    /// use haft_core::jsonpath::JsonPath;
    ///
    /// let path = JsonPath::parse("$.items[-1].tags[*]")?;
    /// assert_eq!(path.without_first(2).to_string(), "$.tags[*]");
    /// # Ok::<(), haft_core::jsonpath::PathError>(())
    /// ```
    #[must_use]
    pub fn without_first(&self, count: usize) -> Self {
        let start = self.start.saturating_add(count).min(self.segments.len());
        Self::starting_at(std::sync::Arc::clone(&self.segments), start)
    }

    /// Whether a filter refers to `$`.
    #[must_use]
    pub fn looks_at_root(&self) -> bool {
        self.segments().iter().any(Segment::looks_at_root)
    }
}

/// A segment of a path: selectors of children.
#[derive(Clone, Copy, Debug)]
pub struct SegmentRef<'p>(&'p Segment);

impl<'p> SegmentRef<'p> {
    /// Whether the selectors are applied to the value and to everything below it (`..`): first to the
    /// value's own children, then to each child that has children, in document order.
    #[must_use]
    pub fn is_descendant(self) -> bool {
        self.0.reach == SegmentReach::Descendants
    }

    /// What is selected, in this order; at least one.
    #[must_use]
    pub fn selectors(self) -> impl ExactSizeIterator<Item = SelectorRef<'p>> {
        self.0.selectors.iter().map(|selector| match selector {
            Selector::Step(PathStep::Name(name)) => SelectorRef::Name(name),
            Selector::Step(PathStep::Index(at)) => SelectorRef::Index(*at),
            Selector::Step(PathStep::Wildcard) => SelectorRef::Wildcard,
            Selector::FromEnd(back) => SelectorRef::FromEnd(*back),
            Selector::Slice(slice) => SelectorRef::Slice(SliceRef(slice)),
            Selector::Filter(expr) => SelectorRef::Filter(FilterRef(expr)),
        })
    }
}

/// Which children are selected.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "code that evaluates a path must handle every selector"
)]
pub enum SelectorRef<'p> {
    /// The member of this name. Of members with the same name the last one counts.
    Name(&'p str),
    /// The element at this position.
    Index(u64),
    /// The element this far from the end; `1` is the last.
    FromEnd(u64),
    /// All children. Of members with the same name the last one counts.
    Wildcard,
    /// Elements at regular distances.
    Slice(SliceRef<'p>),
    /// The children for which something holds. Of members with the same name the last one counts.
    Filter(FilterRef<'p>),
}

/// A slice selector.
#[derive(Clone, Copy, Debug)]
pub struct SliceRef<'p>(&'p Slice);

impl SliceRef<'_> {
    /// The positions that it selects in a list of so many elements, in order.
    #[must_use]
    pub fn positions(self, len: u64) -> impl ExactSizeIterator<Item = u64> {
        let (first, step, count) = self.0.range(len.min(i64::MAX.unsigned_abs()).cast_signed());
        let count =
            usize::try_from(count).or_report("a count is positive and fits memory", usize::MAX);
        (0..count).map(move |at| {
            let at = i64::try_from(at).or_report("a count came from an `i64`", i64::MAX);
            u64::try_from(first.saturating_add(at.saturating_mul(step)))
                .or_report_default("positions lie in the list")
        })
    }
}

impl Slice {
    /// The first position, the distance to the next, and how many there are.
    pub(super) fn range(&self, len: i64) -> (i64, i64, i64) {
        let absolute = |it: i64| if it < 0 { len.saturating_add(it) } else { it };
        let (start, end) = (self.start.map(absolute), self.end.map(absolute));
        let distance = self.step.saturating_abs();
        let count = |span: i64| if span <= 0 { 0 } else { (span - 1) / distance + 1 };
        if self.step > 0 {
            let start = start.unwrap_or(0).clamp(0, len);
            let end = end.unwrap_or(len).clamp(0, len);
            (start, distance, count(end - start))
        } else if self.step < 0 {
            let start = start.unwrap_or(len - 1).clamp(-1, len - 1);
            let end = end.unwrap_or(-1).clamp(-1, len - 1);
            (start, -distance, count(start - end))
        } else {
            (0, 1, 0)
        }
    }
}

/// A filter selector.
#[derive(Clone, Copy, Debug)]
pub struct FilterRef<'p>(&'p FilterExpr);

impl FilterRef<'_> {
    /// Whether it holds for a value, which is both `@` and `$`. False if that was not found out within
    /// the default [`SelectionLimits`].
    #[must_use]
    pub fn holds(self, view: ValueRef<'_>) -> bool {
        let mut budget = VisitBudget::new(SelectionLimits::default().max_nodes_visited);
        self.holds_within(view, &mut budget).unwrap_or(false)
    }

    /// Whether it holds for a value, which is both `@` and `$`, within a budget.
    ///
    /// # Errors
    ///
    /// The budget is used up before that is known.
    pub fn holds_within(
        self,
        view: ValueRef<'_>,
        budget: &mut VisitBudget,
    ) -> Result<bool, VisitsExhausted> {
        let mut evaluation = PathEvaluation::new(view, budget.take());
        let held = evaluation.work.values(1).and_then(|()| self.0.holds(view, &mut evaluation));
        *budget = evaluation.work;
        held
    }
}
