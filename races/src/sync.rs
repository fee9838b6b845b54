//! Locks, counters, tasks and timers that the scheduler of `shuttle` sees, in place of those of `haft`.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::task::{Poll, Waker};
use std::time::Duration;

use shuttle::future;
pub(crate) use shuttle::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak, atomic};

/// As Tokio's: one permit is kept for a later waiter.
#[derive(Default)]
pub(crate) struct Notify(Mutex<(bool, Option<Waker>)>);

impl Notify {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn notify_one(&self) {
        let mut state = self.0.lock().unwrap();
        state.0 = true;
        let waker = state.1.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn notified(&self) -> impl Future<Output = ()> + '_ {
        poll_fn(|cx| {
            let mut state = self.0.lock().unwrap();
            if std::mem::take(&mut state.0) {
                return Poll::Ready(());
            }
            state.1 = Some(cx.waker().clone());
            Poll::Pending
        })
    }
}

/// Time does not pass while the scheduler tries orders.
pub(crate) struct Instant;

impl Instant {
    pub(crate) const fn now() -> Self {
        Self
    }

    pub(crate) const fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

pub(crate) async fn sleep(_: Duration) {
    future::yield_now().await;
}

pub(crate) fn spawn_background(work: impl Future<Output = ()> + Send + 'static) {
    drop(future::spawn(work));
}

pub(crate) fn finish_in_background(work: impl Future<Output = ()> + Send + 'static) {
    spawn_background(work);
}

/// Tasks that are awaited one after the other.
#[derive(Default)]
pub(crate) struct JoinSet(VecDeque<future::JoinHandle<()>>);

impl JoinSet {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn spawn(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.push_back(future::spawn(work));
    }

    pub(crate) async fn join_next(&mut self) -> Option<()> {
        self.0.pop_front()?.await.ok()
    }
}
