use proptest::prelude::*;

use super::naive;
use crate::jsonpath::ast::{SegmentReach, Selector};
use crate::jsonpath::{JsonPath, PathError, PathStep, SelectionLimits, VisitBudget};
use haft_core::json::{Document, ValueRef};

/// Follows plain steps the way a reader of text would.
fn follow<'d>(steps: &[&PathStep], view: ValueRef<'d>) -> Vec<ValueRef<'d>> {
    steps.iter().fold(vec![view], |views, step| {
        views
            .into_iter()
            .flat_map(|view| match step {
                PathStep::Name(name) => view.get(name).into_iter().collect::<Vec<_>>(),
                PathStep::Index(index) => {
                    view.item(usize::try_from(*index).unwrap()).into_iter().collect()
                }
                PathStep::Wildcard => {
                    view.elements().chain(view.members().map(|(_, it)| it)).collect()
                }
            })
            .collect()
    })
}

fn indexes(views: &[ValueRef<'_>]) -> Vec<usize> {
    views.iter().map(|it| it.index()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_naive_evaluator(value in naive::document(), path in naive::path()) {
        let document = Document::from_value(&value).unwrap();
        let text = path.text();
        let parsed = super::parse_path(&text);
        let found = parsed.select(document.root());
        let expected = naive::select(&path, &value);
        prop_assert_eq!(found.truncated(), None);
        prop_assert_eq!(
            found.located().map(|(path, view)| (path, view.to_value())).collect::<Vec<_>>(),
            expected.iter().map(|(path, value)| (path.clone(), (*value).clone())).collect::<Vec<_>>(),
            "{}", text
        );
        prop_assert_eq!(parsed.matches(document.root()), !expected.is_empty());
        // A smaller limit gives the first of the same values.
        let some = parsed.select_with(document.root(), &SelectionLimits::default().max_matches(2));
        prop_assert_eq!(indexes(some.views()), indexes(found.views().get(..2).unwrap_or(found.views())));
        prop_assert_eq!(some.truncated().is_some(), found.len() > 2);
        for visits in [0, 1, 5, 20, 100] {
            let some = parsed.select_with(document.root(), &SelectionLimits::default().max_nodes_visited(visits));
            prop_assert!(indexes(found.views()).starts_with(&indexes(some.views())));
            prop_assert!(some.truncated().is_some() || some.len() == found.len());
        }
    }

    #[test]
    fn prefix_and_rest_are_the_whole(value in naive::document(), path in naive::path()) {
        let document = Document::from_value(&value).unwrap();
        let path = super::parse_path(&path.text());
        let steps: Vec<&PathStep> = path.prefix().collect();
        let rest = path.after_prefix();
        let parts: Vec<usize> = follow(&steps, document.root())
            .into_iter()
            .flat_map(|view| rest.select(view))
            .map(ValueRef::index)
            .collect();
        prop_assert_eq!(parts, indexes(path.select(document.root()).views()), "{}", path);
    }

    #[test]
    fn texts_are_fixed_points(path in naive::path()) {
        let parsed = JsonPath::parse(&path.text()).unwrap();
        let again = JsonPath::parse(&parsed.to_string());
        prop_assert_eq!(again.as_ref(), Ok(&parsed));
        prop_assert_eq!(again.unwrap().to_string(), parsed.to_string());
    }
}

/// Text that is often almost a path.
fn almost_path() -> impl Strategy<Value = String> {
    const PARTS: [&str; 50] = [
        "$", "@", ".", "..", "[", "]", "[?", "(", ")", "?", "*", ",", ":", "'a'", "\"b\"", "'",
        "\\", "\\u", "d83d", "a", "b", "length", "length(", "count(", "value(", "match(",
        "search(", "true", "null", "0", "-1", "10", "1.5", "e", "==", "===", "!=", "<", ">=", "&&",
        "||", "!", "=~", "/x/", ".test(", " ", "\n", "é", "^", "-",
    ];
    let parts = prop::collection::vec(prop::sample::select(&PARTS[..]), 0..16);
    prop_oneof![
        4 => parts.prop_map(|it| it.concat()),
        4 => (naive::path(), any::<prop::sample::Index>(), prop::sample::select(&PARTS[..])).prop_map(
            |(path, at, part)| {
                let mut text = path.text();
                let mut at = at.index(text.len() + 1);
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                text.insert_str(at, part);
                text
            }
        ),
        1 => any::<String>(),
    ]
}

fn well_placed(error: &PathError, text: &str) -> bool {
    text.get(error.offset..)
        .is_some_and(|it| it.chars().next() == error.found || it.trim().is_empty())
        && !error.hint.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_path_or_an_error(text in almost_path()) {
        match JsonPath::parse(&text) {
            Ok(path) => {
                let again = JsonPath::parse(&path.to_string());
                prop_assert!(again.as_ref() == Ok(&path), "{}", text);
            }
            Err(error) => prop_assert!(well_placed(&error, &text), "{}: {}", text, error),
        }
    }

    /// Evaluated segment by segment, a path selects what it selects at once.
    #[test]
    fn parts_are_the_whole(value in naive::document(), path in naive::path()) {
        let document = Document::from_value(&value).unwrap();
        let path = super::parse_path(&path.text());
        if path.looks_at_root() {
            return Ok(());
        }
        let found = in_parts(&path, document.root());
        prop_assert_eq!(indexes(&found), indexes(path.select(document.root()).views()));
    }

    #[test]
    fn a_slice_has_the_positions_that_it_selects(
        len in 0..12_usize,
        (start, end, step) in (-14..14_i64, -14..14_i64, -5..5_i64),
    ) {
        let list: Vec<usize> = (0..len).collect();
        let document = Document::from_value(&serde_json::json!(list)).unwrap();
        for path in [format!("$[{start}:{end}:{step}]"), format!("$[{start}::{step}]"), format!("$[:{end}:{step}]")] {
            let path = super::parse_path(&path);
            let selected = path.select(document.root());
            let selected: Vec<_> = selected.iter().filter_map(ValueRef::as_u64).collect();
            let Some(Selector::Slice(slice)) = path.segments()[0].selectors.first() else {
                panic!("no slice: {path}");
            };
            prop_assert_eq!(slice.positions(len as u64).collect::<Vec<_>>(), selected);
        }
    }
}

/// Applies the first segment, and the rest of the path to what it selects.
fn in_parts<'d>(path: &JsonPath, view: ValueRef<'d>) -> Vec<ValueRef<'d>> {
    let Some(segment) = path.segments().first() else { return vec![view] };
    let rest = path.without_first(1);
    let children: Vec<ValueRef<'d>> = super::parse_path("$[*]").select(view).into_iter().collect();
    let element = |at: u64| view.item(usize::try_from(at).unwrap_or(usize::MAX));
    let mut found = Vec::new();
    for selector in &segment.selectors {
        let selected: Vec<ValueRef<'d>> = match selector {
            Selector::Step(PathStep::Name(name)) => view.get(name).into_iter().collect(),
            Selector::Step(PathStep::Index(at)) => element(*at).into_iter().collect(),
            Selector::FromEnd(back) => {
                let at = (view.elements().len() as u64).checked_sub(*back);
                at.and_then(element).into_iter().collect()
            }
            Selector::Step(PathStep::Wildcard) => children.clone(),
            Selector::Slice(slice) => {
                slice.positions(view.elements().len() as u64).filter_map(element).collect()
            }
            Selector::Filter(filter) => {
                let holds =
                    |it: &ValueRef<'_>| filter.holds_within(*it, &mut VisitBudget::new(1_000_000));
                children.iter().copied().filter(|it| holds(it) == Ok(true)).collect()
            }
        };
        found.extend(selected.into_iter().flat_map(|it| in_parts(&rest, it)));
    }
    if segment.reach == SegmentReach::Descendants {
        found.extend(children.into_iter().flat_map(|it| in_parts(path, it)));
    }
    found
}
