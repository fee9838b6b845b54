use super::placeholder::Values;
use super::{compare, find, rewrite};

/// Thursday, 2026-11-19, at noon.
const NOON: u64 = 1_795_089_600;

fn values() -> Values {
    let env = [("PWD".to_owned(), "/d/work".to_owned())].into();
    Values { env, now: NOON, samples_vary: false }
}

#[track_caller]
fn check(expected: &str, actual: &str, is_equal: bool) {
    let result = compare(expected, actual, &values());
    assert_eq!(result.is_ok(), is_equal, "{expected:?} and {actual:?}: {result:?}");
}

#[test]
fn plain_lines_are_compared_as_they_are() {
    check("a\nb\n", "a\nb", true);
    check("a\nb\n", "a\nb\n\n", true);
    check("a\n", "a\nb\n", false);
    check("a\nb\n", "a\n", false);
    check("a\nb\n", "b\na\n", false);
    check("", "a\n", false);
    check("a", "", false);
    check("[tools.files] and a[0]", "[tools.files] and a[0]", true);
}

#[test]
fn elisions_stand_for_lines_and_parts_of_lines() {
    check("a\n...\nd\n", "a\nb\nc\nd\n", true);
    check("a\n...\nd\n", "a\nd\n", true);
    check("...\nd\n", "b\nd\n", true);
    check("a\n...\n", "a\n", true);
    check("a\n...\nd\n", "a\nb\nc\n", false);
    check("...\nb\n...\nb\n", "b\nx\n", false);
    check("a [..] d", "a b c d", true);
    check("a [..] d", "a b c", false);
}

#[test]
fn a_duration_has_a_unit_and_a_plausible_value() {
    for shown in ["12 ms", "1.2 s", "4.9 s"] {
        check("in [DURATION<=5s].", &format!("in {shown}."), true);
    }
    for shown in ["0 ms", "12 s", "0.0 s", "-1 s", "12", "12 m", "5.1 s", "1e0 s", "1 min 0 s"] {
        check("in [DURATION<=5s].", &format!("in {shown}."), false);
    }
    check("[DURATION<=2h]", "1 h 3 min", true);
    check("[DURATION<=2h]", "0 min 3 s", false);
    check("[DURATION<=2h]", "1 min 63 s", false);
    check("[DURATION 2s..5s]", "1.9 s", false);
    check("[DURATION 0s..5s]", "0 ms", true);
    // Milliseconds that are printed as seconds.
    check("(2 steps, [DURATION<=5s])", "(2 steps, 840.0 s)", false);
}

#[test]
fn an_age_is_recent() {
    check("[AGE]", "3 s", true);
    check("[AGE]", "1 min", true);
    check("[AGE]", "2 min", false);
    check("[AGE]", "3.5 s", false);
    check("[AGE]", "3 ms", false);
    check("[AGE<=3h]", "2 h", true);
}

#[test]
fn a_time_is_near_the_present() {
    check("[TIME]", "2026-11-19T12:00:01Z", true);
    check("[TIME]", "2026-11-19T11:40:01.801077Z", true);
    check("[TIME]", "2026-11-19 12:00:01", true);
    check("[TIME]", "2026-11-19 13:00:00", false);
    check("[TIME]", "2026-11-19T13:40:01Z", false);
    check("[TIME]", "2026-11-18T12:00:01Z", false);
    check("[TIME]", "2026-13-19T12:00:01Z", false);
    check("[TIME]", "1970-01-01T00:00:00Z", false);
}

#[test]
fn a_size_is_near_the_expected_one() {
    for shown in ["203,158,043", "203,158,043 bytes", "194 MiB", "203 MB", "199000000"] {
        check("[SIZE~203158043±10%]", shown, true);
    }
    for shown in ["203,158,043 KiB", "190 MB", "194 KiB", "1940 MiB", "MiB"] {
        check("[SIZE~203158043±5%]", shown, false);
    }
}

#[test]
fn other_values_have_their_forms() {
    check("[TURN]", "019a9d5f-8a3c-7000-8000-123456789abc", true);
    check("[TURN]", "019a9d5f-8a3c-7000-8000-123456789abg", false);
    check("[TURN]", "019a9d5f", false);
    check("[HEX8]", "019a9d5f", true);
    check("[HEX8]", "019a9d5f8", false);
    check(":[PORT]/", ":43210/", true);
    check(":[PORT]/", ":80/", false);
    check(":[PORT]/", ":70000/", false);
    check("[INT 1..9] steps", "3 steps", true);
    check("[INT 1..9] steps", "0 steps", false);
    check("[INT<=2000] tok", "1,230 tok", true);
    check("[INT<=2000] tok", "12,30 tok", false);
    check("[COST<=0.01]", "$0.0012", true);
    check("[COST<=0.01]", "$0.0000", false);
    check("[COST<=0.01]", "0.0012", false);
    check("[WORD] b", "a b", true);
    check("[WORD] b", "a a b", false);
    check("in [$PWD]/a", "in /d/work/a", true);
    check("in [$PWD]/a", "in /d/other/a", false);
}

#[test]
fn a_misspelt_placeholder_is_an_error() {
    for wrong in ["[DURATION]", "[DURATION<=5]", "[SIZE~9]", "[HEX]", "[AGE<5s]"] {
        check(wrong, wrong, false);
    }
    check("[TODO] is text", "[TODO] is text", true);
}

#[test]
fn a_difference_shows_only_what_differs() {
    let shown = compare("a\n[DURATION<=5s]\nc\n", "a\n3 s\nd\n", &values()).unwrap_err();
    assert_eq!(shown, "      a\n      3 s\n    - c\n    + d\n");
}

#[test]
fn a_rewritten_text_keeps_the_lines_that_match() {
    #[track_caller]
    fn check(expected: &str, actual: &str, rewritten: &str) {
        assert_eq!(rewrite(expected, actual, &values()).unwrap(), rewritten);
        compare(rewritten, actual, &values()).unwrap();
    }
    check("a\n[AGE]\nc\n", "a\n3 s\nd\n", "a\n[AGE]\nd\n");
    check("a\n...\nz\n", "a\nb\nc\n", "a\n...\n");
    check("a\n...\nz\n", "a\nb\nz\n", "a\n...\nz\n");
    check("", "a\n", "a\n");
}

#[test]
fn a_text_is_found_within_a_line() {
    #[track_caller]
    fn check(expected: &str, text: &str, end: Option<usize>) {
        assert_eq!(find(expected, text, &values()).unwrap(), end, "{expected} in {text:?}");
    }
    check("b", "a\nbc\nb", Some(3));
    check("in [DURATION<=5s]", "x\nran in 3 s, b", Some(12));
    check("in [DURATION<=5s]", "x\nran in 30 s, b", None);
    check("ab", "a\nb", None);
    check("a[..]c", "ab\nc abc", Some(8));
}

#[test]
fn a_page_shows_samples() {
    let page = Values { samples_vary: true, ..values() };
    let shown = "turn 01a1f291-8a55-72ab-9a8f-859ef247502d completed: 2 steps, 105 ms\n";
    let printed = "turn 01a1f2aa-0000-72ab-9a8f-859ef2475000 completed: 2 steps, 1.2 s\n";
    compare(shown, printed, &page).unwrap();
    assert!(compare(shown, printed, &values()).is_err());
    assert!(compare(shown, &printed.replace("2 steps", "3 steps"), &page).is_err());
    assert!(compare(shown, &printed.replace("1.2 s", "1.2 MB"), &page).is_err());
    assert_eq!(rewrite(shown, printed, &page).unwrap(), shown, "a sample that matches stays");
}
