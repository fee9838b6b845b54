//! Suites that live outside the project.

use std::fs;

use haft_testkit::suite;

use super::doc;
use crate::json::{Document, JsonWriter, ValueRef, canonical_text};

#[test]
fn the_parsing_suite_is_read_as_it_asks() {
    let Some(folder) = suite("json-parsing") else { return };
    let mut counts = [0; 3];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = fs::read(&path).unwrap();
        let text = str::from_utf8(&bytes);
        let parsed = text.map_err(|_| ()).and_then(|it| Document::parse(it).map_err(|_| ()));
        match name.as_bytes()[0] {
            b'y' => {
                assert!(parsed.is_ok(), "{name}");
                counts[0] += 1;
            }
            b'n' => {
                assert!(parsed.is_err(), "{name}");
                counts[1] += 1;
            }
            _ => counts[2] += 1,
        }
        if let Ok(text) = text {
            // Whatever it is, reading it leniently ends, and accepts all that strict reading does.
            assert!(Document::parse_lenient(text).is_ok() || parsed.is_err(), "{name}");
        }
    }
    assert!(counts.iter().all(|it| *it > 0), "{counts:?}");
}

#[test]
fn the_canonicalization_pairs_agree() {
    let Some(folder) = suite("jcs") else { return };
    for name in ["arrays", "french", "structures", "unicode", "values", "weird"] {
        let read =
            |side: &str| fs::read_to_string(folder.join(format!("{side}-{name}.json"))).unwrap();
        assert_eq!(canonical_text(doc(&read("input")).root()), read("output").trim_end(), "{name}");
    }
}

#[test]
fn naughty_strings_survive() {
    let Some(file) = suite("naughty-strings.json") else { return };
    let list = doc(&fs::read_to_string(file).unwrap());
    assert!(list.root().len() > 100);
    for element in list.root().elements() {
        let text = element.as_str().unwrap();
        let mut out = JsonWriter::new();
        out.object(|out| {
            out.key(text).string(text);
        });
        let built = out.finish();
        let again = doc(&canonical_text(built.root()));
        assert_eq!(again.root().get(text).and_then(ValueRef::as_str), Some(text));
        assert_eq!(again, built);
        // Arguments are hostile input too: reading them as JSON ends without a panic.
        let _ = Document::parse_lenient(text);
    }
}
