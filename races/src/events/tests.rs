use std::time::Duration;

use haft_core::clock::Timestamp;
use haft_core::event::{Event, EventKind, LogLevel, Observer as _};
use haft_core::store::TurnStatus;
use shuttle::sync::mpsc;
use shuttle::{check_random, future, thread};

use super::sources::filter::EventFilter;
use super::sources::hub::EventHub;
use super::sources::subscription::{ReceivedEvent, Subscription};

/// How many orders are tried.
const ORDERS: usize = 5_000;

fn event(sequence: u64, kind: EventKind) -> Event {
    Event::new("turn", sequence, Timestamp::EPOCH, kind)
}

fn said(sequence: u64) -> Event {
    let topic = "n".into();
    let message = "said".into();
    event(sequence, EventKind::Log { level: LogLevel::Info, topic, message, payload: None })
}

fn over(sequence: u64) -> Event {
    let end = EventKind::TurnEnd {
        status: TurnStatus::Completed,
        error: None,
        resumable: false,
        iterations: 1,
        usage: None,
        started_at: Timestamp::EPOCH,
        duration: Duration::ZERO,
    };
    event(sequence, end)
}

/// The sequence numbers that a subscription yields until it ends.
fn heard(subscription: Subscription) -> Vec<u64> {
    heard_by(subscription, |_| ())
}

fn heard_by(mut subscription: Subscription, mut hears: impl FnMut(u64)) -> Vec<u64> {
    future::block_on(async move {
        let mut heard = Vec::new();
        while let Some(received) = subscription.next().await {
            match received {
                ReceivedEvent::Event(event) => {
                    heard.push(event.sequence);
                    hears(event.sequence);
                }
                ReceivedEvent::Lagged { missed } => panic!("{missed} events were dropped"),
            }
        }
        heard
    })
}

/// Nobody sleeps through an event: the next one comes only when this one was heard, so that a lost wake would leave
/// all waiting for each other, which is found.
#[test]
fn every_event_wakes() {
    let play = || {
        let hub = EventHub::new();
        let subscription = hub.subscribe(EventFilter::turn("turn"));
        let (answers, answer) = mpsc::channel();
        let listening = thread::spawn(move || heard_by(subscription, |n| answers.send(n).unwrap()));
        for n in 0..3 {
            hub.observe(&said(n));
            assert_eq!(answer.recv(), Ok(n));
        }
        hub.observe(&over(3));
        assert_eq!(listening.join().unwrap(), [0, 1, 2, 3]);
    };
    check_random(play, ORDERS);
}

/// Nobody sleeps through the end, of the turn or of the hub.
#[test]
fn the_end_wakes_and_comes_last() {
    let play = || {
        let hub = EventHub::new();
        let of_turn = hub.subscribe(EventFilter::turn("turn"));
        let of_all = hub.subscribe(EventFilter::all());
        let listening = thread::spawn(move || heard(of_turn));
        let all = thread::spawn(move || heard(of_all));
        let speaking = {
            let hub = hub.clone();
            thread::spawn(move || (0..3).for_each(|n| hub.observe(&said(n))))
        };
        speaking.join().unwrap();
        hub.observe(&over(3));
        assert_eq!(listening.join().unwrap(), [0, 1, 2, 3]);
        // Who listens to every turn ends with the hub.
        drop(hub);
        assert_eq!(all.join().unwrap(), [0, 1, 2, 3]);
    };
    check_random(play, ORDERS);
}

/// Two who speak at once: both are heard, each in its order.
#[test]
fn speakers_do_not_drown_each_other() {
    let play = || {
        let hub = EventHub::new();
        let listening = hub.subscribe(EventFilter::all());
        let speaking = [0, 10].map(|first| {
            let hub = hub.clone();
            thread::spawn(move || (first..first + 3).for_each(|n| hub.observe(&said(n))))
        });
        drop(hub);
        let heard = heard(listening);
        speaking.into_iter().for_each(|it| it.join().unwrap());
        for first in [0, 10] {
            let own: Vec<u64> =
                heard.iter().copied().filter(|n| (first..first + 3).contains(n)).collect();
            assert_eq!(own, [first, first + 1, first + 2]);
        }
        assert_eq!(heard.len(), 6);
    };
    check_random(play, ORDERS);
}

/// Subscriptions that come and go while a turn ends: none is counted twice, and none is left.
#[test]
fn the_count_of_subscriptions_holds() {
    let play = || {
        let hub = EventHub::new();
        let coming = [EventFilter::turn("turn"), EventFilter::all()].map(|filter| {
            let hub = hub.clone();
            thread::spawn(move || drop(hub.subscribe(filter)))
        });
        let stays = hub.subscribe(EventFilter::turn("turn"));
        let ending = {
            let hub = hub.clone();
            thread::spawn(move || hub.observe(&over(0)))
        };
        coming.into_iter().for_each(|it| it.join().unwrap());
        ending.join().unwrap();
        assert_eq!(heard(stays), [0]);
        assert_eq!(hub.subscriptions(), 0);
        assert!(hub.is_idle());
    };
    check_random(play, ORDERS);
}
