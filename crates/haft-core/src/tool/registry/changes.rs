//! What a turn journals about its tools.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::block::{OfferPoint, OfferedTool};
use super::{Entries, ToolRegistry};
use crate::call::RecordId;
use crate::tool::{Digest, Tool, ToolName};

/// How the tools of a turn have changed. Ephemeral tools are made again when the turn is resumed and do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ToolChanges {
    /// Tools that were registered, or registered with another definition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registered: Vec<RegisteredTool>,
    /// Tools that were removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<ToolName>,
    /// Those of the removed tools that the model has seen, so that their bytes stay in the block of tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub still_offered: Vec<ToolName>,
    /// Tools that were added to the end of the block after the first request, ephemeral ones included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub appended: Vec<AppendedTool>,
}

/// A tool that was registered during a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RegisteredTool {
    /// Its name.
    pub name: ToolName,
    /// The digest of its definition.
    pub definition: Digest,
    /// Whether it was registered after the first request of the turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub added: bool,
}

/// A tool that was added to the block of tools after the first request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AppendedTool {
    /// Its name.
    pub name: ToolName,
    /// Whether the model had reasoned in the turn by then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_reasoned: bool,
    /// The last call that the turn had made by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<RecordId>,
}

impl AppendedTool {
    fn of(offered: &OfferedTool) -> Option<Self> {
        let OfferPoint { has_reasoned, last_call } = offered.added_at?;
        Some(Self { name: offered.tool.name().clone(), has_reasoned, last_call })
    }

    /// When it was added.
    pub(super) fn point(&self) -> OfferPoint {
        OfferPoint { has_reasoned: self.has_reasoned, last_call: self.last_call }
    }
}

impl ToolChanges {
    /// Whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl ToolRegistry {
    /// What has changed since a copy of the registry was made.
    ///
    /// ```
    /// use haft_core::{Tool, ToolRegistry};
    ///
    /// let registry = ToolRegistry::default();
    /// let before = registry.clone();
    /// assert!(registry.changes_since(&before).is_empty());
    /// let now = Tool::builder("now").description("Tells the time.").handler(|| "noon").build()?;
    /// registry.register(now.clone())?;
    /// let changes = registry.changes_since(&before);
    /// assert_eq!(changes.registered[0].definition, now.definition_digest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn changes_since(&self, earlier: &Self) -> ToolChanges {
        let before = Arc::clone(&earlier.read());
        let now = Arc::clone(&self.read());
        if Arc::ptr_eq(&before, &now) {
            return ToolChanges::default();
        }
        now.changes_since(&before)
    }

    /// Applies what an earlier process has journaled about the tools of this turn, entry by entry, before anything is
    /// registered. A tool that was registered during the turn becomes callable when its source registers it again.
    pub fn restore(&self, changes: &ToolChanges) {
        self.change(|entries| entries.earlier.add(changes));
    }
}

impl Entries {
    fn changes_since(&self, before: &Self) -> ToolChanges {
        let mut changes = ToolChanges::default();
        let was_offered = !before.offered.is_empty();
        for tool in self.registered().filter(|tool| !tool.is_ephemeral()) {
            let name = tool.name();
            let old = before.get(name.as_str()).filter(|old| !old.is_ephemeral());
            if old.is_none_or(|old| !has_same_definition(old, tool)) {
                let definition = tool.definition_digest();
                let added = was_offered;
                changes.registered.push(RegisteredTool { name: name.clone(), definition, added });
            }
        }
        for old in before.registered().filter(|old| !old.is_ephemeral()) {
            let name = old.name();
            if self.get(name.as_str()).is_some_and(|tool| !tool.is_ephemeral()) {
                continue;
            }
            changes.removed.push(name.clone());
            if self.offered.contains_key(name) {
                changes.still_offered.push(name.clone());
            }
        }
        if was_offered {
            let appended = self.offered.values().skip(before.offered.len());
            changes.appended = appended.filter_map(AppendedTool::of).collect();
        }
        changes
    }
}

fn has_same_definition(one: &Tool, other: &Tool) -> bool {
    Arc::ptr_eq(&one.0, &other.0) || one.definition_digest() == other.definition_digest()
}

/// What an earlier process has journaled about the tools of the turn.
#[derive(Clone, Debug, Default)]
pub(super) struct EarlierChanges {
    /// The tools that were registered during the turn, and whether that was after its first request.
    registered: HashMap<ToolName, bool>,
    /// The tools that were removed. They stay removed if their source registers them again before the next request.
    removed: HashSet<ToolName>,
    /// Those of them that the model has seen.
    still_offered: HashSet<ToolName>,
    /// The tools that were added to the block after the first request of the turn.
    pub(super) appended: Vec<AppendedTool>,
    /// Whether the resumed turn has made no request yet.
    is_pending: bool,
}

impl EarlierChanges {
    fn add(&mut self, changes: &ToolChanges) {
        let ToolChanges { registered, removed, still_offered, appended } = changes;
        for it in registered {
            self.registered.entry(it.name.clone()).or_insert(it.added);
            self.removed.remove(&it.name);
            self.still_offered.remove(&it.name);
        }
        self.removed.extend(removed.iter().cloned());
        self.still_offered.extend(still_offered.iter().cloned());
        self.appended.extend(appended.iter().cloned());
        self.is_pending = true;
    }

    /// Takes what matters until the next request. What is left is which tools a source has to register again.
    pub(super) fn take_pending(&mut self) -> Self {
        let pending = std::mem::take(self);
        let left = pending.registered.iter().filter(|(name, _)| !pending.removed.contains(*name));
        self.registered = left.map(|(name, added)| (name.clone(), *added)).collect();
        pending
    }

    pub(super) fn is_pending(&self) -> bool {
        self.is_pending
    }

    pub(super) fn is_removed(&self, name: &ToolName) -> bool {
        self.removed.contains(name)
    }

    /// Whether the block shows the bytes of a tool: it is not removed, or the model has seen it.
    pub(super) fn is_shown(&self, name: &ToolName) -> bool {
        !self.is_removed(name) || self.still_offered.contains(name)
    }

    /// Whether a tool was registered during the turn.
    pub(super) fn has_registered(&self, name: &str) -> bool {
        self.registered.contains_key(name)
    }

    /// Whether a tool came into the block after the first request of the turn.
    pub(super) fn is_later(&self, name: &ToolName) -> bool {
        self.registered.get(name) == Some(&true) || self.appended.iter().any(|it| it.name == *name)
    }
}
