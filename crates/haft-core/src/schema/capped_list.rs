//! A list that holds its first elements and counts the rest.

/// The first elements of a sequence, and how many there were in all.
///
/// Arguments of many megabytes can break a rule in every element. The report lists only a few of the places, so the
/// others are counted and never built.
#[derive(Debug)]
pub(in crate::schema) struct CappedList<T, const LIMIT: usize> {
    first: Vec<T>,
    count: usize,
}

impl<T, const LIMIT: usize> CappedList<T, LIMIT> {
    pub(in crate::schema) const fn new() -> Self {
        Self { first: Vec::new(), count: 0 }
    }

    /// Adds an element, which is built only if there is room for it.
    pub(in crate::schema) fn push_with(&mut self, build: impl FnOnce() -> T) {
        if self.first.len() < LIMIT {
            self.first.push(build());
        }
        self.count += 1;
    }

    /// How many elements were added, including those that are only counted.
    pub(in crate::schema) const fn count(&self) -> usize {
        self.count
    }

    /// Removes every element after the first `count`.
    pub(in crate::schema) fn truncate(&mut self, count: usize) {
        self.first.truncate(count);
        self.count = self.count.min(count);
    }

    /// The first elements, and how many more there were.
    pub(in crate::schema) fn into_parts(self) -> (Vec<T>, usize) {
        let left_out = self.count.saturating_sub(self.first.len());
        (self.first, left_out)
    }
}
