use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use super::{CancelReason, Cancellation, CancelledFuture};

/// Counts how often it is woken and wakes the thread that made it.
struct Count {
    woken: AtomicUsize,
    thread: std::thread::Thread,
}

impl Count {
    fn new() -> Arc<Self> {
        Arc::new(Self { woken: AtomicUsize::new(0), thread: std::thread::current() })
    }

    fn woken(&self) -> usize {
        self.woken.load(Ordering::SeqCst)
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::SeqCst);
        self.thread.unpark();
    }
}

fn poll(future: &mut CancelledFuture, count: &Arc<Count>) -> Poll<CancelReason> {
    let waker = Waker::from(Arc::clone(count));
    pin!(future).poll(&mut Context::from_waker(&waker))
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Count::new());
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn n_wakers(token: &Cancellation) -> usize {
    token.node.lock().wakers.len()
}

fn n_children(token: &Cancellation) -> usize {
    token.node.lock().children.len()
}

#[test]
fn cancelling_goes_down_and_not_up() {
    let root = Cancellation::new();
    let left = root.child();
    let right = root.child();
    let leaf = left.child();
    left.cancel(CancelReason::Deadline);
    assert!(left.is_cancelled() && leaf.is_cancelled());
    assert!(!root.is_cancelled() && !right.is_cancelled());
    assert_eq!(leaf.reason(), Some(CancelReason::Deadline));
    assert_eq!(right.reason(), None);
    assert_eq!(left.child().reason(), Some(CancelReason::Deadline));

    root.cancel("stop");
    assert_eq!(right.reason(), Some(CancelReason::Other("stop".into())));
    assert_eq!(leaf.reason(), Some(CancelReason::Deadline), "the first reason stays");
    assert_eq!(root.child().child().reason(), Some("stop".into()));
    assert_eq!(n_children(&root), 0);
}

#[test]
fn a_clone_is_the_same_token() {
    let token = Cancellation::default();
    let same = token.clone();
    same.cancel(CancelReason::Requested);
    token.cancel("again".to_owned());
    assert_eq!(token.reason(), Some(CancelReason::Requested));
    assert_eq!(format!("{token:?}"), "Cancellation { reason: Some(Requested), .. }");
}

#[test]
fn reasons_read_well() {
    let text = |reason: CancelReason| reason.to_string();
    assert_eq!(text(CancelReason::Requested), "cancelled on request");
    assert_eq!(text(CancelReason::Deadline), "the deadline has passed");
    assert_eq!(text(CancelReason::Shutdown), "shutting down");
    assert_eq!(text("no budget left".into()), "no budget left");
}

#[test]
fn a_token_reaches_below_dropped_ones() {
    let root = Cancellation::new();
    let leaf = root.child().child().child();
    root.cancel(CancelReason::Shutdown);
    assert_eq!(leaf.reason(), Some(CancelReason::Shutdown));
}

#[test]
fn dropped_children_leave_the_parent() {
    let root = Cancellation::new();
    let kept = root.child();
    let mut most = 0;
    for _ in 0..10_000 {
        let child = root.child().child();
        most = most.max(n_children(&root));
        drop(child);
    }
    assert_eq!((most, n_children(&root)), (2, 1));
    root.cancel(CancelReason::Requested);
    assert!(kept.is_cancelled());
}

#[test]
fn dropping_a_token_frees_it() {
    let root = Cancellation::new();
    let child = root.child();
    let weak = Arc::downgrade(&child.node);
    let waiting = child.cancelled();
    drop(child);
    assert!(weak.upgrade().is_some(), "a waiting future keeps its token");
    drop(waiting);
    assert!(weak.upgrade().is_none());
    let weak = Arc::downgrade(&root.node);
    drop(root);
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_long_chain_is_cancelled_and_dropped_without_recursion() {
    let root = Cancellation::new();
    let leaf = (0..50_000).fold(root.child(), |token, _| token.child());
    root.cancel(CancelReason::Requested);
    assert!(leaf.is_cancelled());
    drop(leaf);
    let leaf = (0..50_000).fold(Cancellation::new(), |token, _| token.child());
    drop(leaf);
}

#[test]
fn a_future_registers_one_waker_and_takes_it_back() {
    let token = Cancellation::new();
    let first = Count::new();
    let second = Count::new();
    let mut future = token.cancelled();
    assert_eq!(n_wakers(&token), 0);
    for _ in 0..1000 {
        assert_eq!(poll(&mut future, &first), Poll::Pending);
        assert_eq!(poll(&mut future, &second), Poll::Pending);
    }
    assert_eq!(n_wakers(&token), 1);
    assert_eq!(Arc::strong_count(&first), 1, "the replaced waker is dropped");
    drop(future);
    assert_eq!(n_wakers(&token), 0);
    assert_eq!(Arc::strong_count(&second), 1);
}

#[test]
fn only_the_last_waker_is_woken_once() {
    let token = Cancellation::new();
    let first = Count::new();
    let second = Count::new();
    let mut future = token.child().cancelled();
    assert_eq!(poll(&mut future, &first), Poll::Pending);
    assert_eq!(poll(&mut future, &second), Poll::Pending);
    token.cancel(CancelReason::Deadline);
    token.cancel(CancelReason::Shutdown);
    assert_eq!((first.woken(), second.woken()), (0, 1));
    for _ in 0..2 {
        assert_eq!(poll(&mut future, &first), Poll::Ready(CancelReason::Deadline));
    }
    assert_eq!(n_wakers(&token), 0);
}

#[test]
fn a_waker_may_drop_a_future_of_the_same_token() {
    /// A task that waits twice: dropping the waker drops the other wait.
    struct Task(#[expect(dead_code, reason = "held for its drop")] CancelledFuture);
    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }
    let token = Cancellation::new();
    let task = || {
        let mut other = token.cancelled();
        assert_eq!(poll(&mut other, &Count::new()), Poll::Pending);
        Waker::from(Arc::new(Task(other)))
    };
    let mut future = token.cancelled();
    for _ in 0..2 {
        // The second round replaces the waker, which is the last to hold the first task.
        let waker = task();
        assert!(pin!(&mut future).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert_eq!(n_wakers(&token), 2);
    drop(future);
    assert_eq!(n_wakers(&token), 0);
}

#[test]
fn another_thread_wakes_the_waiting_one() {
    for _ in 0..200 {
        let token = Cancellation::new();
        let waiting = token.child().cancelled();
        let other = std::thread::spawn(move || token.cancel(CancelReason::Shutdown));
        assert_eq!(block_on(waiting), CancelReason::Shutdown);
        other.join().unwrap();
    }
}

#[test]
fn a_child_made_while_the_parent_is_cancelled_is_never_missed() {
    for _ in 0..200 {
        let root = Cancellation::new();
        let start = Barrier::new(2);
        let children: Vec<Cancellation> = std::thread::scope(|scope| {
            let made = scope.spawn(|| {
                start.wait();
                (0..50).map(|_| root.child()).collect()
            });
            start.wait();
            root.cancel(CancelReason::Requested);
            made.join().unwrap()
        });
        assert!(children.iter().all(Cancellation::is_cancelled));
    }
}

#[tokio::test]
async fn it_works_under_a_runtime() {
    fn assert_task<T: Future + Send + Unpin + 'static>(future: T) -> T {
        future
    }
    let token = Cancellation::new();
    let waiting = assert_task(token.child().cancelled());
    token.cancel(CancelReason::Requested);
    assert_eq!(waiting.await, CancelReason::Requested);
}

/// A token may have one below it or thousands; the oldest is told first.
#[test]
fn however_many_wait_they_are_woken_in_order() {
    for count in [1, 15, 16, 17, 1000] {
        let token = Cancellation::new();
        let mut children: Vec<_> = (0..count).map(|_| token.child()).collect();
        let woken = Arc::new(Mutex::new(Vec::new()));
        let mut waiting: Vec<_> = children.iter().map(Cancellation::cancelled).collect();
        for (number, future) in waiting.iter_mut().enumerate() {
            let waker = Waker::from(Arc::new(Noted(number, Arc::clone(&woken))));
            let polled = Pin::new(future).poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        // One in the middle goes without a trace.
        let gone = count / 2;
        drop(waiting.remove(gone));
        drop(children.remove(gone));
        assert_eq!(n_children(&token), count - 1);
        token.cancel("stop");
        let expected: Vec<_> = (0..count).filter(|it| *it != gone).collect();
        assert_eq!(*woken.lock().unwrap(), expected, "of {count}");
    }
}

/// Writes down that it was woken.
struct Noted(usize, Arc<Mutex<Vec<usize>>>);

impl Wake for Noted {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap().push(self.0);
    }
}
