use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use futures_core::Stream;
use haft::events::{Event, EventKind, EventName, LogLevel, Observer};
use haft::events::{EventFilter, EventHub, ReceivedEvent, Subscription};
use haft::executors::StreamPart;
use haft::{CallContext, DispatchContext, Tool, schema};
use serde_json::json;

use super::Turn;

/// Everything that waits, as turn and name.
fn waiting(subscription: &mut Subscription) -> Vec<String> {
    std::iter::from_fn(|| subscription.try_next())
        .map(|it| match it {
            ReceivedEvent::Event(event) => format!("{}:{}", event.turn, event.kind.name()),
            other => format!("{other:?}"),
        })
        .collect()
}

#[tokio::test(flavor = "current_thread")]
async fn events_come_in_order_with_their_envelope() {
    let hub = EventHub::new();
    let mut all = hub.subscribe(EventFilter::all());
    let tool = Tool::builder("add")
        .description("Adds.")
        .input(schema::object().field("n", schema::integer()))
        .handler(|args: haft::Args, ctx: &CallContext| {
            ctx.log(LogLevel::Debug, "step", "adding", None);
            args.to_string()
        });
    let tool = tool.build().unwrap();
    let ctx =
        DispatchContext::builder("t").dispatch("d").iteration(2).observer(hub.clone()).build();
    tool.executor(&ctx).call(&json!({ "n": 1 })).await;
    tool.executor(&ctx).call(&json!({ "n": "one" })).await;

    let expect = ["toolExecutionStart", "log", "toolExecutionEnd", "toolExecutionRejected"];
    for (sequence, name) in (0..).zip(expect) {
        let event = all.next().await.and_then(ReceivedEvent::event).unwrap();
        assert_eq!(event.kind.name().as_str(), name);
        let envelope = (&*event.turn, &*event.dispatch, event.iteration, event.sequence);
        assert_eq!(envelope, ("t", "d", 2, sequence));
    }
    assert_eq!(all.try_next(), None);
}

#[test]
fn filters_choose_by_turn_and_name() {
    #[track_caller]
    fn check(filter: EventFilter, expect: &[&str]) {
        let hub = EventHub::new();
        let mut subscription = hub.subscribe(filter);
        let mut one = Turn::new("one", &hub);
        let mut two = Turn::new("two", &hub);
        one.start();
        two.start();
        one.log("x");
        one.message("m", "hi", StreamPart::Last);
        two.log("y");
        two.thought("m", "hm");
        assert_eq!(waiting(&mut subscription), expect);
    }
    check(
        EventFilter::all(),
        &["one:turnStart", "two:turnStart", "one:log", "one:message", "two:log", "two:thought"],
    );
    check(EventFilter::turn("two"), &["two:turnStart", "two:log", "two:thought"]);
    check(EventFilter::turn("three"), &[]);
    check(EventFilter::all().only([EventName::Log]), &["one:log", "two:log"]);
    check(EventFilter::turn("one").only([EventName::TurnStart]), &["one:turnStart"]);
    check(EventFilter::all().only([EventName::Message]).only([EventName::Log]), &[]);
    check(EventFilter::default().only([]), &[]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_subscription_to_one_turn_ends_with_it_even_if_the_end_is_filtered_out() {
    let hub = EventHub::new();
    let mut whole = hub.subscribe(EventFilter::turn("t"));
    let mut logs = hub.subscribe(EventFilter::turn("t").only([EventName::Log]));
    let mut all = hub.subscribe(EventFilter::all());
    let mut turn = Turn::new("t", &hub);
    turn.log("x");
    turn.end();
    turn.log("after the end");
    assert_eq!(hub.subscriptions(), 1);

    for (subscription, expect) in [(&mut whole, 2), (&mut logs, 1)] {
        for _ in 0..expect {
            assert!(subscription.next().await.is_some());
        }
        assert_eq!(subscription.next().await, None);
        assert_eq!(subscription.next().await, None);
    }
    assert_eq!(waiting(&mut all), ["t:log", "t:turnEnd", "t:log"]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_subscription_ends_when_the_hub_is_gone_and_yields_what_waits_first() {
    let hub = EventHub::new();
    let mut all = hub.subscribe(EventFilter::all());
    Turn::new("t", &hub).log("x");
    drop(hub);
    assert!(all.next().await.is_some());
    assert_eq!(all.next().await, None);
}

#[test]
fn who_comes_late_sees_what_is_later() {
    let hub = EventHub::new();
    let mut early = hub.subscribe(EventFilter::all());
    let mut turn = Turn::new("t", &hub);
    turn.start();
    let mut late = hub.subscribe(EventFilter::all());
    turn.log("x");
    assert_eq!(waiting(&mut early), ["t:turnStart", "t:log"]);
    assert_eq!(waiting(&mut late), ["t:log"]);
}

#[test]
fn nothing_is_made_for_nobody() {
    let hub = EventHub::new();
    let ctx = DispatchContext::builder("t").observer(hub.clone()).build();
    ctx.emit_with(|| -> EventKind { panic!("made for nobody") });

    let subscription = hub.subscribe(EventFilter::turn("t"));
    assert!(!hub.is_idle());
    drop(subscription);
    assert!(hub.is_idle());
    ctx.emit_with(|| -> EventKind { panic!("made for nobody") });
}

#[test]
fn a_dropped_subscription_bothers_nobody() {
    let hub = EventHub::new();
    let mut stays = hub.subscribe(EventFilter::all());
    let goes = [hub.subscribe(EventFilter::all()), hub.subscribe(EventFilter::turn("t"))];
    let mut turn = Turn::new("t", &hub);
    turn.log("x");
    drop(goes);
    assert_eq!(hub.subscriptions(), 1);
    turn.log("y");
    assert_eq!(waiting(&mut stays), ["t:log", "t:log"]);
    // Dropping one after its turn has ended does not count it twice.
    let ended = hub.subscribe(EventFilter::turn("t"));
    turn.end();
    drop(ended);
    assert_eq!(hub.subscriptions(), 1);
}

#[test]
fn an_observer_that_panics_takes_nothing_from_the_hub() {
    let hub = EventHub::new();
    let mut all = hub.subscribe(EventFilter::all());
    let ctx = DispatchContext::builder("t")
        .observer(|_: &Event| panic!("on purpose"))
        .observer(hub)
        .build();
    ctx.log(LogLevel::Info, "x", "y", None);
    assert_eq!(waiting(&mut all), ["t:log"]);
}

#[test]
fn a_waker_may_use_the_hub_it_was_woken_by() {
    struct Subscribes(EventHub, Mutex<Vec<Subscription>>);
    impl Wake for Subscribes {
        fn wake(self: Arc<Self>) {
            let new = self.0.subscribe(EventFilter::all());
            self.1.lock().unwrap().push(new);
        }
    }
    let hub = EventHub::new();
    let mut all = hub.subscribe(EventFilter::all());
    let wakes = Arc::new(Subscribes(hub.clone(), Mutex::default()));
    let waker = Waker::from(Arc::clone(&wakes));
    let mut cx = Context::from_waker(&waker);
    assert_eq!(Pin::new(&mut all).poll_next(&mut cx), Poll::Pending);
    Turn::new("t", &hub).log("x");
    assert_eq!(hub.subscriptions(), 2);
    assert!(Pin::new(&mut all).poll_next(&mut cx).is_ready());
}

#[tokio::test(flavor = "current_thread")]
async fn a_sleeping_subscriber_is_woken_as_a_stream_too() {
    let hub = EventHub::new();
    let mut stream = hub.subscribe(EventFilter::turn("t"));
    let seen = AtomicUsize::new(0);
    let listen = async {
        while poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await.is_some() {
            seen.fetch_add(1, Ordering::Relaxed);
        }
    };
    let run = async {
        let mut turn = Turn::new("t", &hub);
        for _ in 0..10 {
            turn.log("x");
            tokio::task::yield_now().await;
        }
        turn.end();
    };
    tokio::join!(listen, run);
    assert_eq!(seen.into_inner(), 11);
}

#[test]
fn thousands_of_subscribers_each_get_their_turn() {
    let hub = EventHub::new();
    let mut subscriptions: Vec<_> =
        (0..5000).map(|n| hub.subscribe(EventFilter::turn(format!("t{n}")))).collect();
    let mut all = hub.subscribe(EventFilter::all());
    for n in 0..5000 {
        let mut turn = Turn::new(&format!("t{n}"), &hub);
        turn.log("x");
        if n % 2 == 0 {
            turn.end();
        }
        while all.try_next().is_some() {}
    }
    assert_eq!(hub.subscriptions(), 2501);
    for (n, subscription) in subscriptions.iter_mut().enumerate() {
        assert_eq!(waiting(subscription).len(), if n % 2 == 0 { 2 } else { 1 }, "t{n}");
    }
}

#[test]
fn turns_on_many_threads_share_a_hub() {
    let hub = EventHub::new();
    let mut subscriptions: Vec<_> =
        (0..4).map(|n| hub.subscribe(EventFilter::turn(n.to_string()))).collect();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let hub = &hub;
            scope.spawn(move || {
                let mut turn = Turn::new(&n.to_string(), hub);
                (0..500).for_each(|_| turn.log("x"));
                turn.end();
            });
        }
    });
    for subscription in &mut subscriptions {
        let sequences: Vec<_> = std::iter::from_fn(|| subscription.try_next())
            .map(|it| it.event().unwrap().sequence)
            .collect();
        assert_eq!(sequences, (0..=500).collect::<Vec<_>>());
    }
}
