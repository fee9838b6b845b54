//! How numbers are written for people: value and unit.

use std::time::Duration;

use haft::turn::Timestamp;

use crate::prices::format_cost;

use super::{count_noun, elide, format_age_at, format_count, format_duration, format_time};

#[test]
fn durations_have_the_unit_of_their_size() {
    for (milliseconds, expected) in [
        (0, "0 ms"),
        (1, "1 ms"),
        (57, "57 ms"),
        (999, "999 ms"),
        (1000, "1.0 s"),
        (1049, "1.0 s"),
        (1050, "1.1 s"),
        (17_042, "17.0 s"),
        (59_949, "59.9 s"),
        (59_950, "1 min 0 s"),
        (60_000, "1 min 0 s"),
        (61_999, "1 min 1 s"),
        (3_599_999, "59 min 59 s"),
        (3_600_000, "1 h 0 min"),
        (5_430_000, "1 h 30 min"),
        (172_800_000, "48 h 0 min"),
    ] {
        assert_eq!(format_duration(Duration::from_millis(milliseconds)), expected);
    }
    assert_eq!(format_duration(Duration::from_micros(999_999)), "999 ms");
}

#[test]
fn ages_have_one_unit() {
    let at = Timestamp::EPOCH;
    for (seconds, expected) in [
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (86_399, "23 h"),
        (86_400, "1 d"),
        (31_536_000, "365 d"),
    ] {
        let now = at.saturating_add(Duration::from_secs(seconds));
        assert_eq!(format_age_at(at, now), expected);
        // A clock that was set back.
        assert_eq!(format_age_at(now, at), "0 s");
    }
}

#[test]
fn costs_are_dollars_with_the_digits_that_matter() {
    for (cost, expected) in [
        (0.0, "$0.0000"),
        (0.000_000_4, "<$0.000001"),
        (0.000_012_3, "$0.000012"),
        (0.000_999, "$0.000999"),
        (0.001, "$0.0010"),
        (0.002_83, "$0.0028"),
        (0.25, "$0.2500"),
        (1234.5, "$1234.5000"),
    ] {
        assert_eq!(format_cost(cost), expected);
    }
}

#[test]
fn counts_have_separators_between_thousands() {
    for (count, expected) in [
        (0, "0"),
        (999, "999"),
        (1000, "1,000"),
        (57_788, "57,788"),
        (203_158_043, "203,158,043"),
        (u64::MAX, "18,446,744,073,709,551,615"),
    ] {
        assert_eq!(format_count(count), expected);
    }
    for (count, expected) in [(0, "0 steps"), (1, "1 step"), (2, "2 steps"), (1000, "1000 steps")] {
        assert_eq!(count_noun(count, "step"), expected);
    }
}

#[test]
fn times_are_in_utc_to_the_second() {
    for (micros, expected) in [
        (0, "1970-01-01T00:00:00Z"),
        (999_999, "1970-01-01T00:00:00Z"),
        (1_772_448_720_000_001, "2026-03-02T10:52:00Z"),
    ] {
        assert_eq!(format_time(Timestamp::from_micros(micros).unwrap()), expected);
    }
}

#[test]
fn what_is_left_out_is_counted_in_bytes() {
    for (text, limit, expected) in [
        ("four", 4, "four"),
        ("fours", 4, "four… (1 more byte)"),
        ("größer", 3, "grö… (4 more bytes)"),
        ("", 0, ""),
    ] {
        assert_eq!(elide(text, limit), expected);
    }
    let long = "x".repeat(1500);
    assert!(elide(&long, 100).ends_with("… (1,400 more bytes)"));
}
