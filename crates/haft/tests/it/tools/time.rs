use haft::tools;
use serde_json::json;

use super::Bench;

#[tokio::test]
async fn the_time_is_that_of_the_clock() {
    let time = Bench::new(tools::time());
    insta::assert_snapshot!(time.text("get_current_time", json!({})).await, @r#"{"time":"2026-01-31T12:00:00+00:00","timezone":"UTC","weekday":"Saturday","unix_seconds":1769860800}"#);
    let args = json!({"timezone": "asia/tokyo"});
    insta::assert_snapshot!(time.text("get_current_time", args).await, @r#"{"time":"2026-01-31T21:00:00+09:00","timezone":"Asia/Tokyo","weekday":"Saturday","unix_seconds":1769860800}"#);
    time.fails("get_current_time", json!({"timezone": "Mars/Olympus"}), "use a name of the IANA")
        .await;
}

#[tokio::test]
async fn zones() {
    let time = Bench::new(tools::time());
    for (text, from, to, expect) in [
        ("2026-01-31T14:30", "America/New_York", "Europe/Paris", "2026-01-31T20:30:00+01:00"),
        ("2026-07-01T14:30", "America/New_York", "UTC", "2026-07-01T18:30:00+00:00"),
        ("2026-07-01T14:30:00Z", "America/New_York", "Asia/Kolkata", "2026-07-01T20:00:00+05:30"),
        ("2026-07-01T14:30:00.25-07:00", "UTC", "UTC", "2026-07-01T21:30:00.25+00:00"),
        ("2026-01-31", "UTC", "Pacific/Auckland", "2026-01-31T13:00:00+13:00"),
        ("now", "UTC", "UTC", "2026-01-31T12:00:00+00:00"),
    ] {
        let args = json!({"time": text, "from": from, "to": to});
        assert_eq!(time.json("convert_time", args).await["time"], expect, "{text}");
    }
    let args = json!({"time": "half past nine", "to": "UTC"});
    time.fails("convert_time", args, "write ISO 8601").await;
    time.fails("convert_time", json!({"time": "2026-02-30", "to": "UTC"}), "not a time").await;
}

#[tokio::test]
async fn adding() {
    let time = Bench::new(tools::time());
    for (args, expect) in [
        (json!({"time": "2026-01-31", "months": 1}), "2026-02-28T00:00:00+00:00"),
        (json!({"time": "2028-01-31", "months": 1}), "2028-02-29T00:00:00+00:00"),
        (json!({"time": "now", "days": -31, "hours": 3}), "2025-12-31T15:00:00+00:00"),
        // A day of the calendar, and 24 hours, over the night when clocks go forward.
        (
            json!({"time": "2026-03-28T12:00", "timezone": "Europe/Paris", "days": 1}),
            "2026-03-29T12:00:00+02:00",
        ),
        (
            json!({"time": "2026-03-28T12:00", "timezone": "Europe/Paris", "hours": 24}),
            "2026-03-29T13:00:00+02:00",
        ),
    ] {
        let shown = args.to_string();
        assert_eq!(time.json("date_add", args).await["time"], expect, "{shown}");
    }
    time.fails("date_add", json!({"time": "2026-01-01", "years": 9000}), "-9999 to 9999").await;
}

#[tokio::test]
async fn differences() {
    let time = Bench::new(tools::time());
    let args = json!({"from": "2024-02-29", "to": "2026-03-01T06:30"});
    insta::assert_snapshot!(time.text("date_diff", args).await, @r#"{"to_is":"later","years":2,"months":0,"days":1,"hours":6,"minutes":30,"seconds":0,"total_seconds":63181800,"calendar_days":731,"weekdays":522}"#);
    let back =
        time.json("date_diff", json!({"from": "2026-03-01T06:30", "to": "2024-02-29"})).await;
    assert_eq!((&back["to_is"], &back["calendar_days"]), (&json!("earlier"), &json!(731)));
    // Saturday to Saturday.
    let week = time.json("date_diff", json!({"from": "now", "to": "2026-02-07"})).await;
    assert_eq!((&week["calendar_days"], &week["weekdays"]), (&json!(7), &json!(5)));
}

#[tokio::test]
async fn calendars() {
    let time = Bench::new(tools::time());
    let args = json!({"time": "2026-07-04T10:00", "timezone": "America/New_York"});
    insta::assert_snapshot!(time.text("date_calendar_info", args).await, @r#"{"time":"2026-07-04T10:00:00-04:00","timezone":"America/New_York","weekday":"Saturday","unix_seconds":1783173600,"weekend":true,"day_of_year":185,"iso_week":"2026-W27","quarter":3,"days_in_month":31,"leap_year":false,"daylight_saving":true}"#);
    let args = json!({"time": "2027-01-01"});
    assert_eq!(time.json("date_calendar_info", args).await["iso_week"], "2026-W53");
}
