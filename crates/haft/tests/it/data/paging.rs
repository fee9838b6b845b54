//! Whoever goes on with `skip` sees every value once.

use haft::artifacts::QueryOutput;
use haft::artifacts::csv::CsvView;
use haft::artifacts::xml::XmlView;
use haft::artifacts::yaml::YamlView;

use super::{budget, reader, run};

/// Asks until nothing is left, and gives every line with a mark in it, in order.
#[track_caller]
fn marks(ask: impl Fn(u64) -> QueryOutput) -> Vec<String> {
    let (mut skip, mut found) = (0, Vec::new());
    for _ in 0..1_000 {
        let answer = ask(skip).into_string();
        let lines = answer.lines().filter(|it| it.contains("mark") && !it.starts_with('['));
        let trimmed = |it: &str| it.trim_matches(|it: char| " \",".contains(it)).to_owned();
        found.extend(lines.map(trimmed));
        let note = answer.lines().find_map(|it| Some(it.split_once("go on with skip ")?.1));
        let Some(next) = note else { return found };
        let next: u64 = next.trim_end_matches(']').parse().unwrap();
        assert!(next > skip, "{answer}");
        skip = next;
    }
    panic!("it never ends");
}

#[track_caller]
fn check(expected: usize, ask: impl Fn(u64) -> QueryOutput) {
    let found = marks(ask);
    let numbers: Vec<usize> =
        found.iter().map(|it| it.rsplit("mark").next().unwrap().parse().unwrap()).collect();
    assert_eq!(numbers, (0..expected).collect::<Vec<_>>());
}

/// Few of the values have room in one answer.
fn small() -> haft::artifacts::Budget {
    budget(7, 200)
}

#[test]
fn yaml_is_shown_part_by_part() {
    let stream: String = (0..50).map(|it| format!("---\nkey_mark{it}: mark{it}\n")).collect();
    let list: String = (0..50).map(|it| format!("- mark{it}\n")).collect();
    let stream = YamlView::new(reader(stream.as_bytes())).budget(small());
    let list = YamlView::new(reader(list.as_bytes())).budget(small());
    check(50, |skip| run(stream.get("$.*", skip)).unwrap());
    check(50, |skip| run(stream.list_keys(skip)).unwrap());
    check(50, |skip| run(list.get("$[*]", skip)).unwrap());
    check(50, |skip| run(list.get("$[?@ != 'x']", skip)).unwrap());
    check(50, |skip| run(list.sql("SELECT value FROM t", skip)).unwrap());
    check(20, |skip| run(list.get("$[:20]", skip)).unwrap());
    check(50, |skip| run(stream.get("$[0:].*", skip)).unwrap());
    let told = run(list.get("$[*]", 0)).unwrap().into_string();
    assert!(told.ends_with("[43 more; go on with skip 7]"), "{told}");
}

#[test]
fn xml_is_shown_part_by_part() {
    let items: String = (0..50).map(|it| format!("<i><v>mark{it}</v></i>")).collect();
    let view = XmlView::new(reader(format!("<r>{items}</r>").as_bytes())).budget(small());
    check(50, |skip| run(view.get("$..v", skip)).unwrap());
    check(50, |skip| run(view.get("$..i[?@.v != 5]", skip)).unwrap());
    check(50, |skip| run(view.sql("SELECT v FROM $.r.i", skip)).unwrap());
    let tags: String = (0..50).map(|it| format!("<mark{it}/>")).collect();
    let view = XmlView::new(reader(format!("<r>{tags}</r>").as_bytes())).budget(small());
    check(50, |skip| run(view.list_keys(skip)).unwrap());
    let mut found = marks(|skip| run(view.list_tags(skip)).unwrap());
    assert!(found.is_sorted());
    found.dedup();
    assert_eq!(found.len(), 50);
}

#[test]
fn csv_is_shown_part_by_part() {
    let rows: String = (0..50).map(|it| format!("mark{it},{it}\n")).collect();
    let view = CsvView::new(reader(format!("a,b\n{rows}").as_bytes())).budget(small());
    let only = ["a".to_owned()];
    check(50, |skip| run(view.read_rows(.., &[], skip)).unwrap());
    check(50, |skip| run(view.read_rows(..50, &only, skip)).unwrap());
    check(30, |skip| run(view.read_rows(..30, &only, skip)).unwrap());
    check(50, |skip| run(view.sql("SELECT a FROM t", skip)).unwrap());
    check(50, |skip| run(view.sql("SELECT a FROM t WHERE b > -1 ORDER BY b", skip)).unwrap());
    let header: Vec<String> = (0..50).map(|it| format!("mark{it}")).collect();
    let view = CsvView::new(reader(header.join(",").as_bytes())).budget(small());
    check(50, |skip| run(view.list_columns(skip)).unwrap());
}

#[test]
fn a_value_that_fits_nowhere_is_cut() {
    let long = "x".repeat(10_000);
    let yaml = YamlView::new(reader(format!("- {long}\n- mark0\n").as_bytes())).budget(small());
    let answer = run(yaml.get("$[*]", 0)).unwrap().into_string();
    assert!(answer.contains("this value has 10000 bytes and was cut"), "{answer}");
    check(1, |skip| run(yaml.get("$[*]", skip)).unwrap());
    let csv = CsvView::new(reader(format!("a\n{long}\nmark0\n").as_bytes())).budget(small());
    check(1, |skip| run(csv.sql("SELECT a FROM t", skip)).unwrap());
}
