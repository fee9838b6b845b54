//! Views of stores that show one tenant: nothing of another tenant can be read, changed or found through them.
//!
//! The tenant is a column of every turn, and a turn never changes its tenant. A view adds the tenant to every query,
//! and looks the tenant of a turn up before it does anything with that turn or with one of its gates or results. Data
//! of another tenant looks as if it did not exist.

mod spools;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::store::{StoreError, TurnId, TurnStore};

pub(crate) use self::spools::TenantSpools;
pub(crate) use self::turns::TenantStore;

/// How many turns a view remembers.
const MAX_REMEMBERED: usize = 4096;

/// Determines which turns belong to a tenant.
#[derive(Debug)]
struct TurnOwnership {
    turns: Arc<dyn TurnStore>,
    tenant: Arc<str>,
    remembered: Mutex<RememberedTurns>,
}

#[derive(Debug, Default)]
struct RememberedTurns {
    is_own: HashMap<TurnId, bool>,
    order: VecDeque<TurnId>,
}

impl TurnOwnership {
    fn new(turns: Arc<dyn TurnStore>, tenant: Arc<str>) -> Self {
        Self { turns, tenant, remembered: Mutex::default() }
    }

    /// Whether a turn is the tenant's, as the store says now; `None` if there is no such turn.
    async fn look_up(&self, turn: &TurnId) -> Result<Option<bool>, StoreError> {
        let summary = self.turns.summary(turn.clone()).await?;
        let is_own = summary.map(|it| *it.tenant == *self.tenant);
        if let Some(is_own) = is_own {
            self.lock().insert(turn, is_own);
        }
        Ok(is_own)
    }

    /// Whether a turn belongs to the tenant, by the store or by an earlier lookup. Use it for turns that a lease or a
    /// record of the tenant has named already, such as for writes under a lease. Turns that a client names must be
    /// looked up.
    async fn recall(&self, turn: &TurnId) -> Result<Option<bool>, StoreError> {
        let known = self.lock().is_own.get(turn).copied();
        match known {
            Some(is_own) => Ok(Some(is_own)),
            None => self.look_up(turn).await,
        }
    }

    /// Fails as if there were no such turn, unless it is the tenant's.
    async fn check(&self, turn: &TurnId) -> Result<(), StoreError> {
        match self.look_up(turn).await? {
            Some(true) => Ok(()),
            _ => Err(StoreError::unknown_turn(turn)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, RememberedTurns> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RememberedTurns {
    fn insert(&mut self, turn: &TurnId, is_own: bool) {
        if self.is_own.insert(turn.clone(), is_own).is_none() {
            self.order.push_back(turn.clone());
        }
        while self.order.len() > MAX_REMEMBERED {
            if let Some(oldest) = self.order.pop_front() {
                self.is_own.remove(&oldest);
            }
        }
    }
}
