//! Reports are counted, handed to the hook and loud in debug builds.

use std::panic::catch_unwind;
use std::sync::Mutex;

use super::{BrokenInvariant, OrReport as _, report_count, set_hook};

static SEEN: Mutex<Vec<(&str, u32)>> = Mutex::new(Vec::new());

fn remember(broken: &BrokenInvariant) {
    SEEN.lock().unwrap().push((broken.invariant, broken.location.line()));
}

#[test]
fn a_broken_invariant_is_counted_and_handed_to_the_hook() {
    assert!(set_hook(remember));
    assert!(!set_hook(remember));
    assert_eq!(Some(1).or_report("there is a number", 2), 1);
    assert_eq!(Ok::<_, ()>(1).or_report_default("there is a number"), 1);
    assert_eq!(report_count(), 0);

    let line = line!() + 1;
    let fallen_back = catch_unwind(|| None.or_report("there is a number", 2));
    if cfg!(debug_assertions) {
        assert!(fallen_back.is_err());
    } else {
        assert_eq!(fallen_back.ok(), Some(2));
    }
    assert_eq!(report_count(), 1);
    assert_eq!(*SEEN.lock().unwrap(), [("there is a number", line)]);
}
