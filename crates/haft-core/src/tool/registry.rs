//! The tools of a turn, by name.

mod merge;

#[cfg(test)]
mod tests;

use crate::error::codes;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use indexmap::IndexMap;
use indexmap::map::Entry as MapEntry;

use crate::error::{Coded, ErrorCode};
use crate::schema::near_names;
use crate::tool::context::{AckSubscription, DispatchContext};
use crate::tool::error::{MAX_LISTED, MAX_NEAREST};
use crate::tool::{Tool, ToolError, ToolName};

/// Tools by name, in the order they were registered.
///
/// A turn has a registry of its own, made fresh from the runner's baseline; whatever middleware does to
/// it ends with the turn. Methods take `&self`, so that the handle in a context can be shared. Cloning
/// copies the list, not the tools.
///
/// Hidden tools can be called but are not offered to the model. Hiding belongs to the entry: replacing a
/// tool in place keeps it, removing the tool ends it.
#[derive(Debug, Default)]
pub struct ToolRegistry {
    /// Shared by clones until one of them changes: a turn and each of its iterations have one.
    entries: RwLock<Arc<Entries>>,
}

type Entries = IndexMap<ToolName, ToolEntry>;

#[derive(Clone, Debug)]
struct ToolEntry {
    tool: Tool,
    hidden: bool,
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
        self.change(|entries| match entries.entry(tool.name().clone()) {
            MapEntry::Occupied(entry) => {
                Err(ToolRegistryError::AlreadyRegistered { tool: entry.key().clone() })
            }
            MapEntry::Vacant(entry) => {
                entry.insert(ToolEntry { tool, hidden: false });
                Ok(())
            }
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
        self.change(|entries| match entries.entry(tool.name().clone()) {
            MapEntry::Occupied(mut entry) => {
                Some(std::mem::replace(&mut entry.get_mut().tool, tool))
            }
            MapEntry::Vacant(entry) => {
                entry.insert(ToolEntry { tool, hidden: false });
                None
            }
        })
    }

    /// Removes a tool. An unknown name changes nothing.
    pub fn unregister(&self, name: &str) -> Option<Tool> {
        self.change(|entries| entries.shift_remove(name)).map(|entry| entry.tool)
    }

    /// The tool of this name, hidden or not.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Tool> {
        self.read().get(name).map(|entry| entry.tool.clone())
    }

    /// The tool that a model called, by its name or an alias, or the error it is told: which name it may
    /// have meant.
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
    /// There is no such tool.
    pub fn find(&self, name: &str) -> Result<Tool, ToolError> {
        let entries = self.read();
        let by_alias = || entries.values().find(|entry| entry.tool.is_called(name));
        if let Some(entry) = entries.get(name).or_else(by_alias) {
            return Ok(entry.tool.clone());
        }
        let visible = entries.iter().filter(|(_, entry)| !entry.hidden);
        let mut offered: Vec<&str> = visible.map(|(name, _)| name.as_str()).collect();
        // By name, so that a replay of the turn, which registers in another order, says the same.
        offered.sort_unstable();
        let nearest = near_names(name, offered.iter().copied());
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Err(ToolError::Unknown {
            tool: crate::schema::excerpt(name),
            nearest: owned(nearest.get(..MAX_NEAREST).unwrap_or(&nearest)),
            offered: if offered.len() > MAX_LISTED { Vec::new() } else { owned(&offered) },
        })
    }

    /// Whether there is a tool of this name, hidden or not.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.read().contains_key(name)
    }

    /// How many tools there are, hidden ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Whether there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// Every tool, in order of registration.
    #[must_use]
    pub fn all(&self) -> Vec<Tool> {
        self.collect_tools(|_| true)
    }

    /// The tools that are offered to the model.
    #[must_use]
    pub fn visible(&self) -> Vec<Tool> {
        self.collect_tools(|entry| !entry.hidden)
    }

    /// The tools that are not offered to the model.
    #[must_use]
    pub fn hidden(&self) -> Vec<Tool> {
        self.collect_tools(|entry| entry.hidden)
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
        self.mark(names, true)
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
        self.mark(names, false)
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
            for entry in entries.values_mut() {
                entry.hidden = false;
            }
            apply(entries, &names, true);
            Ok(())
        })
    }

    /// Offers every tool.
    pub fn clear_hidden(&self) {
        self.change(|entries| entries.values_mut().for_each(|entry| entry.hidden = false));
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
        if !self.read().values().any(|entry| entry.tool.is_ephemeral()) {
            return 0;
        }
        self.change(|entries| {
            let before = entries.len();
            entries.retain(|_, entry| !entry.tool.is_ephemeral());
            before - entries.len()
        })
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
        hidden: bool,
    ) -> Result<(), ToolRegistryError> {
        self.change(|entries| {
            let names = known(entries, names)?;
            apply(entries, &names, hidden);
            Ok(())
        })
    }

    fn collect_tools(&self, keep: impl Fn(&ToolEntry) -> bool) -> Vec<Tool> {
        self.read().values().filter(|entry| keep(entry)).map(|entry| entry.tool.clone()).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, Arc<Entries>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Entries) -> T) -> T {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut entries))
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
        entries.get_index_of(name).ok_or_else(unknown)
    };
    names.into_iter().map(position).collect()
}

fn apply(entries: &mut Entries, positions: &[usize], hidden: bool) {
    for at in positions {
        if let Some((_, entry)) = entries.get_index_mut(*at) {
            entry.hidden = hidden;
        }
    }
}

impl Clone for ToolRegistry {
    fn clone(&self) -> Self {
        Self { entries: RwLock::new(Arc::clone(&self.read())) }
    }
}
