//! The block of tools that the model sees: within a turn it only grows at its end.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use indexmap::map::Entry as MapEntry;

use super::{Entries, EntryStatus, Layer, ToolChanges, ToolEntry, ToolRegistry};
use crate::artifact::ArtifactKind;
use crate::call::RecordId;
use crate::tool::{Tool, ToolName, ToolRole};

/// The place of a tool in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockPlace {
    /// Counted over all tools that the turn has offered.
    pub(super) ordinal: u32,
    pub(super) point: OfferPoint,
}

/// When in a turn tools are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfferPoint {
    /// Whether the model has reasoned in this turn.
    pub has_reasoned: bool,
    /// The last call that the turn has made.
    pub last_call: Option<RecordId>,
}

impl OfferPoint {
    /// Before the model has said anything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// After a call.
    #[must_use]
    pub fn after_call(mut self, call: Option<RecordId>) -> Self {
        self.last_call = call;
        self
    }

    /// Says whether the model has reasoned in this turn.
    #[must_use]
    pub fn has_reasoned(mut self, has_reasoned: bool) -> Self {
        self.has_reasoned = has_reasoned;
        self
    }
}

/// The same tools after the first request of a turn has offered them. All turns of a runner begin with the same tools, so
/// that they share this, too.
#[derive(Debug, Default)]
pub(super) struct FirstOffer(OnceLock<Arc<Entries>>);

/// A copy is made to be changed.
impl Clone for FirstOffer {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// A tool in the block that the model sees.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BlockTool {
    /// The tool. It may be hidden or removed meanwhile; calls to it are refused then.
    pub tool: Tool,
    /// For a tool that was added after the first request of the turn: when that was. Providers that bind reasoning to the
    /// tools of the request load such a tool deferred.
    pub added_at: Option<OfferPoint>,
}

/// What an earlier process has journaled about the tools of the turn.
#[derive(Clone, Debug, Default)]
pub(super) struct RestoredTools {
    /// The tools that were registered during the turn, and whether that was after its first request.
    registered: HashMap<String, bool>,
    /// Tools that are not visible.
    status: HashMap<String, EntryStatus>,
    /// Hidden and removed tools that the model has seen.
    still_offered: HashSet<String>,
    /// Tools that were added to the block later, and when.
    appended: Vec<(String, OfferPoint)>,
    /// Whether the block was offered since the turn was resumed. From then on tools are what they are registered as.
    is_offered: bool,
}

impl RestoredTools {
    /// Whether a tool came into the block after the first request of the turn.
    fn is_later(&self, name: &str) -> bool {
        self.registered.get(name) == Some(&true) || self.appended.iter().any(|(it, _)| it == name)
    }
}

impl ToolRegistry {
    /// The block of tools for the next request: the tools that the turn has offered before in their order, those that
    /// were hidden or removed meanwhile included, and behind them the visible tools that are new.
    ///
    /// ```
    /// use haft_core::tool::OfferPoint;
    /// use haft_core::{Tool, ToolRegistry};
    ///
    /// let tool = |name: &str| Tool::builder(name).description("A tool.").handler(|| "ok").build();
    /// let registry = ToolRegistry::with_tools([tool("a")?, tool("b")?])?;
    /// registry.offer_tools(OfferPoint::new());
    /// registry.unregister("a");
    /// registry.register(tool("c")?)?;
    /// let block: Vec<_> = registry.tool_block().iter().map(|it| it.tool.name().to_string()).collect();
    /// assert_eq!(block, ["a", "b", "c"]);
    /// assert!(registry.find("a").is_err(), "calls to it are refused");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn tool_block(&self) -> Vec<BlockTool> {
        self.read().block()
    }

    /// Marks the visible tools as offered to the model: from now on their place in the block is fixed. The loop does so
    /// before each step.
    pub fn offer_tools(&self, point: OfferPoint) {
        if !self.has_new_tools() {
            return;
        }
        let is_first = |entries: &Entries| entries.offered == 0 && entries.restored.is_none();
        let mut entries = self.write();
        if point == OfferPoint::new() && is_first(&entries) {
            *entries = entries.offer_first();
            return;
        }
        drop(entries);
        self.change(|entries| entries.offer(point));
    }

    /// Whether there are tools that the next request offers for the first time.
    #[must_use]
    pub fn has_new_tools(&self) -> bool {
        let entries = self.read();
        entries.new_in_block().next().is_some() || entries.has_unoffered_restore()
    }

    /// The kinds of artifacts that the tools declare as their results, each once.
    #[must_use]
    pub fn declared_kinds(&self) -> Vec<ArtifactKind> {
        let mut kinds: Vec<ArtifactKind> = Vec::new();
        for kind in self.read().registered().flat_map(|entry| entry.tool.declared_kinds()) {
            if !kinds.contains(kind) {
                kinds.push(kind.clone());
            }
        }
        kinds
    }

    /// Whether this registry and another one hold the same tools, because one is an unchanged copy of the other.
    #[must_use]
    pub fn is_unchanged_since(&self, copy: &Self) -> bool {
        Arc::ptr_eq(&self.read(), &copy.read())
    }

    /// Lays tools over the registered ones, such as the tools that query artifacts. A tool of the same name is covered
    /// until the overlay is removed, except for a query tool that a program has forged itself. Ephemeral tools of an
    /// overlay are removed when the dispatch is acknowledged.
    pub fn extend_overlay(&self, tools: impl IntoIterator<Item = Tool>) {
        self.change(|entries| tools.into_iter().for_each(|tool| entries.overlay(tool)));
    }

    /// The tools that the application has registered, hidden or not, without the overlay.
    #[must_use]
    pub fn without_overlay(&self) -> Vec<Tool> {
        self.read().registered().filter_map(ToolEntry::own_tool).cloned().collect()
    }

    /// Whether the tool of this name belongs to the overlay, or is a query tool that a program has forged itself.
    #[must_use]
    pub fn has_overlay(&self, name: &str) -> bool {
        let entries = self.read();
        let is_query = |entry: &ToolEntry| *entry.tool.role() == ToolRole::ArtifactQuery;
        entries
            .get(name)
            .is_some_and(|it| matches!(it.layer, Layer::Overlay { .. }) || is_query(it))
    }

    /// Replaces the whole overlay by these tools.
    pub fn replace_overlay(&self, tools: impl IntoIterator<Item = Tool>) {
        let tools: Vec<Tool> = tools.into_iter().collect();
        self.change(|entries| {
            let kept: HashSet<&str> = tools.iter().map(|tool| tool.name().as_str()).collect();
            entries.drop_overlay_except(&kept);
            tools.iter().for_each(|tool| entries.overlay(tool.clone()));
        });
    }

    /// Applies what an earlier process has journaled about the tools of this turn, entry by entry, before anything is
    /// registered. A tool that was registered during the turn becomes callable when its source registers it again.
    pub fn restore(&self, changes: &ToolChanges) {
        self.change(|entries| entries.restore(changes));
    }
}

impl Entries {
    fn block(&self) -> Vec<BlockTool> {
        let placed = self.tools.values().filter_map(|entry| Some((entry.place?, entry)));
        let mut placed: Vec<_> = placed.collect();
        placed.sort_by_key(|(place, _)| place.ordinal);
        let placed = placed.iter().map(|(place, it)| BlockTool {
            tool: it.tool.clone(),
            added_at: (place.ordinal >= self.first_offered).then_some(place.point),
        });
        let new = self.new_in_block();
        placed.chain(new.map(|it| BlockTool { tool: it.tool.clone(), added_at: None })).collect()
    }

    /// The tools that were not offered yet.
    fn new_in_block(&self) -> impl Iterator<Item = &ToolEntry> {
        let is_new = |it: &&ToolEntry| it.place.is_none() && it.status == EntryStatus::Visible;
        self.tools.values().filter(is_new)
    }

    fn has_unoffered_restore(&self) -> bool {
        self.restored.as_ref().is_some_and(|it| !it.is_offered)
    }

    /// The tools as the first request of a turn offers them.
    fn offer_first(&self) -> Arc<Self> {
        let offered = self.first_offer.0.get_or_init(|| {
            let mut offered = self.clone();
            offered.offer(OfferPoint::new());
            Arc::new(offered)
        });
        Arc::clone(offered)
    }

    fn offer(&mut self, point: OfferPoint) {
        let restored = self.restored.clone().filter(|it| !it.is_offered).unwrap_or_default();
        let is_first = self.offered == 0;
        let names: Vec<ToolName> = self.tools.keys().cloned().collect();
        let is_later = |name: &&ToolName| restored.is_later(name.as_str());
        let (later, first): (Vec<&ToolName>, Vec<&ToolName>) = names.iter().partition(is_later);
        for name in first {
            self.place(name.as_str(), point, &restored);
        }
        if is_first {
            self.first_offered = self.offered;
        }
        for (name, point) in &restored.appended {
            self.place(name, *point, &restored);
        }
        for name in later {
            self.place(name.as_str(), point, &restored);
        }
        if let Some(restored) = &mut self.restored {
            Arc::make_mut(restored).is_offered = true;
        }
    }

    /// Gives a tool the next place of the block, unless it has one or is not shown.
    fn place(&mut self, name: &str, point: OfferPoint, restored: &RestoredTools) {
        let Some(entry) = self.tools.get_mut(name) else { return };
        let is_shown =
            entry.status == EntryStatus::Visible || restored.still_offered.contains(name);
        if entry.place.is_none() && is_shown {
            entry.place = Some(BlockPlace { ordinal: self.offered, point });
            self.offered = self.offered.saturating_add(1);
        }
    }

    fn overlay(&mut self, tool: Tool) {
        match self.tools.entry(tool.name().clone()) {
            MapEntry::Vacant(entry) => {
                let layer = Layer::Overlay { covered: None };
                entry.insert(ToolEntry { layer, ..ToolEntry::new(tool) });
            }
            MapEntry::Occupied(mut entry) => {
                let entry = entry.get_mut();
                let is_forged_by_program =
                    entry.tool.is_ephemeral() && *entry.tool.role() == ToolRole::ArtifactQuery;
                if matches!(entry.layer, Layer::Own) && entry.is_registered() {
                    if is_forged_by_program {
                        return;
                    }
                    entry.layer = Layer::Overlay { covered: Some(entry.tool.clone()) };
                } else if !entry.is_registered() {
                    entry.layer = Layer::Overlay { covered: None };
                    entry.status = EntryStatus::Visible;
                }
                entry.tool = tool;
            }
        }
    }

    fn drop_overlay_except(&mut self, kept: &HashSet<&str>) {
        self.tools.retain(|name, entry| {
            let Layer::Overlay { covered } = &entry.layer else { return true };
            if kept.contains(name.as_str()) {
                return true;
            }
            match covered.clone() {
                Some(covered) => (entry.tool, entry.layer) = (covered, Layer::Own),
                None if entry.place.is_some() => entry.status = EntryStatus::Removed,
                None => return false,
            }
            true
        });
    }

    fn restore(&mut self, changes: &ToolChanges) {
        let ToolChanges { registered, hidden, shown, removed, still_offered, appended } = changes;
        let mut restored = self.restored.take().map_or_else(Default::default, Arc::unwrap_or_clone);
        for it in registered {
            restored.registered.entry(it.name.to_string()).or_insert(it.added);
            restored.status.remove(it.name.as_str());
            restored.still_offered.remove(it.name.as_str());
        }
        for name in shown {
            restored.status.remove(name.as_str());
            restored.still_offered.remove(name.as_str());
        }
        let gone = hidden.iter().map(|it| (it, EntryStatus::Hidden));
        for (name, status) in gone.chain(removed.iter().map(|it| (it, EntryStatus::Removed))) {
            restored.status.insert(name.to_string(), status);
        }
        restored.still_offered.extend(still_offered.iter().map(ToString::to_string));
        restored.appended.extend(appended.iter().map(|it| (it.name.to_string(), it.point())));
        for (name, entry) in &mut self.tools {
            entry.status =
                restored.status.get(name.as_str()).copied().unwrap_or(EntryStatus::Visible);
        }
        self.restored = Some(Arc::new(restored));
    }

    /// The status that a tool had before the turn was resumed, for a source that registers it again.
    pub(super) fn restored_status(&self, name: &str) -> Option<EntryStatus> {
        let restored = self.restored.as_ref().filter(|it| !it.is_offered)?;
        restored.status.get(name).copied()
    }

    /// Whether a tool was registered during the turn, and not again since the turn was resumed.
    pub(super) fn is_lost(&self, name: &str) -> bool {
        let is_known = |it: &Arc<RestoredTools>| {
            it.registered.contains_key(name) && it.status.get(name) != Some(&EntryStatus::Removed)
        };
        self.restored.as_ref().is_some_and(is_known)
    }
}
