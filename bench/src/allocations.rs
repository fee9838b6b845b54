//! The counting allocator of the `allocations` build.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations and reallocations made by `work`.
pub(crate) fn during(work: impl FnOnce()) -> f64 {
    let region = Region::new(ALLOCATOR);
    work();
    let change = region.change();
    (change.allocations + change.reallocations) as f64
}
