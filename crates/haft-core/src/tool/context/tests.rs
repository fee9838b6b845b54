use std::sync::{Arc, Barrier, Mutex, OnceLock};

use serde_json::json;

use super::{DispatchContext, HydratedRange, Signal, SignalError};
use crate::clock::{ManualClock, Timestamp};
use crate::error::Coded as _;
use crate::event::{Event, EventKind, LogLevel};
use crate::store::RowKind;

fn seen(events: &Arc<Mutex<Vec<Event>>>) -> impl Fn(&Event) + Send + Sync + 'static {
    let events = Arc::clone(events);
    move |event: &Event| events.lock().unwrap().push(event.clone())
}

#[test]
fn ack_runs_callbacks_once_in_order_and_nack_runs_none() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |n: u32| {
        let order = Arc::clone(&order);
        move || order.lock().unwrap().push(n)
    };
    let ctx = DispatchContext::builder("t").build();
    let _first = ctx.on_ack(note(1));
    let _panics = ctx.on_ack(|| panic!("on purpose"));
    let gone = ctx.on_ack(note(2));
    let _last = ctx.on_ack(note(3));
    gone.cancel();
    ctx.ack().unwrap();
    assert_eq!(*order.lock().unwrap(), [1, 3]);

    let again = ctx.ack().unwrap_err();
    assert_eq!(again.code(), "E_LLM_EXECUTION_ALREADY_SIGNALLED");
    let signal = Signal::Ack;
    assert_eq!(ctx.nack("late".into()), Err(SignalError::AlreadySignalled { signal }));
    let _late = ctx.on_ack(note(4));
    assert_eq!(*order.lock().unwrap(), [1, 3, 4], "a late callback runs at once");

    let failed = DispatchContext::builder("t").build();
    let _waits = failed.on_ack(note(5));
    failed.nack("no answer".into()).unwrap();
    assert_eq!(failed.signal(), Some(Signal::nack("no answer")));
    assert!(failed.ack().is_err());
    let _never = failed.on_ack(note(6));
    assert_eq!(*order.lock().unwrap(), [1, 3, 4]);
}

#[test]
fn a_callback_may_use_the_context_it_waits_on() {
    let ctx = DispatchContext::builder("t").build();
    let inner = ctx.clone();
    let _sub = ctx.on_ack(move || {
        inner.stash().set("signalled", inner.signal() == Some(Signal::Ack)).unwrap();
    });
    ctx.ack().unwrap();
    assert_eq!(ctx.stash().get("signalled"), Some(json!(true)));
}

#[test]
fn events_carry_turn_dispatch_iteration_sequence_and_time() {
    let events = Arc::default();
    let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
    let ctx = DispatchContext::builder("turn-7")
        .dispatch("dispatch-2")
        .iteration(3)
        .clock(clock)
        .observer(seen(&events))
        .build();
    ctx.log(LogLevel::Info, "progress", "half way", Some(json!({ "done": 5 })));
    ctx.log(LogLevel::Warn, "progress", "slow", None);
    let events = events.lock().unwrap();
    let texts: Vec<_> = events.iter().map(|it| serde_json::to_value(it).unwrap()).collect();
    assert_eq!(
        texts[0],
        json!({
            "turn": "turn-7", "dispatch": "dispatch-2", "iteration": 3, "sequence": 0,
            "at": "1970-01-01T00:00:00.000000Z", "event": "log", "level": "info",
            "kind": "progress", "message": "half way", "payload": { "done": 5 },
        })
    );
    assert_eq!(texts[1]["sequence"], 1);
    assert_eq!(texts[1].get("payload"), None);
    for event in events.iter() {
        let text = serde_json::to_string(event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), *event);
    }
}

#[test]
fn an_observer_that_panics_breaks_nothing_and_keeps_nothing_from_others() {
    let events = Arc::default();
    let ctx = DispatchContext::builder("t")
        .observer(|_: &Event| panic!("on purpose"))
        .observer(seen(&events))
        .build();
    ctx.log(LogLevel::Debug, "x", "y", None);
    assert_eq!(events.lock().unwrap().len(), 1);
}

#[test]
fn an_event_is_not_made_when_nobody_listens() {
    let ctx = DispatchContext::builder("t").build();
    ctx.emit_with(|| -> EventKind { panic!("made for nobody") });
}

/// A turn that is resumed shows the same kinds of records of the turns before.
#[test]
fn the_journal_keeps_the_kinds_of_records_that_are_shown() {
    let stored = json!({ "first": "t-1", "last": "t-2", "count": 2 });
    let range: HydratedRange = serde_json::from_value(stored.clone()).unwrap();
    assert_eq!(range.kinds, HydratedRange::DEFAULT_KINDS);
    assert_eq!(serde_json::to_value(&range).unwrap(), stored);
    for kinds in [vec![], vec![RowKind::Message], vec![RowKind::Message, RowKind::Memory]] {
        let range = HydratedRange { kinds, ..range.clone() };
        let text = serde_json::to_string(&range).unwrap();
        assert_eq!(serde_json::from_str::<HydratedRange>(&text).unwrap(), range, "{text}");
    }
}

#[test]
fn outside_a_handler_there_is_no_call() {
    let ctx = DispatchContext::builder("t").build();
    assert_eq!(ctx.record_id(), None);
    assert!(ctx.tool().is_none());
    assert_eq!(ctx.dispatch_id(), "t");
}

/// Calls that run in parallel emit events on several threads. The observer of the first event gives the second one, which
/// another thread emits meanwhile, every chance to overtake it.
#[test]
fn observers_see_events_in_the_order_of_their_numbers() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let is_observing = Arc::new(Barrier::new(2));
    let numbers = Arc::clone(&seen);
    let began = Arc::clone(&is_observing);
    let observer = move |event: &Event| {
        if event.sequence == 0 {
            began.wait();
            for _ in 0..500 {
                if !numbers.lock().unwrap().is_empty() {
                    break;
                }
                std::thread::yield_now();
            }
        }
        numbers.lock().unwrap().push((event.sequence, event.at));
    };
    let ctx = DispatchContext::builder("t").observer(observer).build();
    std::thread::scope(|scope| {
        scope.spawn(|| ctx.log(LogLevel::Info, "x", "first", None));
        is_observing.wait();
        (0..3).for_each(|_| ctx.log(LogLevel::Info, "x", "later", None));
    });
    let seen = seen.lock().unwrap();
    assert_eq!(seen.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(seen.is_sorted_by_key(|(_, at)| *at));
}

/// The second observer sees the two in their order as well, although the first one emits while it observes.
#[test]
fn an_event_of_an_observer_follows_the_one_that_it_observes() {
    let events = Arc::default();
    let own = Arc::new(OnceLock::<DispatchContext>::new());
    let emitter = Arc::clone(&own);
    let observer = move |event: &Event| {
        if event.sequence == 0 {
            emitter.get().unwrap().log(LogLevel::Info, "x", "nested", None);
        }
    };
    let ctx = DispatchContext::builder("t").observer(observer).observer(seen(&events)).build();
    own.set(ctx.clone()).unwrap();
    ctx.log(LogLevel::Info, "x", "first", None);
    ctx.log(LogLevel::Info, "x", "last", None);
    let events = events.lock().unwrap();
    let numbers: Vec<u64> = events.iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, [0, 1, 2]);
}
