//! Replaces the durations, ages and times that differ from run to run. What is replaced keeps its kind and is plausible: a
//! number with a wrong unit, in a wrong form or out of range stays, and the snapshot differs.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use haft::turn::{Clock as _, SystemClock, Timestamp};

static BEGIN: OnceLock<Instant> = OnceLock::new();

/// Remembers when the first command of this process was prepared: nothing that is printed took longer than since then.
#[expect(clippy::disallowed_methods, reason = "what commands print is compared with real time")]
pub(crate) fn note_begin() {
    BEGIN.get_or_init(Instant::now);
}

/// How long commands have run at most.
fn longest() -> Duration {
    BEGIN.get().map_or(Duration::ZERO, Instant::elapsed)
}

/// What a number with its unit says, by the form in which `haft` writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Span {
    /// A duration in seconds: `12 ms`, `1.5 s`, `2 min 5 s`, `1 h 2 min`.
    Duration(f64),
    /// An age in seconds: `12 s`, `2 min`, `1 h`, `3 d`.
    Age(f64),
}

/// Replaces durations by `DURATION` and ages by `AGE`, if no command has run for longer. A whole turn takes some time.
pub(crate) fn redact_durations(text: &str) -> String {
    redact_spans(text, longest())
}

fn redact_spans(text: &str, longest: Duration) -> String {
    let lines = text.lines().map(|line| redact_line(line, longest.as_secs_f64()));
    lines.collect::<Vec<_>>().join("\n")
}

fn redact_line(line: &str, longest: f64) -> String {
    let is_turn = ["turn ", "usage "].iter().any(|it| line.trim_start().starts_with(it));
    let mut words: Vec<String> = Vec::new();
    let mut rest: Vec<&str> = line.split(' ').collect();
    while !rest.is_empty() {
        let (name, count) = match read_span(&rest) {
            Some((Span::Duration(it), count)) if it <= longest && !(is_turn && it == 0.0) => {
                ("DURATION", count)
            }
            // The clock of a computer is not steady.
            Some((Span::Age(it), count)) if it <= longest + 1.0 => ("AGE", count),
            _ => {
                words.push(rest.remove(0).to_owned());
                continue;
            }
        };
        let taken: Vec<&str> = rest.drain(..count).collect();
        let open = if taken.concat().starts_with('(') { "(" } else { "" };
        let end = taken.last().map_or("", |it| it.trim_start_matches(char::is_alphabetic));
        words.push(format!("{open}{name}{end}"));
    }
    words.join(" ")
}

/// The duration or age with which some words begin, and of how many words it consists.
fn read_span(words: &[&str]) -> Option<(Span, usize)> {
    let number = words.first()?.trim_start_matches('(');
    let whole = |at: usize| {
        let text = if at == 0 { number } else { words.get(at)? };
        let is_plain = text == "0" || !text.starts_with('0');
        text.parse::<u32>().ok().filter(|_| is_plain).map(f64::from)
    };
    let unit = |at: usize| Some(words.get(at)?.trim_end_matches([',', ')', ';', '.']));
    let below = |value: Option<f64>, limit: f64| value.filter(|it| *it < limit);
    let two = |first: f64, second: f64| Some((Span::Duration(first + second), 4));
    match (unit(1)?, *words.get(1)? == unit(1)?, unit(3)) {
        ("min", true, Some("s")) if below(whole(2), 60.0).is_some() => {
            two(below(whole(0), 60.0)? * 60.0, whole(2)?)
        }
        ("h", true, Some("min")) if below(whole(2), 60.0).is_some() => {
            two(whole(0)? * 3600.0, whole(2)? * 60.0)
        }
        ("ms", ..) => Some((Span::Duration(below(whole(0), 1000.0)? / 1000.0), 2)),
        ("s", ..) => match number.split_once('.') {
            Some((_, tenths)) if tenths.len() == 1 => {
                let seconds = number.parse::<f64>().ok();
                Some((Span::Duration(seconds.filter(|it| (1.0..60.0).contains(it))?), 2))
            }
            _ => Some((Span::Age(below(whole(0), 60.0)?), 2)),
        },
        ("min", ..) => Some((Span::Age(below(whole(0), 60.0)? * 60.0), 2)),
        ("h", ..) => Some((Span::Age(below(whole(0), 24.0)? * 3600.0), 2)),
        ("d", ..) => Some((Span::Age(whole(0)? * 86_400.0), 2)),
        _ => None,
    }
}

/// Whether this is a time in UTC such as `2026-11-17T23:40:40.801077Z`, and a command was running then.
pub(crate) fn is_recent_time(token: &str) -> bool {
    let Some(at) = Timestamp::parse_rfc3339(token).ok().filter(|_| token.ends_with('Z')) else {
        return false;
    };
    let now = SystemClock::new().now();
    // A time may be without its fraction.
    at <= now && now.duration_since(at) <= longest() + Duration::from_secs(1)
}

#[test]
fn only_plausible_numbers_with_their_units_are_replaced() {
    let redact = |text: &str| redact_spans(text, Duration::from_secs(4000));
    for (text, expected) in [
        ("call  57 ms", "call  DURATION"),
        ("ended, 1.5 s", "ended, DURATION"),
        ("(12.0 s)", "(DURATION)"),
        ("took 2 min 5 s, then", "took DURATION, then"),
        ("took 1 h 2 min", "took DURATION"),
        ("in 0 ms", "in DURATION"),
        ("ID  completed  17 s  a", "ID  completed  AGE  a"),
        ("3 min", "AGE"),
        // Another unit, another form, another range.
        ("turn ID completed: 57 s", "turn ID completed: AGE"),
        ("57.25 s", "57.25 s"),
        ("0.5 s", "0.5 s"),
        ("1500 ms", "1500 ms"),
        ("60.0 s", "60.0 s"),
        ("2 min 60 s", "AGE 60 s"),
        // Longer than anything has run: one hour and nine minutes.
        ("1 h 9 min", "1 h AGE"),
        ("2 h", "2 h"),
        ("1 d", "1 d"),
        ("turn ID completed: 0 ms", "turn ID completed: 0 ms"),
        ("57 us", "57 us"),
    ] {
        assert_eq!(redact(text), expected, "{text}");
    }
}
