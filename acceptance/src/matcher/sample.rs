//! Finds samples in a line of a page: values that differ in every run.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// How long what a page shows may take, in seconds.
const LONGEST: u32 = 60;

/// An id, a time or a duration. The first that matches at a place counts.
static SAMPLES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        (?<uuid> \b [0-9a-f]{8} (?: -[0-9a-f]{4} ){3} -[0-9a-f]{12} \b )
        | (?<time> \b \d{4}-\d\d-\d\d [T\x20] \d\d:\d\d:\d\d Z? \b )
        | (?<hex> \b (?: [0-9a-f]{64} | [0-9a-f]{32} | [0-9a-f]{8} ) \b )
        | (?<duration> \b \d+ (?: \.\d+ )? \x20 (?: µs | ms | s | min | h ) (?: \x20 \d+ \x20 (?: s | min ) )? \b )
        ",
    )
    .ok()
});

/// The line with a placeholder for every sample, which accepts another value of the same kind.
pub(super) fn generalize(line: &str) -> String {
    let Some(samples) = SAMPLES.as_ref() else { return line.to_owned() };
    samples.replace_all(line, |found: &Captures<'_>| placeholder(found)).into_owned()
}

fn placeholder(found: &Captures<'_>) -> String {
    if found.name("uuid").is_some() {
        "[UUID]".to_owned()
    } else if found.name("time").is_some() {
        "[TIME]".to_owned()
    } else if let Some(hex) = found.name("hex") {
        format!("[HEX{}]", hex.len())
    } else {
        format!("[DURATION 0s..{LONGEST}s]")
    }
}

#[cfg(test)]
mod tests {
    use super::generalize;

    #[test]
    fn samples_become_placeholders_of_their_kind() {
        for (line, expected) in [
            (
                "turn 01a1f291-8a55-72ab-9a8f-859ef247502d completed: 2 steps, 2 calls, 105 ms",
                "turn [UUID] completed: 2 steps, 2 calls, [DURATION 0s..60s]",
            ),
            ("It is 2026-11-19 06:50:01 UTC.", "It is [TIME] UTC."),
            (
                "← read_file text 086ab5ee, 203158043 bytes",
                "← read_file text [HEX8], 203158043 bytes",
            ),
            ("took 1 min 4 s and 3 s", "took [DURATION 0s..60s] and [DURATION 0s..60s]"),
            ("a 7 miles, 5 steps, deadbeefdeadbeef", "a 7 miles, 5 steps, deadbeefdeadbeef"),
        ] {
            assert_eq!(generalize(line), expected);
        }
    }
}
