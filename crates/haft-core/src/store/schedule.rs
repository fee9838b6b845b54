//! When a turn can be claimed.

use super::{CancelOutcome, CancelRequest, TurnStatus};
use crate::clock::Timestamp;

/// The part of a turn that says when a process can claim it. Every store keeps these values with the turn and changes them
/// by these methods, so that all stores agree.
///
/// A turn can be claimed when the time [`runnable_at`](Self::runnable_at) has passed and no lease on it is active. This
/// is the time from which a queued or interrupted turn may run, the end of the lease of a running turn, the settlement or
/// the expiry of a gate of a waiting turn, and the time of a request to cancel. It is `None` for a turn that waits at
/// open gates or has ended.
///
/// ```
/// use std::time::Duration;
/// use haft_core::clock::Timestamp;
/// use haft_core::store::{TurnSchedule, TurnStatus};
///
/// let (now, lease_end) = (Timestamp::EPOCH, Timestamp::EPOCH.saturating_add(Duration::from_secs(30)));
/// let mut turn = TurnSchedule::running(lease_end);
/// assert!(!turn.is_claimable(now) && turn.is_claimable(lease_end));
/// turn.set_status(TurnStatus::Waiting, None);
/// assert!(!turn.is_claimable(lease_end), "it waits at a gate");
/// turn.settle_gate(lease_end);
/// assert!(turn.is_claimable(lease_end));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "stores build it from their columns")]
pub struct TurnSchedule {
    /// The status of the turn.
    pub status: TurnStatus,
    /// From when on it can be claimed.
    pub runnable_at: Option<Timestamp>,
    /// Until when the lease on it holds or held; `None` if it was returned.
    pub held_until: Option<Timestamp>,
    /// How often it was taken over from a process that has not been heard of again, since it last made progress.
    pub take_overs: u32,
    /// Who asked for its end.
    pub cancel: Option<CancelRequest>,
}

impl TurnSchedule {
    /// A turn that no process runs, and that can be claimed from a time on.
    #[must_use]
    pub fn queued(from: Timestamp) -> Self {
        let status = TurnStatus::Queued;
        let runnable_at = Some(from);
        Self { status, runnable_at, held_until: None, take_overs: 0, cancel: None }
    }

    /// A turn that its creator runs.
    #[must_use]
    pub fn running(until: Timestamp) -> Self {
        let status = TurnStatus::Running;
        let runnable_at = Some(until);
        Self { status, runnable_at, held_until: Some(until), take_overs: 0, cancel: None }
    }

    /// Whether a lease on the turn is active.
    #[must_use]
    pub fn is_held(&self, now: Timestamp) -> bool {
        self.held_until.is_some_and(|until| now < until)
    }

    /// Whether a process that looks for work may claim the turn.
    #[must_use]
    pub fn is_claimable(&self, now: Timestamp) -> bool {
        !self.is_held(now) && self.runnable_at.is_some_and(|at| at <= now)
    }

    /// A process gets the lease. If the process before it died while it ran the turn, that is a take-over.
    pub fn claim(&mut self, until: Timestamp) {
        let was_running = matches!(self.status, TurnStatus::Running | TurnStatus::CancelRequested);
        if was_running && self.held_until.is_some() {
            self.take_overs = self.take_overs.saturating_add(1);
        }
        self.held_until = Some(until);
        if self.status.is_final() {
            return;
        }
        if self.cancel.is_none() {
            self.status = TurnStatus::Running;
        }
        self.runnable_at = Some(until);
    }

    /// The holder renews its lease.
    pub fn renew(&mut self, until: Timestamp) {
        self.held_until = Some(until);
        if matches!(self.status, TurnStatus::Running | TurnStatus::CancelRequested) {
            self.runnable_at = Some(until);
        }
    }

    /// The holder returns its lease. A turn that it left in the middle can be claimed at once.
    pub fn release(&mut self, now: Timestamp) {
        self.held_until = None;
        if matches!(self.status, TurnStatus::Running | TurnStatus::CancelRequested) {
            self.runnable_at = Some(now);
        }
    }

    /// A process whose lease was taken over returns it. It did not die after all, so one take-over is subtracted.
    pub fn retract_take_over(&mut self) {
        if !self.status.is_final() {
            self.take_overs = self.take_overs.saturating_sub(1);
        }
    }

    /// The holder writes a status. `first_expiry` is the earliest time at which an open gate of the turn closes by itself.
    ///
    /// The status that the turn has already changes nothing, so that a settlement which the holder has not read yet still
    /// counts. A turn that is to be cancelled stays so until it ends.
    pub fn set_status(&mut self, status: TurnStatus, first_expiry: Option<Timestamp>) {
        if status.is_final() {
            (self.status, self.runnable_at) = (status, None);
        } else if self.cancel.is_none() && self.status != status {
            self.status = status;
            self.runnable_at = match status {
                TurnStatus::Waiting => first_expiry,
                _ => self.held_until,
            };
        } else if self.status == TurnStatus::Waiting {
            // A gate that was opened in addition may expire earlier.
            self.runnable_at = match (self.runnable_at, first_expiry) {
                (Some(at), Some(expiry)) => Some(at.min(expiry)),
                (at, expiry) => at.or(expiry),
            };
        }
    }

    /// The holder leaves the turn alone until a time.
    pub fn interrupt(&mut self, until: Timestamp) {
        if self.cancel.is_none() && !self.status.is_final() {
            (self.status, self.runnable_at) = (TurnStatus::Interrupted, Some(until));
        }
    }

    /// A gate of the turn was settled. Needs no lease.
    pub fn settle_gate(&mut self, now: Timestamp) {
        if self.status == TurnStatus::Waiting {
            self.runnable_at = Some(self.runnable_at.map_or(now, |at| at.min(now)));
        }
    }

    /// Another process asks for the end of the turn. Needs no lease.
    pub fn request_cancel(&mut self, mut request: CancelRequest, now: Timestamp) -> CancelOutcome {
        if self.status.is_final() {
            return CancelOutcome::Ended;
        }
        if self.cancel.is_some() {
            return CancelOutcome::AlreadyRequested;
        }
        request.at = Some(now);
        self.cancel = Some(request);
        self.status = TurnStatus::CancelRequested;
        self.runnable_at = Some(self.held_until.map_or(now, |until| until.max(now)));
        CancelOutcome::Requested
    }
}
