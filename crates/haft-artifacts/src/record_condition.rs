//! The condition by which a query selects records.

use crate::jsonpath::ast::{FilterExpr, SegmentReach, Selector};
use crate::jsonpath::{JsonPath, VisitBudget, VisitsExhausted};
use haft_core::json::ValueRef;

/// Selects records: a path that begins with filters tests the record itself, and any other path is evaluated inside the
/// record.
#[derive(Debug)]
pub(crate) struct RecordCondition {
    path: JsonPath,
    tests_record: bool,
    /// What follows the filters.
    rest: JsonPath,
}

impl RecordCondition {
    pub(crate) fn new(path: JsonPath) -> Self {
        let selectors = first_selectors(&path);
        let tests_record =
            !selectors.is_empty() && selectors.iter().all(|it| matches!(it, Selector::Filter(_)));
        let rest = path.without_first(1);
        Self { path, tests_record, rest }
    }

    /// The path, as it was given.
    pub(crate) fn path(&self) -> &JsonPath {
        &self.path
    }

    /// Whether the path begins with filters, which need the record as a whole.
    pub(crate) fn tests_record(&self) -> bool {
        self.tests_record
    }

    /// Whether a record is kept. All records of a query share its budget.
    pub(crate) fn holds(
        &self,
        record: ValueRef<'_>,
        visits: &mut VisitBudget,
    ) -> Result<bool, VisitsExhausted> {
        if !self.tests_record {
            return self.path.matches_within(record, visits);
        }
        for filter in self.filters() {
            if filter.holds_within(record, visits)? {
                return self.rest.matches_within(record, visits);
            }
        }
        Ok(false)
    }

    /// The filters that the path begins with; one of them must hold.
    fn filters(&self) -> impl Iterator<Item = &FilterExpr> {
        first_selectors(&self.path).iter().filter_map(|it| match it {
            Selector::Filter(filter) => Some(filter),
            _ => None,
        })
    }
}

fn first_selectors(path: &JsonPath) -> &[Selector] {
    match path.segments().first() {
        Some(first) if first.reach == SegmentReach::Children => &first.selectors,
        _ => &[],
    }
}
