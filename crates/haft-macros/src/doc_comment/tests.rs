use syn::{ItemStruct, parse_str};

use super::doc_text;

#[track_caller]
fn check(source: &str, expect: Option<&str>) {
    let item: ItemStruct = parse_str(&format!("{source}\nstruct It;")).unwrap();
    assert_eq!(doc_text(&item.attrs).as_deref(), expect);
}

#[test]
fn lines_of_a_paragraph_are_joined_and_paragraphs_are_lines() {
    check("", None);
    check("///", None);
    check("/// One.", Some("One."));
    check("/// One\n/// sentence.", Some("One sentence."));
    check("///   One.  \n///\n///\n/// Two\n/// three.\n///", Some("One.\nTwo three."));
    check("/** One\n sentence.\n\n Two. */", Some("One sentence.\nTwo."));
    check("#[allow(dead_code)]\n/// One.", Some("One."));
    check("#[doc(hidden)]", None);
}
