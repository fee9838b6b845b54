//! The changes of a stash since they were last taken.

use indexmap::IndexSet;
use serde_json::Value;

use super::StashPath;
use super::node::StashNode;

/// What has changed in a stash; see [`Stash::take_changes`](super::Stash::take_changes).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StashChanges {
    /// Nothing, or changes are not tracked.
    None,
    /// The values at these paths, as they are now; nothing at a path whose value was removed. Containers come before what
    /// is in them, so that writing the values in this order leads from the store as it was to the store as it is.
    Parts(Vec<(StashPath, Option<Value>)>),
    /// More than is listed. The value is the whole store as it is now.
    Whole(Value),
}

/// The paths whose values have changed.
#[derive(Default)]
pub(super) struct ChangeLog {
    /// Nothing while nothing has changed.
    paths: Option<Box<IndexSet<StashPath>>>,
    is_full: bool,
}

impl ChangeLog {
    /// How many paths are listed.
    const MAX_PATHS: usize = 4096;

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_none() && !self.is_full
    }

    pub(super) fn note(&mut self, path: &StashPath) {
        if self.is_full {
            return;
        }
        let paths = self.paths.get_or_insert_default();
        if paths.contains(path) {
            return;
        }
        if paths.len() >= Self::MAX_PATHS {
            (self.paths, self.is_full) = (None, true);
            return;
        }
        paths.insert(path.clone());
    }

    /// The changes, with the values of the store as it is now.
    pub(super) fn describe(self, root: &StashNode) -> StashChanges {
        if self.is_full {
            return StashChanges::Whole(root.to_value());
        }
        let Some(paths) = self.paths else { return StashChanges::None };
        let mut paths: Vec<StashPath> = paths.into_iter().collect();
        paths.sort_by_key(|path| path.steps().len());
        let value = |path: &StashPath| root.get(path).map(StashNode::to_value);
        StashChanges::Parts(paths.into_iter().map(|path| (path.clone(), value(&path))).collect())
    }
}
