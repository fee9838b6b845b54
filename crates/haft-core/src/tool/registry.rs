//! The tools of a turn, by name.

mod block;
mod changes;
mod merge;

#[cfg(test)]
mod tests;

use crate::error::codes;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use indexmap::IndexMap;
use indexmap::map::Entry as MapEntry;

use crate::error::{Coded, ErrorCode};
use crate::schema::near_names;
use crate::tool::context::{AckSubscription, DispatchContext};
use crate::tool::error::{MAX_LISTED, MAX_NEAREST};
use crate::tool::{Tool, ToolError, ToolName, Unavailability};

use self::block::{BlockPlace, FirstOffer, RestoredTools};
pub use self::block::{BlockTool, OfferPoint};
pub use self::changes::{AppendedTool, RegisteredTool, ToolChanges};

/// Tools by name, in the order they were registered.
///
/// A turn has a registry of its own, made fresh from the runner's baseline. What middleware and handlers register, hide
/// and remove lasts for the turn, and the model sees it from the next request on. Methods take `&self`, so that the
/// handle in a context can be shared. Cloning copies the list, not the tools.
///
/// Hidden tools can be called but are not offered to the model. Hiding belongs to the entry: replacing a
/// tool in place keeps it, removing the tool ends it. A tool that the model has seen stays in the
/// [block of tools](Self::tool_block), so that prompt caches hold: calls to it are refused once it is hidden or removed.
#[derive(Debug, Default)]
pub struct ToolRegistry {
    /// Shared by clones until one of them changes: the runner and each of its turns have one.
    entries: RwLock<Arc<Entries>>,
}

#[derive(Clone, Debug, Default)]
struct Entries {
    tools: IndexMap<ToolName, ToolEntry>,
    /// How many tools were offered to the model.
    offered: u32,
    /// How many of them were offered by the first request.
    first_offered: u32,
    /// What an earlier process has journaled about tools.
    restored: Option<Arc<RestoredTools>>,
    first_offer: FirstOffer,
}

#[derive(Clone, Debug)]
struct ToolEntry {
    tool: Tool,
    status: EntryStatus,
    layer: Layer,
    /// The place in the block of tools, once the model has seen it.
    place: Option<BlockPlace>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryStatus {
    Visible,
    Hidden,
    /// Removed after the model has seen it: only its bytes are left.
    Removed,
}

#[derive(Clone, Debug)]
enum Layer {
    /// Registered by the application.
    Own,
    /// Laid over the registered tools, with the tool that it covers.
    Overlay { covered: Option<Tool> },
}

impl ToolEntry {
    fn new(tool: Tool) -> Self {
        Self { tool, status: EntryStatus::Visible, layer: Layer::Own, place: None }
    }

    fn is_registered(&self) -> bool {
        self.status != EntryStatus::Removed
    }
}

/// What a tool registry refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolRegistryError {
    /// The name is taken.
    #[error("a tool `{tool}` is registered already; `overwrite` replaces it")]
    AlreadyRegistered {
        /// The name.
        tool: ToolName,
    },
    /// There is no such tool.
    #[error("there is no tool `{tool}`")]
    Unknown {
        /// The name that was asked for.
        tool: String,
    },
}

impl Coded for ToolRegistryError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::AlreadyRegistered { .. } => codes::TOOL_ALREADY_REGISTERED,
            Self::Unknown { .. } => codes::UNKNOWN_TOOL,
        }
    }
}

impl ToolRegistry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A registry with these tools.
    ///
    /// # Errors
    ///
    /// Two of them have the same name.
    pub fn with_tools(tools: impl IntoIterator<Item = Tool>) -> Result<Self, ToolRegistryError> {
        let registry = Self::new();
        for tool in tools {
            registry.register(tool)?;
        }
        Ok(registry)
    }

    /// Adds a tool.
    ///
    /// ```
    /// use haft_core::{Tool, ToolRegistry};
    ///
    /// let now = Tool::builder("now").description("Tells the time.").handler(|| "noon").build()?;
    /// let registry = ToolRegistry::new();
    /// registry.register(now.clone())?;
    /// assert!(registry.register(now).is_err(), "the name is taken");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The name is taken; the tool's collision policy is for merges and is not asked.
    pub fn register(&self, tool: Tool) -> Result<(), ToolRegistryError> {
        // One lock for the look and the change, so that of two tasks one is refused.
        self.change(|entries| {
            if entries.get(tool.name().as_str()).is_some() {
                return Err(ToolRegistryError::AlreadyRegistered { tool: tool.name().clone() });
            }
            entries.insert(tool);
            Ok(())
        })
    }

    /// Adds a tool, or replaces the one of the same name, which keeps its position and stays hidden if
    /// it was. Returns the tool that was there.
    ///
    /// ```
    /// use haft_core::{Tool, ToolRegistry};
    ///
    /// let now = Tool::builder("now").description("Tells the time.").handler(|| "noon").build()?;
    /// let registry = ToolRegistry::with_tools([now.clone()])?;
    /// assert!(registry.overwrite(now).is_some());
    /// assert_eq!(registry.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn overwrite(&self, tool: Tool) -> Option<Tool> {
        self.change(|entries| entries.insert(tool))
    }

    /// Removes a tool. An unknown name changes nothing. If the model has seen the tool in this turn, its bytes stay in
    /// the [block of tools](Self::tool_block), and calls to it are refused.
    pub fn unregister(&self, name: &str) -> Option<Tool> {
        if !self.has(name) {
            return None;
        }
        self.change(|entries| entries.remove(name))
    }

    /// The tool of this name, hidden or not.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Tool> {
        self.read().get(name).map(|entry| entry.tool.clone())
    }

    /// The tool that a model called, by its name or an alias, or the error for the model, which suggests similar names.
    ///
    /// ```
    /// use haft_core::{Tool, ToolRegistry};
    ///
    /// let now = Tool::builder("now").description("Tells the time.").handler(|| "noon").build()?;
    /// let registry = ToolRegistry::with_tools([now])?;
    /// assert!(registry.find("now").is_ok());
    /// assert!(registry.find("later").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such tool, or the model saw it earlier in the turn and can no longer call it.
    pub fn find(&self, name: &str) -> Result<Tool, ToolError> {
        let entries = self.read();
        let by_alias = || entries.registered().find(|entry| entry.tool.is_called(name));
        let unavailable = match entries.tools.get(name).or_else(by_alias) {
            Some(ToolEntry { status: EntryStatus::Removed, .. }) => Unavailability::Removed,
            Some(ToolEntry { status: EntryStatus::Hidden, place: Some(_), .. }) => {
                Unavailability::Hidden
            }
            Some(entry) => return Ok(entry.tool.clone()),
            None if entries.is_lost(name) => Unavailability::NotRestored,
            None => return Err(entries.unknown(name)),
        };
        Err(ToolError::Unavailable { tool: name.to_owned(), reason: unavailable })
    }

    /// Whether there is a tool of this name, hidden or not.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.read().get(name).is_some()
    }

    /// How many tools there are, hidden ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().registered().count()
    }

    /// Whether there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.read().registered().next().is_none()
    }

    /// Every tool, in order of registration.
    #[must_use]
    pub fn all(&self) -> Vec<Tool> {
        self.collect_tools(|_| true)
    }

    /// The tools that are offered to the model.
    #[must_use]
    pub fn visible(&self) -> Vec<Tool> {
        self.collect_tools(|entry| entry.status == EntryStatus::Visible)
    }

    /// The tools that are not offered to the model.
    #[must_use]
    pub fn hidden(&self) -> Vec<Tool> {
        self.collect_tools(|entry| entry.status == EntryStatus::Hidden)
    }

    /// Hides tools. All of them, or none if one is unknown.
    ///
    /// ```
    /// use haft_core::{Tool, ToolRegistry};
    ///
    /// let now = Tool::builder("now").description("Tells the time.").handler(|| "noon").build()?;
    /// let registry = ToolRegistry::with_tools([now])?;
    /// registry.hide(["now"])?;
    /// assert!(registry.visible().is_empty() && registry.has("now"));
    /// registry.clear_hidden();
    /// assert_eq!(registry.visible().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// There is no tool of one of these names.
    pub fn hide<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
    ) -> Result<(), ToolRegistryError> {
        self.mark(names, EntryStatus::Hidden)
    }

    /// Offers hidden tools again. All of them, or none if one is unknown.
    ///
    /// # Errors
    ///
    /// There is no tool of one of these names.
    pub fn unhide<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
    ) -> Result<(), ToolRegistryError> {
        self.mark(names, EntryStatus::Visible)
    }

    /// Hides exactly these tools and offers all others.
    ///
    /// # Errors
    ///
    /// There is no tool of one of these names; then nothing changes.
    pub fn set_hidden<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
    ) -> Result<(), ToolRegistryError> {
        self.change(|entries| {
            let names = known(entries, names)?;
            entries.show_all();
            apply(entries, &names, EntryStatus::Hidden);
            Ok(())
        })
    }

    /// Offers every tool.
    pub fn clear_hidden(&self) {
        self.change(Entries::show_all);
    }

    /// Drops every ephemeral tool. Returns how many went.
    ///
    /// ```
    /// use haft_core::{Tool, ToolRegistry};
    ///
    /// let once = Tool::builder("once").description("Works once.").ephemeral().handler(|| "ok").build()?;
    /// let registry = ToolRegistry::with_tools([once])?;
    /// assert_eq!(registry.prune_ephemeral(), 1);
    /// assert!(registry.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prune_ephemeral(&self) -> usize {
        // Every turn ends with this, and most have none.
        if !self.read().registered().any(|entry| entry.tool.is_ephemeral()) {
            return 0;
        }
        self.change(Entries::prune_ephemeral)
    }

    /// Drops ephemeral tools when the dispatch is acknowledged. A dispatch that fails keeps them, so
    /// that a retry meets the same tools.
    pub fn bind_context(self: &Arc<Self>, ctx: &DispatchContext) -> AckSubscription {
        let registry = Arc::downgrade(self);
        ctx.on_ack(move || {
            if let Some(registry) = registry.upgrade() {
                registry.prune_ephemeral();
            }
        })
    }

    fn mark<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
        status: EntryStatus,
    ) -> Result<(), ToolRegistryError> {
        self.change(|entries| {
            let names = known(entries, names)?;
            apply(entries, &names, status);
            Ok(())
        })
    }

    fn collect_tools(&self, keep: impl Fn(&ToolEntry) -> bool) -> Vec<Tool> {
        self.read()
            .registered()
            .filter(|entry| keep(entry))
            .map(|entry| entry.tool.clone())
            .collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, Arc<Entries>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Arc<Entries>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Entries) -> T) -> T {
        let mut entries = self.write();
        let entries = Arc::make_mut(&mut entries);
        entries.first_offer = FirstOffer::default();
        change(entries)
    }
}

impl Entries {
    /// The entry of a tool that is registered, hidden or not.
    fn get(&self, name: &str) -> Option<&ToolEntry> {
        self.tools.get(name).filter(|entry| entry.is_registered())
    }

    /// The tools that are registered, hidden or not, in their order.
    fn registered(&self) -> impl Iterator<Item = &ToolEntry> {
        self.tools.values().filter(|entry| entry.is_registered())
    }

    /// Registers a tool, or replaces the one of the same name, and returns that.
    fn insert(&mut self, tool: Tool) -> Option<Tool> {
        let restored = self.restored_status(tool.name().as_str());
        match self.tools.entry(tool.name().clone()) {
            MapEntry::Occupied(mut entry) => {
                let entry = entry.get_mut();
                let was_registered = entry.is_registered();
                if !was_registered {
                    entry.status = restored.unwrap_or(EntryStatus::Visible);
                }
                entry.layer = Layer::Own;
                let replaced = std::mem::replace(&mut entry.tool, tool);
                was_registered.then_some(replaced)
            }
            MapEntry::Vacant(entry) => {
                let status = restored.unwrap_or(EntryStatus::Visible);
                entry.insert(ToolEntry { status, ..ToolEntry::new(tool) });
                None
            }
        }
    }

    /// Removes a tool. The entry of one that the model has seen stays.
    fn remove(&mut self, name: &str) -> Option<Tool> {
        let entry = self.tools.get_mut(name)?;
        if !entry.is_registered() {
            return None;
        }
        if entry.place.is_some() {
            entry.status = EntryStatus::Removed;
            return Some(entry.tool.clone());
        }
        self.tools.shift_remove(name).map(|entry| entry.tool)
    }

    fn show_all(&mut self) {
        for entry in self.tools.values_mut().filter(|entry| entry.is_registered()) {
            entry.status = EntryStatus::Visible;
        }
    }

    /// Removes ephemeral tools, and uncovers what lay below them.
    fn prune_ephemeral(&mut self) -> usize {
        let mut pruned = 0;
        self.tools.retain(|_, entry| {
            if !entry.tool.is_ephemeral() {
                return true;
            }
            pruned += usize::from(entry.is_registered());
            match std::mem::replace(&mut entry.layer, Layer::Own) {
                Layer::Overlay { covered: Some(covered) } => {
                    entry.tool = covered;
                    true
                }
                _ => false,
            }
        });
        pruned
    }

    fn unknown(&self, name: &str) -> ToolError {
        let visible = self.registered().filter(|entry| entry.status == EntryStatus::Visible);
        let mut offered: Vec<&str> = visible.map(|entry| entry.tool.name().as_str()).collect();
        // By name, so that a replay of the turn, which registers in another order, says the same.
        offered.sort_unstable();
        let nearest = near_names(name, offered.iter().copied());
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        ToolError::Unknown {
            tool: crate::schema::excerpt(name),
            nearest: owned(nearest.get(..MAX_NEAREST).unwrap_or(&nearest)),
            offered: if offered.len() > MAX_LISTED { Vec::new() } else { owned(&offered) },
        }
    }
}

/// The positions of these tools.
fn known<N: AsRef<str>>(
    entries: &Entries,
    names: impl IntoIterator<Item = N>,
) -> Result<Vec<usize>, ToolRegistryError> {
    let position = |name: N| {
        let name = name.as_ref();
        let unknown = || ToolRegistryError::Unknown { tool: crate::schema::excerpt(name) };
        entries.get(name).and_then(|_| entries.tools.get_index_of(name)).ok_or_else(unknown)
    };
    names.into_iter().map(position).collect()
}

fn apply(entries: &mut Entries, positions: &[usize], status: EntryStatus) {
    for at in positions {
        if let Some((_, entry)) = entries.tools.get_index_mut(*at) {
            entry.status = status;
        }
    }
}

impl Clone for ToolRegistry {
    fn clone(&self) -> Self {
        Self { entries: RwLock::new(Arc::clone(&self.read())) }
    }
}
