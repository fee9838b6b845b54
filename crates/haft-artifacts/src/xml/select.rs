//! Evaluates paths on the projection.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::jsonpath::{JsonPath, PathStep, Selection, SelectionLimits};
use haft_core::artifact::{QueryListBuilder, QueryOutput};
use haft_core::json::{Document, ValueKind, ValueRef};

use super::projection::{NumericText, Projection, TooDeep};

/// The values that a path selects.
pub(super) fn get(
    projection: &Projection,
    path: &JsonPath,
    mut listing: QueryListBuilder,
) -> Result<QueryOutput, TooDeep> {
    evaluate(projection, path, |selection, shown| {
        let _ = match shown {
            DisplayedProjection::Itself(_) => {
                selection.iter().try_for_each(|value| listing.push(value))
            }
            DisplayedProjection::Twin(twin) => selection.located().try_for_each(|(at, value)| {
                // What is skipped need not be found.
                let found = || parse_steps(&at).and_then(|steps| walk(twin.root(), &steps));
                let original = if listing.skips_next() { None } else { found() };
                listing.push(original.unwrap_or(value))
            }),
        };
        listing.finish_of(selection.len() as u64)
    })
}

/// The elements that a path leads to, each once: what it selects if that is an element with attributes
/// or children, and the element around it if it is text or an attribute.
pub(super) fn filter(
    projection: &Projection,
    path: &JsonPath,
    mut listing: QueryListBuilder,
) -> Result<QueryOutput, TooDeep> {
    evaluate(projection, path, |selection, shown| {
        let (DisplayedProjection::Itself(document) | DisplayedProjection::Twin(document)) = shown;
        let root = document.root();
        let mut seen = HashSet::new();
        let mut offer = |steps: Vec<PathStep>| {
            if !seen.insert(format!("{steps:?}")) {
                return ControlFlow::Continue(());
            }
            // What is skipped need not be found.
            let element = if listing.skips_next() { None } else { walk(root, &steps) };
            listing.push(element.unwrap_or(root))
        };
        let _ = selection.located().try_for_each(|(at, value)| {
            // Only a path of more than 4 KiB cannot be read again.
            let Some(steps) = parse_steps(&at) else { return offer(Vec::new()) };
            if value.kind() != ValueKind::Array {
                return offer(enclosing_element(steps, value));
            }
            value.elements().zip(0..).try_for_each(|(value, index)| {
                let mut steps = steps.clone();
                steps.push(PathStep::Index(index));
                offer(enclosing_element(steps, value))
            })
        });
        listing.finish()
    })
}

/// The projection that values are shown from: the one that was searched, or its twin in which numbers are
/// text.
#[derive(Clone, Copy)]
enum DisplayedProjection<'d> {
    Itself(&'d Document),
    Twin(&'d Document),
}

/// Evaluates a path and makes a result of what it selects and of the projection to show it from.
///
/// All text of the projection is text, so a path that compares with a number would find nothing. Such a path
/// is evaluated on a twin in which every text that is a number is one, and the text is shown.
fn evaluate(
    projection: &Projection,
    path: &JsonPath,
    answer: impl FnOnce(&Selection<'_>, DisplayedProjection<'_>) -> QueryOutput,
) -> Result<QueryOutput, TooDeep> {
    let shown = projection.to_document(NumericText::AsText)?;
    if compares_with_number(path) {
        let numbers = projection.to_document(NumericText::AsNumbers)?;
        let selection = path.select_with(numbers.root(), &SelectionLimits::default());
        if !selection.is_empty() {
            return Ok(add_notes(
                answer(&selection, DisplayedProjection::Twin(&shown)),
                &selection,
                path,
            ));
        }
    }
    let selection = path.select_with(shown.root(), &SelectionLimits::default());
    Ok(add_notes(answer(&selection, DisplayedProjection::Itself(&shown)), &selection, path))
}

fn add_notes(answer: QueryOutput, selection: &Selection<'_>, path: &JsonPath) -> QueryOutput {
    if selection.truncated().is_some() {
        return answer.noted(
            "the path finds more than is looked at in one query; ask for less, such as a part of the \
             document",
        );
    }
    if selection.is_empty() && path.to_string().contains("[?") {
        return answer.noted(
            "an element that stands once is an object and no list, so that `[?...]` behind its name \
             judges what is in it; `$..[?...]` finds it in any case",
        );
    }
    answer
}

/// The steps of a normalised path; `None` if it is too long.
fn parse_steps(path: &str) -> Option<Vec<PathStep>> {
    Some(JsonPath::parse(path).ok()?.prefix().cloned().collect())
}

/// The steps to the element that a value is or belongs to.
fn enclosing_element(mut steps: Vec<PathStep>, value: ValueRef<'_>) -> Vec<PathStep> {
    if value.kind() != ValueKind::Object {
        // Removes its index among elements of the same name, and its name.
        if let Some(PathStep::Index(_)) = steps.last() {
            steps.pop();
        }
        steps.pop();
    }
    steps
}

fn walk<'d>(root: ValueRef<'d>, steps: &[PathStep]) -> Option<ValueRef<'d>> {
    steps.iter().try_fold(root, |view, step| match step {
        PathStep::Name(name) => view.get(name),
        PathStep::Index(index) => view.item(usize::try_from(*index).ok()?),
        PathStep::Wildcard => None,
    })
}

/// Whether a filter in the path compares something with a number.
fn compares_with_number(path: &JsonPath) -> bool {
    let text = without_quoted(&path.to_string());
    let words: Vec<&str> = text.split(' ').collect();
    words.windows(3).any(|words| match words {
        [left, "==" | "!=" | "<" | "<=" | ">" | ">=", right] => {
            let left = left.rsplit_once(['?', '(', '!']).map_or(*left, |(_, left)| left);
            left.parse::<f64>().is_ok()
                || right.starts_with(|it: char| it.is_ascii_digit() || it == '-')
        }
        _ => false,
    })
}

/// The text of a path with nothing between quotes.
fn without_quoted(path: &str) -> String {
    let mut out = String::new();
    let (mut quote, mut escaped) = (None, false);
    for character in path.chars() {
        match quote {
            None if matches!(character, '\'' | '"') => quote = Some(character),
            None => out.push(character),
            Some(_) if escaped => escaped = false,
            Some(_) if character == '\\' => escaped = true,
            Some(open) if open == character => {
                quote = None;
                out.push('\'');
            }
            Some(_) => {}
        }
    }
    out
}
