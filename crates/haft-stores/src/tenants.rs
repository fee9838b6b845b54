//! Views of stores that show one tenant: nothing of another tenant can be read, changed or found through them.
//!
//! The tenant is a column of every turn, and a turn never changes its tenant. A view adds the tenant to every query,
//! compares it with that of a lease, and asks the store for the tenant of a turn before it does anything else with that
//! turn. Data of another tenant looks as if it did not exist.

mod spools;
#[cfg(test)]
mod tests;
mod turns;

pub(crate) use self::spools::TenantSpools;
pub(crate) use self::turns::TenantStore;
