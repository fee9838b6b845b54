use quote::quote;

use super::{AttributeEntries, AttributePosition, MacroErrors, edit_distance};

const POSITION: AttributePosition =
    AttributePosition { owner: "a field", allowed_keys: &[&["min", "max", "note"], &["pattern"]] };

#[track_caller]
fn check(tokens: proc_macro2::TokenStream, expect: &[&str]) {
    let mut errors = MacroErrors::default();
    AttributeEntries::parse(tokens, &POSITION, &mut errors);
    let found: Vec<String> = match errors.into_result(()) {
        Ok(()) => Vec::new(),
        Err(error) => error.into_iter().map(|it| it.to_string()).collect(),
    };
    assert_eq!(found, expect);
}

#[test]
fn every_mistake_is_reported_and_the_nearest_key_comes_first() {
    check(quote!(min = 1, max = -2, note = "a", note = "b",), &[]);
    check(
        quote!(mx = 1, patern = "a"),
        &[
            "`mx` is not known on a field; known are `max`, `min`, `note`, `pattern`",
            "`patern` is not known on a field; known are `pattern`, `note`, `min`, `max`",
        ],
    );
    check(quote!(min = 1, min = 2), &["`min` is given twice"]);
}

#[test]
fn distance_counts_letters() {
    for (from, to, expect) in [("", "", 0), ("a", "", 1), ("", "ab", 2), ("kitten", "sitting", 3)] {
        assert_eq!(edit_distance(from, to), expect, "{from} {to}");
    }
}
