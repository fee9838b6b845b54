//! What a turn journals about its tools.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::block::OfferPoint;
use super::{Entries, EntryStatus, Layer, ToolEntry, ToolRegistry};
use crate::call::RecordId;
use crate::tool::{DefinitionDigest, ToolName};

/// How the tools of a turn have changed. Ephemeral tools and overlays are made again when the turn is resumed and do not
/// count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ToolChanges {
    /// Tools that were registered, or registered with another definition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub registered: Vec<RegisteredTool>,
    /// Tools that were hidden.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<ToolName>,
    /// Hidden tools that are visible again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<ToolName>,
    /// Tools that were removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<ToolName>,
    /// Those of the hidden and removed tools that the model has seen, so that their bytes stay in the block of tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub still_offered: Vec<ToolName>,
    /// Tools that were added to the end of the block after the first request, forged ones included.
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
    pub definition: DefinitionDigest,
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
    /// let registry = ToolRegistry::new();
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
        let (before, now) = (Arc::clone(&earlier.read()), Arc::clone(&self.read()));
        if Arc::ptr_eq(&before, &now) {
            return ToolChanges::default();
        }
        now.changes_since(&before)
    }
}

impl Entries {
    fn changes_since(&self, before: &Self) -> ToolChanges {
        let mut changes = ToolChanges::default();
        for (name, entry) in &self.tools {
            let old = before.tools.get(name);
            if before.offered > 0 && old.is_none_or(|it| it.place.is_none()) {
                changes.appended.extend(entry.to_appended());
            }
            let (Some(tool), old_tool) = (entry.own_tool(), old.and_then(ToolEntry::own_tool))
            else {
                continue;
            };
            if tool.is_ephemeral() {
                continue;
            }
            let same = |old: &crate::tool::Tool| {
                Arc::ptr_eq(&old.0, &tool.0) || old.definition_digest() == tool.definition_digest()
            };
            let old_status = old.map_or(EntryStatus::Removed, |it| it.status);
            let was_registered = old_status != EntryStatus::Removed && old_tool.is_some();
            let is_registered = entry.status != EntryStatus::Removed;
            if is_registered && !(was_registered && old_tool.is_some_and(same)) {
                let definition = tool.definition_digest();
                let added = before.offered > 0;
                changes.registered.push(RegisteredTool { name: name.clone(), definition, added });
            }
            let list = match (entry.status, was_registered, old_status) {
                (EntryStatus::Hidden, _, EntryStatus::Hidden) if was_registered => continue,
                (EntryStatus::Hidden, ..) => &mut changes.hidden,
                (EntryStatus::Visible, true, EntryStatus::Hidden) => &mut changes.shown,
                (EntryStatus::Removed, true, _) => &mut changes.removed,
                _ => continue,
            };
            list.push(name.clone());
            if entry.status != EntryStatus::Visible && entry.place.is_some() {
                changes.still_offered.push(name.clone());
            }
        }
        let is_gone = |(name, old): &(&ToolName, &ToolEntry)| {
            let was_own = old.own_tool().is_some_and(|tool| !tool.is_ephemeral());
            was_own && old.is_registered() && !self.tools.contains_key(*name)
        };
        let gone = before.tools.iter().filter(is_gone);
        changes.removed.extend(gone.map(|(name, _)| name.clone()));
        changes.appended.sort_by_key(|it| {
            self.tools.get(&it.name).and_then(|entry| entry.place).map(|place| place.ordinal)
        });
        changes
    }
}

impl ToolEntry {
    /// The entry as one that was added to the block, if it was offered.
    fn to_appended(&self) -> Option<AppendedTool> {
        let OfferPoint { has_reasoned, last_call } = self.place?.point;
        Some(AppendedTool { name: self.tool.name().clone(), has_reasoned, last_call })
    }

    /// The tool that the application has registered, below an overlay if there is one.
    pub(super) fn own_tool(&self) -> Option<&crate::tool::Tool> {
        match &self.layer {
            Layer::Own => Some(&self.tool),
            Layer::Overlay { covered } => covered.as_ref(),
        }
    }
}
