use std::future::pending;

use super::*;

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// What the waits of a turn have.
struct TestTurn {
    watch: Stopwatch,
    cancellation: Cancellation,
}

impl TestTurn {
    fn start() -> Self {
        Self { watch: Stopwatch::start(), cancellation: Cancellation::new() }
    }

    /// Awaits work that may take this much working time from now on.
    async fn wait<T>(&self, work: impl Future<Output = T>, time: Duration) -> Result<T, WaitError> {
        let deadline = self.watch.reached(self.watch.worked() + time);
        with_deadline(work, deadline, &self.cancellation, seconds(2)).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_counts_from_the_beginning_of_its_wait() {
    let turn = TestTurn::start();
    turn.wait(sleep(seconds(1)), seconds(5)).await.unwrap();
    let late = turn.wait(pending::<()>(), seconds(10)).await;
    assert!(matches!(late, Err(WaitError::Deadline)));
    assert_eq!(turn.watch.elapsed().as_secs(), 11);
}

#[tokio::test(start_paused = true)]
async fn a_later_wait_can_have_an_earlier_deadline() {
    let turn = TestTurn::start();
    turn.wait(sleep(seconds(1)), seconds(50)).await.unwrap();
    let late = turn.wait(pending::<()>(), seconds(3)).await;
    assert!(matches!(late, Err(WaitError::Deadline)));
    assert_eq!(turn.watch.elapsed().as_secs(), 4);
}

/// The deadline comes later by the time of the pause, also if the timer fires meanwhile.
#[tokio::test(start_paused = true)]
async fn a_pause_does_not_count() {
    for (worked, paused) in [(1, 2), (1, 100), (4, 1000)] {
        let turn = TestTurn::start();
        let interrupted = async {
            sleep(seconds(worked)).await;
            let pause = turn.watch.pause();
            sleep(seconds(paused)).await;
            drop(pause);
        };
        let waiting = turn.wait(pending::<()>(), seconds(5));
        let (late, ()) = tokio::join!(waiting, interrupted);
        assert!(matches!(late, Err(WaitError::Deadline)));
        assert_eq!(turn.watch.elapsed().as_secs(), 5 + paused, "of {paused}");
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_work_has_time_to_end_by_itself() {
    for (takes, ends) in [(1, true), (3, false)] {
        let turn = TestTurn::start();
        turn.cancellation.cancel("stop");
        match turn.wait(sleep(seconds(takes)), seconds(60)).await {
            Ok(()) => assert!(ends, "after {takes} s"),
            Err(WaitError::Cancelled(reason)) => assert_eq!((ends, reason), (false, "stop".into())),
            Err(error) => panic!("{error:?}"),
        }
    }
}
