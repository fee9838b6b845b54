//! One turn that a worker has claimed.

use std::sync::Arc;

use haft_core::cancel::Cancellation;
use haft_core::store::{Lease, StoreError};

use super::WorkerShared;
use super::stats::{RunningGuard, TurnAttempt};
use crate::sync::sleep;
use crate::turn::{Agent, TurnError};

/// A turn that is claimed and not yet run. It counts as running until it is dropped.
pub(super) struct ClaimedTurn {
    lease: Lease,
    shared: Arc<WorkerShared>,
    running: RunningGuard,
}

impl ClaimedTurn {
    pub(super) fn new(lease: Lease, shared: Arc<WorkerShared>) -> Self {
        let running = RunningGuard::begin(Arc::clone(&shared), lease.clone());
        Self { lease, shared, running }
    }

    /// Runs the turn with the agent of its agent.
    pub(super) async fn run(self) -> TurnAttempt {
        let Self { mut lease, shared, mut running } = self;
        let found = find_agent(&shared, &mut lease).await;
        let attempt = match found {
            Ok(agent) => {
                let run = Box::pin(agent.run_claimed(lease, Cancellation::new()));
                run.await.map(Box::new)
            }
            Err(error) => {
                set_aside(&shared, lease, &error).await;
                Err(error)
            }
        };
        running.end();
        let turn = running.turn().as_str();
        match &attempt {
            Err(error) => tracing::warn!(turn, %error, "a turn could not be run"),
            Ok(report) if report.is_resumable => {
                if let Some(error) = &report.error {
                    let (error, cause) = (&*error.message, error.cause.as_deref());
                    tracing::warn!(turn, error, cause, "a turn is left to be resumed");
                }
            }
            Ok(_) => {}
        }
        attempt
    }
}

/// Finds the agent of a turn, and renews its lease until it is found.
async fn find_agent(shared: &WorkerShared, lease: &mut Lease) -> Result<Agent, TurnError> {
    let turn = lease.turn.clone();
    let mut found = std::pin::pin!(shared.find_agent(&turn));
    loop {
        tokio::select! {
            biased;
            found = &mut found => return found,
            () = sleep(lease.ttl / 3) => match shared.store.renew(lease.clone()).await {
                Ok(renewed) => *lease = renewed,
                Err(error @ (StoreError::LeaseLost { .. } | StoreError::Unknown { .. })) => {
                    return Err(error.into());
                }
                // The next round tries again.
                Err(_) => {}
            },
        }
    }
}

/// Leaves a turn alone for a while that cannot be run here, and gives its lease back.
async fn set_aside(shared: &WorkerShared, lease: Lease, error: &TurnError) {
    let interrupt = error.interrupt_writes(shared.retry_delay);
    // If the store does not take it, the lease runs out and the turn can be claimed again.
    if shared.store.commit(lease.clone(), interrupt).await.is_ok() {
        let _ = shared.store.release(lease).await;
    }
}
