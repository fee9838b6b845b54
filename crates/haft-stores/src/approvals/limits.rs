//! Limits of standing approvals, which all stores of them share.

/// The longest text of a grant. Only exact arguments can be long.
pub(crate) const MAX_GRANT_BYTES: usize = 256 * 1024;

/// The most grants. Each call that requires approval reads them all.
pub(crate) const MAX_GRANTS: usize = 1000;
