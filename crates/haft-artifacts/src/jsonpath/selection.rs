//! What a path selects, and how much may be done to find it.

use std::slice;

use super::ast::Segment;
use super::locate::{LocatedIter, PathIter};
use super::walk::{PathEvaluation, PathWalk, VisitBudget, VisitsExhausted};
use haft_core::json::ValueRef;

/// How much one evaluation may do.
///
/// ```
/// use haft_core::json::Document;
/// use haft_artifacts::jsonpath::{JsonPath, SelectionLimits};
///
/// let document = Document::parse("[1, 2, 3, 4]")?;
/// let limits = SelectionLimits::default().max_matches(2);
/// let found = JsonPath::parse("$[*]")?.select_with(document.root(), &limits);
/// assert_eq!(found.len(), 2);
/// assert!(found.truncated().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelectionLimits {
    /// How many values may be looked at, those that filters look at included. The members and
    /// elements that are passed over on the way to one count too, long strings count for every 64
    /// bytes that are read, and compiling a pattern that stands in the document counts thousands.
    pub max_nodes_visited: u64,
    /// How many values may be selected.
    pub max_matches: usize,
}

impl Default for SelectionLimits {
    /// Fifty million values and a million matches: several times what a simple path needs on the
    /// largest document, and about half a second at worst.
    fn default() -> Self {
        Self { max_nodes_visited: 50_000_000, max_matches: 1_000_000 }
    }
}

impl SelectionLimits {
    /// Sets how many values may be looked at.
    #[must_use]
    pub const fn max_nodes_visited(mut self, count: u64) -> Self {
        self.max_nodes_visited = count;
        self
    }

    /// Sets how many values may be selected.
    #[must_use]
    pub const fn max_matches(mut self, count: usize) -> Self {
        self.max_matches = count;
        self
    }
}

/// Why a [`Selection`] is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Truncation {
    /// There are more values than [`SelectionLimits::max_matches`].
    Matches,
    /// [`SelectionLimits::max_nodes_visited`] was reached; there may be more values.
    Visits,
}

/// The values that a path selects, in the order of RFC 9535.
#[derive(Clone, Debug)]
pub struct Selection<'d> {
    root: ValueRef<'d>,
    views: Vec<ValueRef<'d>>,
    truncated: Option<Truncation>,
}

impl<'d> Selection<'d> {
    /// Why there may be more values than these, or `None` if these are all.
    #[must_use]
    pub const fn truncated(&self) -> Option<Truncation> {
        self.truncated
    }

    /// How many values there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.views.len()
    }

    /// True when nothing was selected.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// The values.
    #[must_use]
    pub fn views(&self) -> &[ValueRef<'d>] {
        &self.views
    }

    /// The values, one after the other.
    pub fn iter(&self) -> std::iter::Copied<slice::Iter<'_, ValueRef<'d>>> {
        self.views.iter().copied()
    }

    /// The normalised path of every value, such as `$['a'][0]`. Each is made when it is asked for;
    /// making them all takes about one pass over the document when the values stand in its order.
    #[must_use]
    pub fn paths(&self) -> PathIter<'_, 'd> {
        PathIter::new(self.root, &self.views)
    }

    /// Every value with its normalised path.
    #[must_use]
    pub fn located(&self) -> LocatedIter<'_, 'd> {
        LocatedIter::new(self.paths(), self.iter())
    }
}

impl<'d> IntoIterator for Selection<'d> {
    type Item = ValueRef<'d>;
    type IntoIter = std::vec::IntoIter<ValueRef<'d>>;

    fn into_iter(self) -> Self::IntoIter {
        self.views.into_iter()
    }
}

impl<'s, 'd> IntoIterator for &'s Selection<'d> {
    type Item = ValueRef<'d>;
    type IntoIter = std::iter::Copied<slice::Iter<'s, ValueRef<'d>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

pub(super) fn select<'d>(
    segments: &[Segment],
    root: ValueRef<'d>,
    max_matches: usize,
    budget: &mut VisitBudget,
) -> Selection<'d> {
    let mut evaluation = PathEvaluation::new(root, budget.take());
    let mut walk = PathWalk::new(segments, root, &mut evaluation);
    let mut views = Vec::new();
    let truncated = loop {
        match walk.next(&mut evaluation) {
            Err(_) => break Some(Truncation::Visits),
            Ok(None) => break None,
            Ok(Some(_)) if views.len() == max_matches => break Some(Truncation::Matches),
            Ok(Some(view)) => views.push(view),
        }
    };
    *budget = evaluation.work;
    Selection { root, views, truncated }
}

pub(super) fn any(
    segments: &[Segment],
    root: ValueRef<'_>,
    budget: &mut VisitBudget,
) -> Result<bool, VisitsExhausted> {
    let mut evaluation = PathEvaluation::new(root, budget.take());
    let mut walk = PathWalk::new(segments, root, &mut evaluation);
    // The walk itself is a visit: a query over many empty records ends as well.
    let found = evaluation.work.values(1).and_then(|()| walk.next(&mut evaluation));
    *budget = evaluation.work;
    Ok(found?.is_some())
}
