//! What the clients of a feed have, to send them only what is different.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher as _;

use crate::timeline::ReadTurn;
use crate::wire::{ChangedRow, KindsChange, TimelineRow, TurnDetail, TurnUpdate};

/// How many rows an update has at most: more than a page shows.
const MAX_CHANGED: usize = 200;

/// A turn as clients have it.
#[derive(Debug)]
pub(super) struct KnownTurn {
    detail: TurnDetail,
    /// A hash of each row.
    rows: Vec<u64>,
}

impl KnownTurn {
    pub(super) fn of(read: &ReadTurn, detail: TurnDetail) -> Self {
        let rows = (0..read.row_count()).map(|at| read.row_at(at).as_ref().map_or(0, hash_row));
        Self { detail, rows: rows.collect() }
    }

    /// What is different now, or `None` if nothing is.
    pub(super) fn update(&mut self, read: &ReadTurn, now: TurnDetail) -> Option<TurnUpdate> {
        let mut changed = Vec::new();
        let mut hashes = Vec::with_capacity(read.row_count());
        for at in 0..read.row_count() {
            let Some(row) = read.row_at(at) else { continue };
            let hash = hash_row(&row);
            if self.rows.get(at) != Some(&hash) {
                changed.push(ChangedRow { at, row });
            }
            hashes.push(hash);
        }
        let more_rows = changed.len() > MAX_CHANGED;
        changed.drain(..changed.len().saturating_sub(MAX_CHANGED));
        let kinds = kinds_change(&self.detail.kinds, &now.kinds);
        // The duration of a running turn grows without an event; clients count themselves.
        let mut before = self.detail.clone();
        before.turn.duration_ms = now.turn.duration_ms;
        let is_same = changed.is_empty() && kinds.is_none() && before == now;
        (self.detail, self.rows) = (now.clone(), hashes);
        let TurnDetail { turn, end_ms, gates, artifacts, error, actions, .. } = now;
        (!is_same).then_some(TurnUpdate {
            turn,
            kinds,
            rows: changed,
            more_rows,
            end_ms,
            gates,
            artifacts,
            error,
            actions,
        })
    }
}

fn hash_row(row: &TimelineRow) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&serde_json::to_vec(row).unwrap_or_default());
    hasher.finish()
}

/// The end of a layout from the first kind on that differs.
fn kinds_change(before: &str, now: &str) -> Option<KindsChange> {
    if before == now {
        return None;
    }
    let from = before.chars().zip(now.chars()).take_while(|(a, b)| a == b).count();
    Some(KindsChange { from, kinds: now.chars().skip(from).collect() })
}

#[cfg(test)]
mod tests {
    use super::kinds_change;

    #[test]
    fn only_the_end_of_a_layout_is_sent() {
        assert_eq!(kinds_change("stc", "stc"), None);
        let grown = kinds_change("stc", "stcst").unwrap();
        assert_eq!((grown.from, grown.kinds.as_str()), (3, "st"));
        let failed = kinds_change("stcst", "strst").unwrap();
        assert_eq!((failed.from, failed.kinds.as_str()), (2, "rst"));
        let shorter = kinds_change("stc", "st").unwrap();
        assert_eq!((shorter.from, shorter.kinds.as_str()), (2, ""));
    }
}
