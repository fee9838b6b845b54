//! Describes the differences between two JSON values.

use haft_core::invariant::OrReport as _;
use haft_core::json::{ValueKind, ValueRef};

/// The names of the two values in a description of their differences.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueNames {
    pub(super) left: &'static str,
    pub(super) right: &'static str,
}

/// One line for every place where the values differ, with its JSON pointer; the first few of them.
pub(super) fn list_differences(
    left: ValueRef<'_>,
    right: ValueRef<'_>,
    names: ValueNames,
) -> Vec<String> {
    let mut found = DifferenceList { lines: Vec::new(), more: 0, names };
    found.compare_values(left, right, &mut String::new());
    if found.more > 0 {
        found.lines.push(format!("and {} more", found.more));
    }
    found.lines
}

struct DifferenceList {
    lines: Vec<String>,
    more: usize,
    names: ValueNames,
}

impl DifferenceList {
    fn compare_values(&mut self, left: ValueRef<'_>, right: ValueRef<'_>, at: &mut String) {
        match (left.kind(), right.kind()) {
            (ValueKind::Object, ValueKind::Object) => self.compare_objects(left, right, at),
            (ValueKind::Array, ValueKind::Array) => self.compare_lists(left, right, at),
            _ if left == right => {}
            _ => self.push_difference(at, Some(left), Some(right)),
        }
    }

    fn compare_objects(&mut self, left: ValueRef<'_>, right: ValueRef<'_>, at: &mut String) {
        for (key, one) in left.members() {
            self.visit_child(at, key, |found, at| match right.get(key) {
                Some(two) => found.compare_values(one, two, at),
                None => found.push_difference(at, Some(one), None),
            });
        }
        for (key, two) in right.members().filter(|(key, _)| left.get(key).is_none()) {
            self.visit_child(at, key, |found, at| found.push_difference(at, None, Some(two)));
        }
    }

    fn compare_lists(&mut self, left: ValueRef<'_>, right: ValueRef<'_>, at: &mut String) {
        let mut one = left.elements();
        let mut two = right.elements();
        for index in 0..left.len().max(right.len()) {
            let one = one.next();
            let two = two.next();
            self.visit_child(at, &index.to_string(), |found, at| match (one, two) {
                (Some(one), Some(two)) => found.compare_values(one, two, at),
                (one, two) => found.push_difference(at, one, two),
            });
        }
    }

    fn visit_child(
        &mut self,
        at: &mut String,
        key: &str,
        run: impl FnOnce(&mut Self, &mut String),
    ) {
        let length = at.len();
        at.push('/');
        at.push_str(&key.replace('~', "~0").replace('/', "~1"));
        run(self, at);
        at.truncate(length);
    }

    fn push_difference(
        &mut self,
        at: &str,
        left: Option<ValueRef<'_>>,
        right: Option<ValueRef<'_>>,
    ) {
        if self.lines.len() >= MOST_LINES {
            self.more += 1;
            return;
        }
        let ValueNames { left: one, right: two } = self.names;
        let shown = |view: Option<ValueRef<'_>>| match view {
            Some(view) => excerpt(&view.to_string()),
            None => "nothing".to_owned(),
        };
        let left = shown(left);
        let right = shown(right);
        self.lines.push(format!("`{at}`: {one} {left}, {two} {right}"));
    }
}

/// The beginning of a text, saying how much is left out.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(LONGEST_EXCERPT) {
        None => text.to_owned(),
        Some((cut, _)) => {
            let start = text.get(..cut).or_report("a character begins at a boundary", text);
            format!("{start}… ({} bytes)", text.len())
        }
    }
}

const MOST_LINES: usize = 8;
const LONGEST_EXCERPT: usize = 200;
