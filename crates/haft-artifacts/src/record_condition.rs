//! The condition by which a query selects records.

use haft_core::json::ValueRef;
use haft_core::jsonpath::{
    FilterRef, JsonPath, SegmentRef, SelectorRef, VisitBudget, VisitsExhausted,
};

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
        let tests_record = first_selectors(&path).count() > 0
            && first_selectors(&path).all(|it| matches!(it, SelectorRef::Filter(_)));
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
    fn filters(&self) -> impl Iterator<Item = FilterRef<'_>> {
        first_selectors(&self.path).filter_map(|it| match it {
            SelectorRef::Filter(filter) => Some(filter),
            _ => None,
        })
    }
}

fn first_selectors(path: &JsonPath) -> impl Iterator<Item = SelectorRef<'_>> {
    let first = path.segment(0).filter(|it| !it.is_descendant());
    first.into_iter().flat_map(SegmentRef::selectors)
}
