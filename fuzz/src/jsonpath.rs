//! Paths into documents.

use haft::artifacts::jsonpath::{JsonPath, PathStep, SelectionLimits};
use haft_core::json::{Document, ValueRef};

/// Any text is a path or an error, the text of a path is a fixed point, a prefix and the rest are
/// the whole, and the path of every value leads back to it.
///
/// The first line is the path, what follows is the document.
pub fn jsonpath(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let (path, document) = text.split_once('\n').unwrap_or((text, "null"));
    let Ok(path) = JsonPath::parse(path) else { return };
    // A text of many escapes can grow beyond what is read.
    if path.to_string().len() <= haft::artifacts::jsonpath::MAX_PATH {
        let again = JsonPath::parse(&path.to_string());
        assert_eq!(again.as_ref(), Ok(&path), "the text is no fixed point");
    }
    let Ok(document) = Document::parse(document) else { return };
    let limits = SelectionLimits::default().max_nodes_visited(100_000).max_matches(1000);
    let found = path.select_with(document.root(), &limits);
    if found.truncated().is_some() {
        return;
    }
    assert_eq!(path.matches(document.root()), !found.is_empty());
    for (place, view) in found.located().take(20) {
        if place.len() > haft::artifacts::jsonpath::MAX_PATH {
            continue;
        }
        let path = match JsonPath::parse(&place) {
            Ok(path) => path,
            Err(error) => panic!("a place is no path: {error}\n{place}"),
        };
        assert_eq!(path.select(document.root()).views(), [view], "{place} leads elsewhere");
    }
    if document.duplicate_key().is_none() {
        assert_eq!(in_two_parts(&path, document.root()), found.views());
    }
}

/// Follows the prefix step by step and evaluates the rest on what it leads to.
fn in_two_parts<'d>(path: &JsonPath, root: ValueRef<'d>) -> Vec<ValueRef<'d>> {
    let mut views = vec![root];
    for step in path.prefix() {
        views = views
            .into_iter()
            .flat_map(|view| -> Vec<ValueRef<'d>> {
                match step {
                    PathStep::Name(name) => view.get(name).into_iter().collect(),
                    PathStep::Index(at) => {
                        usize::try_from(*at).ok().and_then(|at| view.item(at)).into_iter().collect()
                    }
                    PathStep::Wildcard => {
                        view.elements().chain(view.members().map(|(_, value)| value)).collect()
                    }
                }
            })
            .collect();
    }
    let rest = path.after_prefix();
    views.into_iter().flat_map(|view| rest.select(view)).collect()
}
