//! The rows of one turn.

use std::collections::HashMap;

use haft_core::store::{Row, RowKind};

/// The rows of one turn, in the order in which they were first put. Every operation takes constant time on average.
#[derive(Default)]
pub(super) struct TurnRows {
    /// Rows that were deleted leave their places empty until most places are.
    places: Vec<Option<Row>>,
    /// The places of the rows by kind and id, or `None` while there are few, because looking at all of them is faster.
    index: Option<HashMap<(RowKind, String), usize>>,
    deleted: usize,
}

impl TurnRows {
    /// How many rows are found without an index.
    const FEW: usize = 16;

    /// Inserts or replaces a row.
    pub(super) fn put(&mut self, row: Row) {
        if let Some(place) = self.find(row.kind, &row.id) {
            if let Some(place) = self.places.get_mut(place) {
                *place = Some(row);
            }
            return;
        }
        if let Some(index) = &mut self.index {
            index.insert((row.kind, row.id.clone()), self.places.len());
        }
        if self.places.capacity() == 0 {
            // The message of the user and a call: a turn that waits for an approval has no more.
            self.places.reserve_exact(2);
        }
        self.places.push(Some(row));
        if self.index.is_none() && self.places.len() > Self::FEW {
            self.rebuild();
        }
    }

    /// Removes a row, if there is one of this id.
    pub(super) fn delete(&mut self, kind: RowKind, id: &str) {
        let Some(place) = self.find(kind, id) else { return };
        if let Some(row) = self.places.get_mut(place).and_then(Option::take) {
            self.deleted += 1;
            if let Some(index) = &mut self.index {
                index.remove(&(row.kind, row.id));
            }
        }
        if self.deleted > self.places.len() / 2 {
            self.rebuild();
        }
    }

    /// The rows, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Row> {
        self.places.iter().flatten()
    }

    /// The rows behind a number, with their numbers, in order. The number of a row is its place, counted from 1.
    pub(super) fn behind(&self, number: u64) -> impl Iterator<Item = (u64, &Row)> {
        let skipped = number.min(usize::MAX as u64) as usize;
        let places = self.places.iter().enumerate().skip(skipped);
        places.filter_map(|(place, row)| Some((place as u64 + 1, row.as_ref()?)))
    }

    fn find(&self, kind: RowKind, id: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(&(kind, id.to_owned())).copied(),
            None => {
                let is_same = |row: &Option<Row>| {
                    row.as_ref().is_some_and(|row| row.kind == kind && row.id == id)
                };
                self.places.iter().rposition(is_same)
            }
        }
    }

    /// Closes the gaps, and rebuilds the index if there are many rows.
    fn rebuild(&mut self) {
        self.places.retain(Option::is_some);
        self.deleted = 0;
        let rows = || self.places.iter().flatten().enumerate();
        self.index = (self.places.len() > Self::FEW)
            .then(|| rows().map(|(at, row)| ((row.kind, row.id.clone()), at)).collect());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is put and deleted, the rows are those of a plain list.
        #[test]
        fn rows_equal_a_plain_list(changes in proptest::collection::vec((any::<bool>(), 0_u8..40), 0..200)) {
            let (mut rows, mut plain) = (TurnRows::default(), Vec::<Row>::new());
            for (n, (puts, id)) in changes.into_iter().enumerate() {
                let kind = if id % 3 == 0 { RowKind::Message } else { RowKind::ToolCall };
                let row = Row::new(kind, (id / 2).to_string(), n.to_string());
                let place = plain.iter().position(|it| it.kind == row.kind && it.id == row.id);
                match (puts, place) {
                    (true, Some(place)) => plain[place] = row.clone(),
                    (true, None) => plain.push(row.clone()),
                    (false, Some(place)) => drop(plain.remove(place)),
                    (false, None) => {}
                }
                if puts { rows.put(row) } else { rows.delete(row.kind, &row.id) }
                prop_assert!(rows.iter().eq(plain.iter()), "after change {}", n);
            }
        }

        /// The places stay within twice the rows, so that deleting and putting for ever takes no more memory.
        #[test]
        fn gaps_are_closed(count in 1_usize..2000) {
            let mut rows = TurnRows::default();
            for n in 0..count {
                rows.put(Row::new(RowKind::Message, n.to_string(), "{}"));
                rows.delete(RowKind::Message, &n.to_string());
            }
            prop_assert!(rows.places.len() <= 2, "{}", rows.places.len());
        }
    }
}
