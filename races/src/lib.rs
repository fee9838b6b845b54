//! Checks of parts of Haft under a scheduler that tries orders of threads: the event hub, the notification of turns whose
//! gates were settled, and the renewal of leases.
//!
//! These modules are the files of the crate `haft`. They take their locks, counters and tasks from `crate::sync`, which
//! here is made of the types of `shuttle`: at each of them the scheduler decides which thread runs next.

#[cfg(test)]
mod events;
#[cfg(test)]
mod gates;
#[cfg(test)]
mod leases;
#[cfg(test)]
mod stores;
#[cfg(test)]
mod sync;
