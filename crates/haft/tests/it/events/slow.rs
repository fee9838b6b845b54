//! Subscribers that do not keep up.

use std::num::NonZeroUsize;

use haft::events::Event;
use haft::events::{EventFilter, EventHub, ReceivedEvent, Subscription};
use haft::executors::StreamPart;
use proptest::prelude::*;

use super::Turn;

fn hub(capacity: usize) -> EventHub {
    EventHub::with_capacity(NonZeroUsize::new(capacity).unwrap())
}

/// What waits: sequence numbers, and `-n` where n are missing.
fn waiting(subscription: &mut Subscription) -> Vec<i64> {
    std::iter::from_fn(|| subscription.try_next())
        .map(|it| match it {
            ReceivedEvent::Event(event) => i64::try_from(event.sequence).unwrap(),
            ReceivedEvent::Lagged { missed, .. } => -i64::try_from(missed).unwrap(),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn ten_thousand_events_pass_a_sleeper_with_a_tiny_queue() {
    for filter in [EventFilter::turn("t"), EventFilter::all()] {
        let hub = hub(4);
        let mut sleeper = hub.subscribe(filter);
        let mut turn = Turn::new("t", &hub);
        // Nobody fetches anything while these pass: that they do pass is the point.
        (0..10_000).for_each(|_| turn.log("x"));
        assert_eq!(waiting(&mut sleeper), [-9996, 9996, 9997, 9998, 9999]);
        turn.log("x");
        assert_eq!(waiting(&mut sleeper), [10_000]);
    }
}

#[test]
fn the_marker_stands_where_events_are_missing() {
    let hub = hub(2);
    let mut sleeper = hub.subscribe(EventFilter::turn("t"));
    let mut turn = Turn::new("t", &hub);
    turn.log("x");
    assert_eq!(waiting(&mut sleeper), [0]);
    (0..5).for_each(|_| turn.log("x"));
    assert_eq!(sleeper.try_next().map(|it| it.event().is_none()), Some(true));
    assert_eq!(waiting(&mut sleeper), [4, 5]);
}

#[test]
fn the_end_of_its_turn_is_never_dropped() {
    let hub = hub(1);
    let mut sleeper = hub.subscribe(EventFilter::turn("t"));
    let mut turn = Turn::new("t", &hub);
    turn.log("x");
    turn.log("y");
    turn.end();
    assert_eq!(waiting(&mut sleeper), [-2, 2]);
}

#[test]
fn other_turns_displace_nothing() {
    let hub = hub(2);
    let mut sleeper = hub.subscribe(EventFilter::turn("t"));
    let mut turn = Turn::new("t", &hub);
    let mut other = Turn::new("other", &hub);
    turn.log("x");
    (0..100).for_each(|_| other.log("x"));
    turn.log("y");
    assert_eq!(waiting(&mut sleeper), [0, 1]);
}

proptest! {
    /// Whatever passes and whenever a subscriber looks: the events that it gets, and those that it is told it missed, are
    /// everything, in order.
    #[test]
    fn nothing_disappears_unsaid(
        steps in prop::collection::vec((0..5u8, 0..3usize), 0..200),
        capacity in 1..6usize,
    ) {
        let hub = hub(capacity);
        let mut subscription = hub.subscribe(EventFilter::turn("t"));
        let mut turn = Turn::new("t", &hub);
        let mut events = Vec::<Event>::new();
        let mut missed = 0;
        let mut fetch = |subscription: &mut Subscription, most: usize| {
            for it in std::iter::from_fn(|| subscription.try_next()).take(most) {
                match it {
                    ReceivedEvent::Event(event) => events.push(Event::clone(&event)),
                    ReceivedEvent::Lagged { missed: more, .. } => missed += more,
                    other => panic!("{other:?}"),
                }
            }
        };
        for (what, fetched) in steps {
            match what {
                0 => turn.log("x"),
                1 => turn.thought("a", "ab"),
                n => turn.message(if n == 2 { "a" } else { "b" }, "xyz", StreamPart::More),
            }
            fetch(&mut subscription, fetched);
        }
        fetch(&mut subscription, usize::MAX);

        let sequences: Vec<_> = events.iter().map(|it| it.sequence).collect();
        prop_assert!(sequences.is_sorted_by(|one, two| one < two), "{:?}", sequences);
        prop_assert_eq!(events.len() as u64 + missed, turn.sequence);
    }
}
