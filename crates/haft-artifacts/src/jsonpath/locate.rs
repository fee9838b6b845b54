//! The location of a value in a document, computed on demand.

use std::fmt::Write as _;
use std::slice;

use super::display::write_quoted;
use haft_core::json::{Elements, Members, ValueKind, ValueRef};

/// The normalised paths of selected values; see [`Selection::paths`](super::Selection::paths).
#[derive(Clone, Debug)]
pub struct PathIter<'s, 'd> {
    views: slice::Iter<'s, ValueRef<'d>>,
    root: ValueRef<'d>,
    /// The way to the last value, one level after the other.
    levels: Vec<PathLevel<'d>>,
}

/// A list or an object on the way, and its child that comes next on the way.
#[derive(Clone, Debug)]
struct PathLevel<'d> {
    parent: ValueRef<'d>,
    child: Option<ValueRef<'d>>,
    /// The children behind that child.
    rest: RemainingChildren<'d>,
}

#[derive(Clone, Debug)]
enum RemainingChildren<'d> {
    Elements { rest: Elements<'d>, at: usize },
    Members { rest: Members<'d>, name: &'d str },
}

impl<'s, 'd> PathIter<'s, 'd> {
    pub(super) fn new(root: ValueRef<'d>, views: &'s [ValueRef<'d>]) -> Self {
        Self { views: views.iter(), root, levels: Vec::new() }
    }

    fn path(&mut self, target: usize) -> String {
        let mut out = String::from("$");
        let mut node = self.root;
        let mut depth = 0;
        // Children stand behind their parent, and in front of whatever follows it.
        while node.index() < target {
            if self.levels.get(depth).is_none_or(|it| it.parent.index() != node.index()) {
                self.levels.truncate(depth);
                self.levels.push(PathLevel::new(node));
            }
            let Some(level) = self.levels.get_mut(depth) else { break };
            let Some(child) = level.advance(target) else { break };
            // Writing into a string does not fail.
            let _ = level.write(&mut out);
            node = child;
            depth += 1;
        }
        out
    }
}

impl<'d> PathLevel<'d> {
    fn new(parent: ValueRef<'d>) -> Self {
        let rest = if parent.kind() == ValueKind::Object {
            RemainingChildren::Members { rest: parent.members(), name: "" }
        } else {
            RemainingChildren::Elements { rest: parent.elements(), at: 0 }
        };
        Self { parent, child: None, rest }
    }

    /// Goes to the last child that does not stand behind `target`.
    fn advance(&mut self, target: usize) -> Option<ValueRef<'d>> {
        if self.child.is_some_and(|it| it.index() > target) {
            *self = Self::new(self.parent);
        }
        match &mut self.rest {
            RemainingChildren::Elements { rest, at } => {
                while let Some(next) = rest.clone().next().filter(|it| it.index() <= target) {
                    *at += usize::from(self.child.is_some());
                    self.child = Some(next);
                    rest.next();
                }
            }
            RemainingChildren::Members { rest, name } => {
                while let Some((key, next)) =
                    rest.clone().next().filter(|(_, it)| it.index() <= target)
                {
                    *name = key;
                    self.child = Some(next);
                    rest.next();
                }
            }
        }
        self.child
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        match &self.rest {
            RemainingChildren::Elements { at, .. } => write!(out, "[{at}]"),
            RemainingChildren::Members { name, .. } => {
                out.push('[');
                write_quoted(name, out)?;
                out.push(']');
                Ok(())
            }
        }
    }
}

impl Iterator for PathIter<'_, '_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let view = self.views.next()?;
        Some(self.path(view.index()))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.views.size_hint()
    }
}

impl ExactSizeIterator for PathIter<'_, '_> {}

/// Selected values with their normalised paths; see
/// [`Selection::located`](super::Selection::located).
#[derive(Clone, Debug)]
pub struct LocatedIter<'s, 'd> {
    paths: PathIter<'s, 'd>,
    views: std::iter::Copied<slice::Iter<'s, ValueRef<'d>>>,
}

impl<'s, 'd> LocatedIter<'s, 'd> {
    pub(super) fn new(
        paths: PathIter<'s, 'd>,
        views: std::iter::Copied<slice::Iter<'s, ValueRef<'d>>>,
    ) -> Self {
        Self { paths, views }
    }
}

impl<'d> Iterator for LocatedIter<'_, 'd> {
    type Item = (String, ValueRef<'d>);

    fn next(&mut self) -> Option<(String, ValueRef<'d>)> {
        self.paths.next().zip(self.views.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.views.size_hint()
    }
}

impl ExactSizeIterator for LocatedIter<'_, '_> {}
