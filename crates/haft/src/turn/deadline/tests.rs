use std::future::pending;

use super::*;

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// What the waits of one task have.
struct TestTask {
    watch: Stopwatch,
    timer: TaskTimer,
    cancellation: Cancellation,
}

impl TestTask {
    fn start() -> Self {
        let (timer, cancellation) = (TaskTimer::default(), Cancellation::new());
        Self { watch: Stopwatch::start(), timer, cancellation }
    }

    /// Bounds of a wait that may take this much working time from now on.
    fn bounds(&self, time: Duration) -> WaitBounds<'_> {
        let Self { watch, timer, cancellation } = self;
        let limit = watch.worked() + time;
        WaitBounds { watch, timer, limit, cancellation, grace: seconds(2) }
    }
}

#[tokio::test(start_paused = true)]
async fn a_timer_that_was_set_for_an_earlier_wait_ends_no_later_one() {
    let task = TestTask::start();
    let done = with_deadline(Box::pin(sleep(seconds(1))), task.bounds(seconds(5))).await;
    assert!(done.is_ok());
    let late = with_deadline(pending::<()>(), task.bounds(seconds(10))).await;
    assert!(matches!(late, Err(WaitError::Deadline)));
    assert_eq!(task.watch.elapsed().as_secs(), 11);
}

#[tokio::test(start_paused = true)]
async fn a_later_wait_can_have_an_earlier_deadline() {
    let task = TestTask::start();
    let done = with_deadline(Box::pin(sleep(seconds(1))), task.bounds(seconds(50))).await;
    assert!(done.is_ok());
    let late = with_deadline(pending::<()>(), task.bounds(seconds(3))).await;
    assert!(matches!(late, Err(WaitError::Deadline)));
    assert_eq!(task.watch.elapsed().as_secs(), 4);
}

/// The deadline comes later by the time of the pause, also if the timer goes off meanwhile.
#[tokio::test(start_paused = true)]
async fn a_pause_does_not_count() {
    for (worked, paused) in [(1, 2), (1, 100), (4, 1000)] {
        let task = TestTask::start();
        let interrupted = async {
            sleep(seconds(worked)).await;
            let pause = task.watch.pause();
            sleep(seconds(paused)).await;
            drop(pause);
        };
        let waiting = with_deadline(pending::<()>(), task.bounds(seconds(5)));
        let (late, ()) = tokio::join!(waiting, interrupted);
        assert!(matches!(late, Err(WaitError::Deadline)));
        let over = task.watch.elapsed().saturating_sub(seconds(5 + paused));
        assert!(task.watch.elapsed() >= seconds(5 + paused), "of {paused}");
        assert!(over <= PAUSED_INTERVAL, "of {paused}: {over:?} too late");
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_work_has_time_to_end_by_itself() {
    for (takes, ends) in [(1, true), (3, false)] {
        let task = TestTask::start();
        task.cancellation.cancel("stop");
        let ended = with_deadline(Box::pin(sleep(seconds(takes))), task.bounds(seconds(60))).await;
        match ended {
            Ok(()) => assert!(ends, "after {takes} s"),
            Err(WaitError::Cancelled(reason)) => assert_eq!((ends, reason), (false, "stop".into())),
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[tokio::test]
async fn a_panic_is_an_error() {
    let task = TestTask::start();
    let work = Box::pin(async { panic!("broken") });
    let ended: Result<(), _> = with_deadline(work, task.bounds(seconds(1))).await;
    assert!(matches!(ended, Err(WaitError::Panicked(panic)) if panic == "broken"));
}
