//! Locks, counters, tasks and timers for code that many threads share.
//!
//! The event hub, the gate notifier and the renewal of leases import them from here instead of from `std` and `tokio`.
//! The crate `races` compiles the same files with a `sync` module of its own, whose types let a scheduler decide which
//! thread runs next.

use std::future::Future;
use std::time::Duration;

pub(crate) use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak, atomic};

pub(crate) use tokio::sync::Notify;
pub(crate) use tokio::task::JoinSet;
pub(crate) use tokio::time::Instant;

/// Waits. A clock dates records; how long to wait is decided by the runtime, whose time tests can control.
#[expect(clippy::disallowed_methods, reason = "the one place where turns wait for time")]
pub(crate) async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Spawns work in the background of the turns that need it. It must end by itself when none does.
#[expect(clippy::disallowed_methods, reason = "the one place where turns start such work")]
pub(crate) fn spawn_background(work: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(work);
}

/// Polls work once, and spawns the rest of it. Work that only queues something is then complete, even if the runtime
/// ends right afterwards. Does nothing without a runtime.
pub(crate) fn finish_in_background(work: impl Future<Output = ()> + Send + 'static) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    let mut work = Box::pin(work);
    let mut ctx = std::task::Context::from_waker(std::task::Waker::noop());
    if work.as_mut().poll(&mut ctx).is_pending() {
        runtime.spawn(work);
    }
}
