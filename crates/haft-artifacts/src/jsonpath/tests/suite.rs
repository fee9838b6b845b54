//! The compliance suite of RFC 9535, which lives outside the project.

use std::fs;

use crate::jsonpath::JsonPath;
use haft_core::json::{Document, ValueRef};

fn suite() -> Option<Document> {
    let text = fs::read_to_string(haft_testkit::suite("jsonpath-cts.json")?).unwrap();
    Some(Document::parse(&text).unwrap())
}

fn text<'d>(case: ValueRef<'d>, key: &str) -> &'d str {
    case.get(key).and_then(ValueRef::as_str).unwrap()
}

/// What is wrong with the answer of a valid case.
fn fault(case: ValueRef<'_>, path: &JsonPath) -> Option<String> {
    let found = path.select(case.get("document").unwrap());
    let values = |list: ValueRef<'_>| list.elements().eq(found.iter());
    let paths = |list: ValueRef<'_>| {
        list.elements().map(|it| it.as_str().unwrap().to_owned()).eq(found.paths())
    };
    let fits = match (case.get("result"), case.get("results")) {
        (Some(result), _) => values(result) && paths(case.get("result_paths").unwrap()),
        (None, Some(results)) => results
            .elements()
            .zip(case.get("results_paths").unwrap().elements())
            .any(|(result, at)| values(result) && paths(at)),
        (None, None) => false,
    };
    let any = path.matches(case.get("document").unwrap());
    (!fits || any == found.is_empty() || found.truncated().is_some())
        .then(|| format!("found {:?} at {:?}", found.views(), found.paths().collect::<Vec<_>>()))
}

#[test]
fn a_path_of_the_rfc_selects_what_the_rfc_says() {
    let Some(suite) = suite() else { return };
    let mut valid = 0;
    let mut invalid = 0;
    let mut faults = Vec::new();
    for case in suite.root().get("tests").unwrap().elements() {
        let name = text(case, "name");
        let selector = text(case, "selector");
        let parsed = JsonPath::parse(selector);
        if case.get("invalid_selector").is_some() {
            invalid += 1;
            continue;
        }
        valid += 1;
        let fault = match parsed {
            Err(error) => Some(error.to_string()),
            Ok(path) => {
                let again = JsonPath::parse(&path.to_string());
                assert_eq!(again.as_ref(), Ok(&path), "{name}: {path}");
                fault(case, &path)
            }
        };
        faults.extend(fault.map(|it| format!("{name}: {selector}: {it}")));
    }
    assert!(faults.is_empty(), "{} of {valid}:\n{}", faults.len(), faults.join("\n"));
    assert!(valid > 400 && invalid > 200, "{valid} valid, {invalid} invalid");
}

/// The invalid selectors that are read: no more than the module says.
#[test]
fn nearly_all_that_is_invalid_is_refused() {
    let Some(suite) = suite() else { return };
    let accepted: Vec<&str> = suite
        .root()
        .get("tests")
        .unwrap()
        .elements()
        .filter(|case| case.get("invalid_selector").is_some())
        .map(|case| text(case, "selector"))
        .filter(|selector| JsonPath::parse(selector).is_ok())
        .collect();
    assert_eq!(accepted, [" $", "$ "]);
}
