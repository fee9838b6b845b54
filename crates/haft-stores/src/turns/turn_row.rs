//! Who may run a turn, and what lists show of it: the rules that all stores share, without any access to a database.

use std::sync::Arc;
use std::time::Duration;

use haft_core::clock::Timestamp;
use haft_core::store::{
    CancelOutcome, CancelRequest, Lease, LeaseRequest, NewTurn, StoreError, TurnSchedule,
    TurnStatus, TurnSummary,
};

/// Who asks for a lease.
#[derive(Clone, Copy)]
pub(super) struct Holder<'h> {
    pub(super) request: &'h LeaseRequest,
    /// The mark of this process, in a store that can tell whether a process is alive.
    pub(super) process: Option<&'h Arc<str>>,
}

/// A turn without its rows. A store reads it whole, changes it here, and writes it whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TurnRow {
    pub(super) summary: TurnSummary,
    pub(super) epoch: u64,
    /// The mark of the process that holds the lease.
    pub(super) process: Option<Arc<str>>,
}

/// What the return of a lease has changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Returned {
    /// The turn can be claimed.
    Lease,
    /// The lease had been taken over, and its process lives.
    TakeOver,
    Nothing,
}

impl TurnRow {
    /// A turn that is created now, and the lease on it if it has a holder.
    pub(super) fn new(
        new: &NewTurn,
        process: Option<&Arc<str>>,
        now: Timestamp,
    ) -> (Self, Option<Lease>) {
        let mut row = Self { summary: TurnSummary::of_new(new, now), epoch: 0, process: None };
        let Some(request) = &new.holder else {
            row.summary.set_schedule(TurnSchedule::queued(now.saturating_add(new.start_after)));
            return (row, None);
        };
        let lease = Lease::new(new.id.clone(), request, 1, now);
        row.summary.set_schedule(TurnSchedule::running(lease.until));
        row.summary.holder = Some(Arc::clone(&lease.holder));
        row.process = process.cloned();
        row.epoch = 1;
        let lease = row.complete(lease);
        (row, Some(lease))
    }

    /// Fails unless the lease is valid.
    pub(super) fn check_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        match self.is_held_with(lease) {
            true => Ok(()),
            false => Err(StoreError::LeaseLost { turn: lease.turn.clone() }),
        }
    }

    fn is_held_with(&self, lease: &Lease) -> bool {
        self.epoch == lease.epoch && self.summary.holder.as_ref() == Some(&lease.holder)
    }

    /// Fails while a lease on the turn is active.
    pub(super) fn check_free(&self, now: Timestamp) -> Result<(), StoreError> {
        match (&self.summary.holder, self.summary.held_until) {
            (Some(holder), Some(until)) if now < until => {
                let turn = self.summary.id.clone();
                Err(StoreError::Held { turn, holder: Arc::clone(holder), until })
            }
            _ => Ok(()),
        }
    }

    /// Gives the lease on a turn that is free.
    pub(super) fn claim(&mut self, holder: Holder<'_>, now: Timestamp) -> Lease {
        self.epoch = self.epoch.saturating_add(1);
        let lease = Lease::new(self.summary.id.clone(), holder.request, self.epoch, now);
        self.summary.holder = Some(Arc::clone(&lease.holder));
        self.process = holder.process.cloned();
        self.change_schedule(|it| it.claim(lease.until));
        self.complete(lease)
    }

    /// Extends a lease.
    pub(super) fn renew(&mut self, lease: Lease, now: Timestamp) -> Result<Lease, StoreError> {
        self.check_lease(&lease)?;
        let lease = lease.renewed(now);
        self.change_schedule(|it| it.renew(lease.until));
        Ok(self.complete(lease))
    }

    /// Sets what a lease says about the turn.
    fn complete(&self, mut lease: Lease) -> Lease {
        lease.take_overs = self.summary.take_overs;
        lease.cancel.clone_from(&self.summary.cancel);
        lease.tenant.clone_from(&self.summary.tenant);
        lease
    }

    /// Takes a lease back.
    pub(super) fn release(&mut self, lease: &Lease, now: Timestamp) -> Returned {
        if self.is_held_with(lease) {
            self.summary.holder = None;
            self.process = None;
            self.change_schedule(|it| it.release(now));
            return Returned::Lease;
        }
        if lease.epoch < self.epoch && self.summary.take_overs > 0 {
            self.change_schedule(TurnSchedule::retract_take_over);
            return Returned::TakeOver;
        }
        Returned::Nothing
    }

    pub(super) fn request_cancel(
        &mut self,
        request: CancelRequest,
        now: Timestamp,
    ) -> CancelOutcome {
        self.change_schedule(|it| it.request_cancel(request, now))
    }

    /// A gate of the turn was settled.
    pub(super) fn settle_gate(&mut self, now: Timestamp) {
        self.change_schedule(|it| it.settle_gate(now));
    }

    /// The holder writes a status. `first_expiry` is when the first open gate of the turn closes by itself.
    pub(super) fn set_status(&mut self, status: TurnStatus, first_expiry: Option<Timestamp>) {
        self.change_schedule(|it| it.set_status(status, first_expiry));
    }

    pub(super) fn interrupt(&mut self, delay: Duration, now: Timestamp) {
        self.change_schedule(|it| it.interrupt(now.saturating_add(delay)));
    }

    /// Notes that a commit was written now. Returns whether the turn has ended with it.
    pub(super) fn note_commit(&mut self, before: TurnStatus, now: Timestamp) -> bool {
        self.summary.updated_at = Some(now);
        if !self.summary.status.is_final() {
            self.summary.ended_at = None;
            return false;
        }
        self.summary.ended_at.get_or_insert(now);
        !before.is_final()
    }

    fn change_schedule<T>(&mut self, change: impl FnOnce(&mut TurnSchedule) -> T) -> T {
        let mut schedule = self.summary.schedule();
        let result = change(&mut schedule);
        self.summary.set_schedule(schedule);
        result
    }
}
