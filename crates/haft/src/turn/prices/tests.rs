use haft_core::usage::Usage;

use super::{CostLimit, TokenPrices};

#[test]
fn a_limit_is_reached_by_what_each_kind_of_tokens_costs() {
    let limit = CostLimit::new(0.30, TokenPrices::per_million(0.25, 2.0).cached(0.025));
    for (usage, is_reached) in [
        (Usage::new(1_199_999, 0), false),
        (Usage::new(1_200_000, 0), true),
        (Usage::new(1_200_000, 0).with_cached(1), false),
        (Usage::new(12_000_000, 0).with_cached(12_000_000), true),
        (Usage::new(0, 149_999), false),
        (Usage::new(0, 150_000), true),
        (Usage::new(u64::MAX, u64::MAX), true),
        // More tokens from a cache than were read at all count as those that were read.
        (Usage::new(10, 0).with_cached(1_000_000_000), false),
    ] {
        assert_eq!(limit.is_reached(usage), is_reached, "{usage:?}");
    }
}

#[test]
fn amounts_are_rounded_up_and_nonsense_is_nothing() {
    assert!(!CostLimit::new(1e-9, TokenPrices::per_million(1.0, 1.0)).is_zero());
    for max in [0.0, -1.0, f64::NAN] {
        assert!(CostLimit::new(max, TokenPrices::per_million(1.0, 1.0)).is_zero(), "{max}");
    }
    let free = CostLimit::new(f64::INFINITY, TokenPrices::per_million(0.0, 0.0));
    assert!(!free.is_reached(Usage::new(u64::MAX, 0)));
}
