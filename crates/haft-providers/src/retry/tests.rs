use haft_core::clock::Timestamp;

use super::hints::parse_http_date;

#[test]
fn dates_are_read_in_three_forms() {
    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let now: Timestamp = "2026-01-31T12:00:00.000000Z".parse().unwrap();
        let found = parse_http_date(text, now).map(|it| it.to_string());
        assert_eq!(found, expected.map(|it| format!("{it}.000000Z")), "{text}");
    }
    let then = Some("1994-11-06T08:49:37");
    check("Sun, 06 Nov 1994 08:49:37 GMT", then);
    check("Sunday, 06-Nov-94 08:49:37 GMT", then);
    check("Sun Nov  6 08:49:37 1994", then);
    check("  Sun, 06 Nov 1994 08:49:37 GMT ", then);
    // Two digits mean the year that is at most 50 years ahead.
    check("Friday, 31-Jan-76 08:49:37 GMT", Some("2076-01-31T08:49:37"));
    check("Friday, 31-Jan-77 08:49:37 GMT", Some("1977-01-31T08:49:37"));
    // Our time has no leap seconds.
    check("Sat, 31 Dec 2016 23:59:60 GMT", Some("2016-12-31T23:59:59"));
    check("Tue, 29 Feb 2028 00:00:00 GMT", Some("2028-02-29T00:00:00"));
    for wrong in [
        "",
        "now",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov +994 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov 006 08:49:37 1994",
    ] {
        check(wrong, None);
    }
}
