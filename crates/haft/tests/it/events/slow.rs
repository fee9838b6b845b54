//! Subscribers that do not keep up.

use std::num::NonZeroUsize;

use haft::events::{Backlog, EventFilter, EventHub, Overflow, ReceivedEvent, Subscription};
use haft::events::{Event, EventKind, EventName, StreamState};
use haft::executors::StreamPart;
use proptest::prelude::*;

use super::Turn;

fn subscribe(hub: &EventHub, capacity: usize, overflow: Overflow) -> Subscription {
    let capacity = NonZeroUsize::new(capacity).unwrap();
    hub.subscribe_with(EventFilter::turn("t"), Backlog::new(capacity, overflow))
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
    #[track_caller]
    fn check(overflow: Overflow, expect: &[i64]) {
        let hub = EventHub::new();
        let mut sleeper = subscribe(&hub, 4, overflow);
        let mut turn = Turn::new("t", &hub);
        // Nobody fetches anything while these pass: that they do pass is the point.
        (0..10_000).for_each(|_| turn.log("x"));
        assert_eq!(waiting(&mut sleeper), expect);
        turn.log("x");
        assert_eq!(waiting(&mut sleeper), [10_000]);
    }
    check(Overflow::DropOldest, &[-9996, 9996, 9997, 9998, 9999]);
    check(Overflow::Coalesce, &[-9996, 9996, 9997, 9998, 9999]);
    check(Overflow::DropNewest, &[0, 1, 2, 3, -9996]);
}

#[test]
fn the_marker_stands_where_events_are_missing() {
    let hub = EventHub::new();
    let mut sleeper = subscribe(&hub, 2, Overflow::DropNewest);
    let mut turn = Turn::new("t", &hub);
    (0..5).for_each(|_| turn.log("x"));
    assert!(matches!(sleeper.try_next(), Some(ReceivedEvent::Event(_))));
    turn.log("x");
    assert_eq!(waiting(&mut sleeper), [1, -3, 5]);
}

#[test]
fn the_end_of_its_turn_is_never_dropped() {
    #[track_caller]
    fn check(overflow: Overflow, expect: &[i64]) {
        let hub = EventHub::new();
        let mut sleeper = subscribe(&hub, 1, overflow);
        let mut turn = Turn::new("t", &hub);
        turn.log("x");
        turn.log("y");
        turn.end();
        assert_eq!(waiting(&mut sleeper), expect);
    }
    check(Overflow::DropOldest, &[-1, 1, 2]);
    check(Overflow::DropNewest, &[0, -1, 2]);
    check(Overflow::Coalesce, &[-1, 1, 2]);
}

#[test]
fn pieces_of_text_are_joined_while_they_wait() {
    let hub = EventHub::new();
    let mut sleeper = subscribe(&hub, 3, Overflow::Coalesce);
    let mut turn = Turn::new("t", &hub);
    turn.log("before");
    for word in ["Hel", "lo", ", "] {
        turn.message("m", word, StreamPart::More);
    }
    turn.thought("m", "a thought of the same name");
    // No room: the piece is joined with the one two places before, and stands here.
    turn.message("m", "world", StreamPart::More);
    turn.message("m", "", StreamPart::Last);

    let events: Vec<_> = std::iter::from_fn(|| sleeper.try_next()?.event()).collect();
    let seen: Vec<_> = events.iter().map(|it| (it.sequence, it.kind.name())).collect();
    assert_eq!(seen, [(0, EventName::Log), (4, EventName::Thought), (6, EventName::Message)]);
    let EventKind::Message(delta) = &events[2].kind else { panic!("{events:?}") };
    assert_eq!((&*delta.delta, delta.offset), ("Hello, world", 0));
    assert_eq!(delta.full.as_deref(), Some("Hello, world"));
    assert_eq!((delta.state, delta.is_complete), (StreamState::Sealed, true));
}

#[test]
fn a_long_text_for_a_sleeper_costs_its_length() {
    let hub = EventHub::new();
    let mut sleeper = subscribe(&hub, 1, Overflow::Coalesce);
    let mut turn = Turn::new("t", &hub);
    for _ in 0..100_000 {
        turn.message("m", "twenty bytes of text", StreamPart::More);
    }
    let event = sleeper.try_next().and_then(ReceivedEvent::event).unwrap();
    let EventKind::Message(delta) = &event.kind else { panic!("{event:?}") };
    assert_eq!((delta.delta.len(), delta.offset), (2_000_000, 0));
    assert_eq!(sleeper.try_next(), None);
}

#[test]
fn a_withdrawn_text_is_not_joined_with_what_replaces_it() {
    let hub = EventHub::new();
    let mut sleeper = subscribe(&hub, 9, Overflow::Coalesce);
    let mut turn = Turn::new("t", &hub);
    turn.message("m", "half", StreamPart::More);
    let gone = turn.streams.supersede_message("m", super::at(0)).unwrap();
    turn.emit(gone);
    turn.message("m", "whole", StreamPart::Last);
    let texts: Vec<_> = std::iter::from_fn(|| sleeper.try_next()?.event())
        .map(|it| match &it.kind {
            EventKind::Message(delta) => (delta.delta.to_string(), delta.state),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        texts,
        [("half".into(), StreamState::Superseded), ("whole".into(), StreamState::Sealed)]
    );
}

proptest! {
    /// Whatever passes and whenever a subscriber looks: the pieces it gets, joined or not, and those it
    /// is told it missed are everything, in order.
    #[test]
    fn nothing_disappears_unsaid(
        steps in prop::collection::vec((0..5u8, 0..3usize), 0..200),
        capacity in 1..6usize,
        overflow in prop::sample::select(
            vec![Overflow::DropOldest, Overflow::DropNewest, Overflow::Coalesce]
        ),
    ) {
        let hub = EventHub::new();
        let mut subscription = subscribe(&hub, capacity, overflow);
        let mut turn = Turn::new("t", &hub);
        let (mut events, mut missed) = (Vec::<Event>::new(), 0);
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
        let pieces = events.iter().map(|it| match &it.kind {
            EventKind::Message(delta) => delta.delta.len() / 3,
            EventKind::Thought(delta) => delta.delta.len() / 2,
            _ => 1,
        });
        let received = pieces.sum::<usize>() as u64;
        prop_assert_eq!(received + missed, turn.sequence);
    }
}
