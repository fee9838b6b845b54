//! The right to run a turn, and requests to end one.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{StoreError, TurnId, check_text};
use crate::clock::Timestamp;

/// A request for a lease: the holder and the duration. The lease begins when the store grants it, by the clock of the
/// store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseRequest {
    /// The process, in words for operators.
    pub name: Arc<str>,
    /// How long the lease holds unless it is renewed.
    pub ttl: Duration,
}

impl LeaseRequest {
    /// A request of the process with this name.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, ttl: Duration) -> Self {
        Self { name: name.into(), ttl }
    }

    /// Checks the name, as every store does first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if it cannot be stored.
    pub fn check(&self) -> Result<(), StoreError> {
        check_text("the name of a holder", &self.name)
    }
}

/// The right to run a turn. A process that takes a turn over gets a higher epoch, and leases of earlier epochs are
/// refused. A lease with another holder's name is refused too, in case the turn was removed and created again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// The turn.
    pub turn: TurnId,
    /// Who has it.
    pub holder: Arc<str>,
    /// Grows with every taker.
    pub epoch: u64,
    /// Until when it holds, by the clock of the store.
    pub until: Timestamp,
    /// How long it holds after a renewal.
    pub ttl: Duration,
    /// How often the turn was taken over from a process that has not been heard of again, since it last made progress.
    /// A turn that crashes every process that runs it has a high number.
    pub take_overs: u32,
    /// Who has asked for the end of the turn, as of the claim or the last renewal.
    pub cancel: Option<CancelRequest>,
    /// The namespace of the turn.
    pub tenant: String,
}

impl Lease {
    /// A lease that a store gives out now.
    #[must_use]
    pub fn new(turn: TurnId, request: &LeaseRequest, epoch: u64, now: Timestamp) -> Self {
        Self {
            turn,
            holder: Arc::clone(&request.name),
            epoch,
            until: now.saturating_add(request.ttl),
            ttl: request.ttl,
            take_overs: 0,
            cancel: None,
            tenant: String::new(),
        }
    }

    /// The lease, renewed.
    ///
    /// ```
    /// use std::time::Duration;
    /// use haft_core::clock::Timestamp;
    /// use haft_core::store::{Lease, LeaseRequest};
    ///
    /// let request = LeaseRequest::new("worker-1", Duration::from_secs(30));
    /// let lease = Lease::new("turn-1".parse()?, &request, 1, Timestamp::EPOCH);
    /// let later = lease.until;
    /// assert_eq!(lease.renewed(later).until, later.saturating_add(Duration::from_secs(30)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn renewed(mut self, now: Timestamp) -> Self {
        self.until = now.saturating_add(self.ttl);
        self
    }

    /// When it was granted or last renewed, by the clock of the store. By comparing it with its own clock, a holder
    /// learns how far the two clocks differ.
    #[must_use]
    pub fn granted_at(&self) -> Timestamp {
        self.until.saturating_sub(self.ttl)
    }
}

/// Which turns a process claims.
///
/// ```
/// use haft_core::store::ClaimFilter;
///
/// let filter = ClaimFilter::default().agent("support").tenant("shop");
/// assert_eq!(filter.agents, ["support"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClaimFilter {
    /// Only turns of these agents; of all if there is none.
    pub agents: Vec<String>,
    /// Only turns of a namespace.
    pub tenant: Option<String>,
    /// The turn of this name, also if it could not run yet.
    pub turn: Option<TurnId>,
}

impl ClaimFilter {
    /// Only turns of this agent, or another one that was given.
    #[must_use]
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.agents.push(agent.into());
        self
    }

    /// Only turns of a namespace.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// The turn of this name, also if it could not run yet.
    #[must_use]
    pub fn turn(mut self, turn: TurnId) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Whether a turn of this agent and namespace is one of them.
    #[must_use]
    pub fn selects(&self, agent: Option<&str>, tenant: &str) -> bool {
        (self.agents.is_empty() || self.agents.iter().any(|it| Some(it.as_str()) == agent))
            && self.tenant.as_deref().is_none_or(|it| it == tenant)
    }
}

/// A request to end a turn that another process may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CancelRequest {
    /// Who asks, in words for operators.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When the store received it, by the clock of the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

impl CancelRequest {
    /// A request.
    pub fn new(by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { by: by.into(), reason: reason.into(), at: None }
    }

    /// Checks the texts, as every store does first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if one of them cannot be stored.
    pub fn check(&self) -> Result<(), StoreError> {
        check_text("who cancels a turn", &self.by)?;
        check_text("the reason of a cancellation", &self.reason)
    }
}

/// The outcome of a request to cancel a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CancelOutcome {
    /// It is stored. The process that runs the turn sees it at its next renewal, or the next process that claims it.
    Requested,
    /// It had been asked for before. The first request counts.
    AlreadyRequested,
    /// The turn has ended, and nothing was written.
    Ended,
}
