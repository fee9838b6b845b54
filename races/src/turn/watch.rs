//! Waiting, as the scheduler sees it.

use std::collections::{HashSet, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Poll, Waker};
use std::time::Duration;

pub(crate) use haft_core::store::GateId;
use shuttle::future;
use shuttle::sync::Mutex;

/// Whom the bells ask.
pub(crate) trait Store: Send + Sync {
    fn open_gates(&self, turn: Option<()>) -> Asked;
}

pub(crate) type Asked = Pin<Box<dyn Future<Output = Result<Vec<GateRow>, ()>> + Send>>;

pub(crate) struct GateRow {
    pub(crate) id: GateId,
}

/// A store that has gates, and may be out of reach.
#[derive(Default)]
pub(crate) struct Gates {
    pub(crate) open: Mutex<HashSet<GateId>>,
    pub(crate) is_gone: bool,
}

impl Gates {
    pub(crate) fn is_open(&self, id: &GateId) -> bool {
        self.open.lock().unwrap().contains(id)
    }

    pub(crate) fn settle(&self, id: &GateId) {
        self.open.lock().unwrap().remove(id);
    }
}

impl Store for Gates {
    fn open_gates(&self, _turn: Option<()>) -> Asked {
        let open = self.open.lock().unwrap().iter().cloned().map(|id| GateRow { id }).collect();
        let answer = if self.is_gone { Err(()) } else { Ok(open) };
        Box::pin(async move {
            future::yield_now().await;
            answer
        })
    }
}

/// As Tokio's: one permit is kept for who comes later.
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

pub(crate) struct Stopwatch;

impl Stopwatch {
    pub(crate) const fn start() -> Self {
        Self
    }

    pub(crate) const fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

pub(crate) async fn sleep(_: Duration) {
    future::yield_now().await;
}

pub(crate) fn beside(work: impl Future<Output = ()> + Send + 'static) {
    drop(future::spawn(work));
}

/// Tasks that are waited for.
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
