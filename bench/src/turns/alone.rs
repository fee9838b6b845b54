//! What one turn costs, in figures that do not depend on the machine.

use super::job::Job;
use super::table::{Bound, Entry, Table};
use crate::valgrind::{Counted, Valgrind};

/// Counts instructions and allocations of turns that run one after the other and at once, on one thread. `None` if
/// there is no `valgrind`.
pub(crate) fn measure() -> Result<Option<Table>, String> {
    let mut entries = Vec::new();
    for (name, at_once) in [("one after the other", false), ("at once", true)] {
        for (unit, counted, aim) in [
            ("instructions", Counted::Instructions, 100_000.0),
            ("allocations", Counted::Allocations, 80.0),
        ] {
            let Some(value) = count_per_turn(counted, at_once)? else { return Ok(None) };
            let entry = Entry::new(format!("haft, {name}"), value).unit(unit);
            entries.push(entry.aim(Bound::AtMost(aim)));
        }
    }
    Ok(Some(Table::new("turns/alone", "per turn, on one thread", entries)))
}

/// The difference of many and few turns, so that starting and ending the process does not count.
fn count_per_turn(counted: Counted, at_once: bool) -> Result<Option<f64>, String> {
    let mut counts = [0.0; 2];
    for (turns, count) in [MANY, FEW].into_iter().zip(&mut counts) {
        let valgrind = Valgrind::new(counted)?;
        let job = Job::Batch { turns, at_once: if at_once { turns } else { 1 } };
        if job.start(&valgrind.words())?.is_none() {
            return Ok(None);
        }
        *count = valgrind.read_count()?;
    }
    let [many, few] = counts;
    Ok(Some((many - few) / (MANY - FEW) as f64))
}

const MANY: usize = 700;
const FEW: usize = 200;
