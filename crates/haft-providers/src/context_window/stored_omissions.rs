//! What earlier requests of a turn left out.
//!
//! A request leaves out what the requests before it left out, so that its beginning stays the same and the cache of the
//! provider matches. Records are named by their ids, which another process knows as well.

use haft_core::call::RecordId;
use haft_core::context::DispatchContext;
use haft_core::stash::StashError;
use serde::{Deserialize, Serialize};

use crate::assembly::Omissions;
use crate::record_lookup::{record_id, record_number};

/// Omissions as they are stored in the stash of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StoredOmissions {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    results: Vec<RecordId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retrievables: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    memories: Vec<String>,
    /// The first thought that is shown as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_thought: Option<String>,
    /// The first record of the timeline that is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_record: Option<String>,
}

impl StoredOmissions {
    /// Loads what the earlier requests of a turn left out. Returns `None` if they left out nothing.
    pub(crate) fn load(ctx: &DispatchContext, key: &str) -> Option<Self> {
        ctx.stash().get_as(key).ok().flatten()
    }

    /// Leaves out the same.
    pub(crate) fn apply(&self, ctx: &DispatchContext, omissions: &mut Omissions) {
        omissions.results.extend(&self.results);
        omissions.retrievables.extend(self.retrievables.iter().cloned());
        omissions.memories.extend(self.memories.iter().cloned());
        let number = |id: &Option<String>| {
            id.as_deref().and_then(|id| record_number(ctx, id)).unwrap_or_default()
        };
        omissions.thoughts_before = omissions.thoughts_before.max(number(&self.first_thought));
        omissions.before = omissions.before.max(number(&self.first_record));
    }

    /// Stores what a request leaves out, for the requests behind it.
    pub(crate) fn store(
        ctx: &DispatchContext,
        key: &str,
        omissions: &Omissions,
    ) -> Result<(), StashError> {
        let id = |number| (number > 0).then(|| record_id(ctx, number)).flatten();
        let mut stored = Self {
            results: omissions.results.iter().copied().collect(),
            retrievables: omissions.retrievables.iter().cloned().collect(),
            memories: omissions.memories.iter().cloned().collect(),
            first_thought: id(omissions.thoughts_before),
            first_record: id(omissions.before),
        };
        // Sets have no order, and the stash is compared.
        stored.results.sort_unstable();
        stored.retrievables.sort_unstable();
        stored.memories.sort_unstable();
        ctx.stash().set(key, stored)
    }
}
