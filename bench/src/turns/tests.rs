use std::sync::Arc;

use super::durable::counted;
use super::table::{Bound, Entry, Table};
use super::workload::{self, EVENTS, Floor, Listening, Turns};
use crate::report::{Format, Print as _};

/// Both turns end as they should, and are seen as often.
#[test]
fn floor_and_ours_have_the_same_events() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ours = workload::in_memory(Listening::Counting).unwrap();
    let all: [Arc<dyn Turns>; 2] = [Arc::new(Floor), ours];
    for turns in all {
        let before = workload::seen();
        workload::batch(&runtime, &turns, 2).unwrap();
        assert_eq!(workload::seen() - before, 2 * EVENTS);
    }
}

/// The loops of peers come to the same answer.
#[cfg(feature = "peers")]
#[test]
fn peers_do_the_same_job() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for turns in [super::peers::rig(), super::peers::adk().unwrap()] {
        workload::batch(&runtime, &turns, 2).unwrap();
    }
}

#[test]
fn calls_in_a_summary_of_strace() {
    let summary = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 70.00    0.123456         100      1234           fdatasync
 30.00    0.012345          10         6         1 fsync
------ ----------- ----------- --------- --------- ----------------
100.00    0.135801                  1240         1 total
";
    assert_eq!(counted(summary), 1240.0);
    assert_eq!(counted(""), 0.0);
}

#[track_caller]
fn check_aim(aim: Bound, value: f64, expected: &str) {
    let table = Table::new("t", "u", vec![Entry::new("haft", value).aim(aim)]);
    let mut out = Vec::new();
    table.print(Format::Table, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains(expected), "{text}");
}

#[test]
fn aims() {
    check_aim(Bound::AtLeast(5.0), 5.0, "(aim: at least 5: met)");
    check_aim(Bound::AtLeast(5.0), 4.0, "(aim: at least 5: MISSED)");
    check_aim(Bound::AtMost(5.0), 6.0, "(aim: at most 5: MISSED)");
    let entry = Entry::new("haft", 9.0).ratio(0.2).ratio_aim(Bound::AtLeast(0.25));
    let mut out = Vec::new();
    Table::new("t", "u", vec![entry]).print(Format::Table, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("(aim: at least 0.25 x the floor: MISSED)"), "{text}");
}
