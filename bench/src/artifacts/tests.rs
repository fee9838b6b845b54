use super::*;
use crate::artifacts::job::Job;
use crate::report::{Format, Print};

#[test]
fn the_data_is_the_same_every_time_and_goes_in_the_end() {
    let data = Data::make(300_000).unwrap();
    let bytes = std::fs::read(data.log()).unwrap();
    assert!(bytes.len() >= 300_000 && bytes.ends_with(b"\n"));
    assert_eq!(data.lines, bytes.iter().filter(|byte| **byte == b'\n').count() as u64);
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.matches("needle").count(), 10);
    assert_eq!(text.matches("of9\n").count(), 100);
    let again = Data::make(300_000).unwrap();
    assert_eq!(std::fs::read_to_string(again.log()).unwrap(), text);
    assert!(rows::all(&data).iter().all(|spec| !spec.variants.is_empty()));
    let folder = data.folder().to_owned();
    drop(data);
    assert!(!folder.exists());
}

#[test]
fn a_row_shows_what_is_not_installed() {
    let entry = |name, milliseconds, ratio, peak_kib| Entry { name, milliseconds, ratio, peak_kib };
    let table = Table {
        name: "count",
        target: "<= 1.0 x",
        entries: vec![
            entry("wc -l", Some(20.0), Some(1.0), Some(2048)),
            entry("haft", Some(15.0), Some(0.75), None),
            entry("haft, twice", Some(30.0), Some(1.5), None),
            entry("other", None, None, None),
        ],
    };
    let show = |format| {
        let mut out = Vec::new();
        table.print(format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        show(Format::Table),
        "count (ms, ratio, peak MiB; target <= 1.0 x)\n\
        \x20 wc -l                        20.000     1.00 x       2.0\n\
        \x20 haft                         15.000     0.75 x         -\n\
        \x20 haft, twice                  30.000     1.50 x         -\n\
        \x20 other                    not installed\n\n"
    );
    let line: serde_json::Value = serde_json::from_str(&show(Format::JsonLines)).unwrap();
    assert_eq!(
        line,
        serde_json::json!({
            "name": "count",
            "ours": 15.0,
            "unit": "ms",
            "beside": {"haft, twice": 30.0},
            "peers": {"wc -l": 20.0, "other": "not installed"},
            "ratio": 0.75,
            "peak_mib": {"wc -l": 2.0},
            "target": "<= 1.0 x",
        })
    );
}

#[test]
fn jobs_report_what_they_found() {
    let data = Data::make(300_000).unwrap();
    let report = |job: Job| {
        let mut out = Vec::new();
        job::run(Some(&job.to_text()), &mut out).unwrap();
        job::Report::parse(std::str::from_utf8(&out).unwrap()).unwrap()
    };
    let spool = data.spool();
    let lines = data.lines;
    assert_eq!(report(Job::Count { spool: spool.clone() }).answer, lines.to_string());
    let search = Job::Grep { spool: spool.clone(), pattern: "needle".to_owned() };
    assert!(report(search).answer.starts_with("10 lines, "));
    let line = |runtime| {
        let report = report(Job::RandomLines { spool: spool.clone(), count: 5, runtime });
        assert!(report.seconds > 0.0);
        report.answer
    };
    assert_eq!(line(true), line(false));
    assert!(job::run(Some("{}"), &mut Vec::new()).is_err());
}
