use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::{Clock, InvalidTimestamp, ManualClock, SystemClock, Timestamp};

const DAY: i64 = 86_400_000_000;

#[test]
fn known_moments_have_their_known_text() {
    #[track_caller]
    fn check(micros: i64, text: &str) {
        let moment = Timestamp::from_micros(micros).unwrap();
        assert_eq!(moment.to_string(), text);
        assert_eq!(text.parse(), Ok(moment));
        let quoted = format!("\"{text}\"");
        assert_eq!(serde_json::to_string(&moment).unwrap(), quoted);
        assert_eq!(serde_json::from_str::<Timestamp>(&quoted).unwrap(), moment);
    }
    check(0, "1970-01-01T00:00:00.000000Z");
    check(-1, "1969-12-31T23:59:59.999999Z");
    check(1, "1970-01-01T00:00:00.000001Z");
    check(946_684_799_999_999, "1999-12-31T23:59:59.999999Z");
    check(951_782_400_000_000, "2000-02-29T00:00:00.000000Z");
    check(951_868_800_000_000, "2000-03-01T00:00:00.000000Z");
    check(1_000_000_000_000_000, "2001-09-09T01:46:40.000000Z");
    check(1_234_567_890_123_456, "2009-02-13T23:31:30.123456Z");
    check(1_709_251_199_000_000, "2024-02-29T23:59:59.000000Z");
    check(2_147_483_648_000_000, "2038-01-19T03:14:08.000000Z");
    check(4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z");
    check(4_107_542_400_000_000 - DAY, "2100-02-28T00:00:00.000000Z");
    check(-2_203_891_200_000_000, "1900-03-01T00:00:00.000000Z");
    check(-2_203_891_200_000_000 - DAY, "1900-02-28T00:00:00.000000Z");
    check(Timestamp::MIN.as_micros(), "0000-01-01T00:00:00.000000Z");
    check(Timestamp::MIN.as_micros() + 59 * DAY, "0000-02-29T00:00:00.000000Z");
    check(Timestamp::MAX.as_micros(), "9999-12-31T23:59:59.999999Z");
}

/// Walks the whole range by the calendar's own rules and looks at the first and the last day of the
/// months of its ends and of the cycles around the epoch.
#[test]
fn months_follow_the_calendar() {
    let mut micros = Timestamp::MIN.as_micros();
    for year in 0..=9999 {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (month, length) in lengths.into_iter().enumerate() {
            let last = micros + (length - 1) * DAY;
            let looked_at = [0..400, 1600..2400, 9600..10_000].iter().any(|it| it.contains(&year));
            for (day, micros) in [(1, micros), (length, last)].into_iter().filter(|_| looked_at) {
                let text = format!("{year:04}-{:02}-{day:02}T00:00:00.000000Z", month + 1);
                let moment = Timestamp::from_micros(micros).unwrap();
                assert_eq!(moment.to_string(), text);
                assert_eq!(text.parse(), Ok(moment));
            }
            let none = format!("{year:04}-{:02}-{:02}T00:00:00.000000Z", month + 1, length + 1);
            assert_eq!(none.parse::<Timestamp>(), Err(InvalidTimestamp), "{none}");
            micros += length * DAY;
        }
    }
    assert_eq!(micros, Timestamp::MAX.as_micros() + 1);
}

#[test]
fn only_the_one_form_is_read() {
    for text in [
        "",
        "2026-01-31",
        "2026-01-31T12:00:00Z",
        "2026-01-31T12:00:00.000Z",
        "2026-01-31T12:00:00.0000000Z",
        "2026-01-31T12:00:00.000000",
        "2026-01-31T12:00:00.000000z",
        "2026-01-31t12:00:00.000000Z",
        "2026-01-31 12:00:00.000000Z",
        "2026-01-31T12:00:00.000000+00:00",
        "2026-01-31T12:00:00.000000Z ",
        " 2026-01-31T12:00:00.000000Z",
        "2026-01-31T12:00:00,000000Z",
        "2026-00-31T12:00:00.000000Z",
        "2026-13-31T12:00:00.000000Z",
        "2026-01-00T12:00:00.000000Z",
        "2026-01-31T24:00:00.000000Z",
        "2026-01-31T12:60:00.000000Z",
        "2016-12-31T23:59:60.000000Z",
        "+026-01-31T12:00:00.000000Z",
        "-026-01-31T12:00:00.000000Z",
        "12026-01-31T12:00:00.000000Z",
        "2026-01-3éT12:00:00.000000Z",
    ] {
        assert_eq!(text.parse::<Timestamp>(), Err(InvalidTimestamp), "{text:?}");
    }
    assert!(serde_json::from_str::<Timestamp>("0").is_err());
}

#[test]
fn every_form_of_rfc_3339_is_the_same_moment() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let moment = Timestamp::parse_rfc3339(text);
        assert_eq!(moment.map(|it| it.to_string()).as_deref(), Ok(expected), "{text}");
    }
    check("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000000Z");
    check("2026-01-31t12:00:00z", "2026-01-31T12:00:00.000000Z");
    check("2026-01-31 12:00:00Z", "2026-01-31T12:00:00.000000Z");
    check("2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00.500000Z");
    check("2026-01-31T12:00:00.1234567899Z", "2026-01-31T12:00:00.123456Z");
    check("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000000Z");
    check("2025-12-31T20:30:00.000-03:30", "2026-01-01T00:00:00.000000Z");
    check("9999-12-31T23:59:59.999999-00:00", "9999-12-31T23:59:59.999999Z");
    for text in [
        "",
        "2026-01-31",
        "2026-01-31T12:00Z",
        "2026-01-31T12:00:00",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00+1:00",
        "2026-01-31T12:00:00+24:00",
        "2026-01-31T12:00:00Z ",
        "2026-02-29T12:00:00Z",
        "2026-01-31T12:00:60Z",
        "9999-12-31T23:59:59-00:01",
        "0000-01-01T00:00:00+00:01",
    ] {
        assert_eq!(Timestamp::parse_rfc3339(text), Err(InvalidTimestamp), "{text}");
    }
}

#[test]
fn the_range_is_the_one_that_has_a_text() {
    for outside in
        [i64::MIN, Timestamp::MIN.as_micros() - 1, Timestamp::MAX.as_micros() + 1, i64::MAX]
    {
        assert_eq!(Timestamp::from_micros(outside), Err(InvalidTimestamp));
    }
    let micro = Duration::from_micros(1);
    assert_eq!(Timestamp::MAX.saturating_add(micro), Timestamp::MAX);
    assert_eq!(Timestamp::EPOCH.saturating_add(Duration::MAX), Timestamp::MAX);
    assert_eq!(Timestamp::MIN.saturating_sub(micro), Timestamp::MIN);
    assert_eq!(Timestamp::EPOCH.saturating_sub(Duration::MAX), Timestamp::MIN);
    let whole = Timestamp::MAX.duration_since(Timestamp::MIN);
    assert_eq!(Timestamp::MIN.saturating_add(whole), Timestamp::MAX);
    assert_eq!(Timestamp::MAX.saturating_sub(whole), Timestamp::MIN);
    assert_eq!(Timestamp::MIN.duration_since(Timestamp::MAX), Duration::ZERO);
}

#[test]
fn a_manual_clock_moves_by_hand() {
    let manual = Arc::new(ManualClock::default());
    let clock: &dyn Clock = &Arc::clone(&manual);
    assert_eq!((clock.now(), clock.monotonic()), (Timestamp::EPOCH, Duration::ZERO));
    manual.advance(Duration::from_secs(60));
    assert_eq!(clock.now().to_string(), "1970-01-01T00:01:00.000000Z");
    assert_eq!(clock.monotonic(), Duration::from_secs(60));
    manual.set(Timestamp::MIN);
    assert_eq!((clock.now(), clock.monotonic()), (Timestamp::MIN, Duration::from_secs(60)));
    manual.advance(Duration::MAX);
    assert_eq!((clock.now(), clock.monotonic()), (Timestamp::MAX, Duration::MAX));
}

#[test]
fn the_system_clock_runs_forward_from_a_plausible_date() {
    let clock = SystemClock::new();
    let first = clock.monotonic();
    assert!(SystemClock::default().monotonic() >= first);
    assert!(clock.now().to_string().as_str() > "2026-01-01");
}

proptest! {
    #[test]
    fn text_and_moment_are_the_same_in_both_directions_and_order(
        left in Timestamp::MIN.as_micros()..=Timestamp::MAX.as_micros(),
        right in Timestamp::MIN.as_micros()..=Timestamp::MAX.as_micros(),
    ) {
        let moments = [left, right].map(|it| Timestamp::from_micros(it).unwrap());
        let texts = moments.map(|it| it.to_string());
        prop_assert_eq!(texts[0].parse(), Ok(moments[0]));
        prop_assert_eq!(texts[0].cmp(&texts[1]), left.cmp(&right));
        let low = moments[0].min(moments[1]);
        let high = moments[0].max(moments[1]);
        prop_assert_eq!(low.saturating_add(high.duration_since(low)), high);
    }
}

#[test]
fn one_reading_of_the_system_tells_both_times() {
    let clock = SystemClock::new();
    let mut last = clock.read();
    for _ in 0..1000 {
        let next = clock.read();
        assert!(next.monotonic >= last.monotonic);
        // Reckoned from the same moment, so the two move together unless the wall clock was set.
        let behind = clock.now().duration_since(next.wall);
        assert!(behind < Duration::from_secs(3600), "{behind:?}");
        last = next;
    }
}
