//! The tools of a turn, by name.

mod block;
mod changes;
mod merge;

#[cfg(test)]
mod tests;

use crate::error::codes;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use indexmap::IndexMap;

use crate::error::{Coded, ErrorCode};
use crate::schema::near_names;
use crate::tool::context::{AckSubscription, DispatchContext};
use crate::tool::error::{MAX_LISTED, MAX_NEAREST};
use crate::tool::{IntoTool, InvalidTool, Tool, ToolError, ToolName, Unavailability};

use self::block::OfferedTool;
pub use self::block::{BlockTool, OfferPoint};
use self::changes::EarlierChanges;
pub use self::changes::{AppendedTool, RegisteredTool, ToolChanges};

/// Tools by name, in the order they were registered.
///
/// A turn has a registry of its own, made fresh from the runner's baseline. What middleware and handlers register and
/// remove lasts for the turn, and the model sees it from the next request on. Methods take `&self`, so that the
/// handle in a context can be shared. Cloning copies the list, not the tools.
///
/// A tool that the model has seen stays in the [block of tools](Self::tool_block), so that prompt caches hold: calls to
/// it are refused once it is removed.
#[derive(Debug, Default)]
pub struct ToolRegistry {
    /// Shared by clones until one of them changes.
    entries: RwLock<Arc<Entries>>,
}

#[derive(Clone, Debug, Default)]
struct Entries {
    /// The tools that can be called. Those that an earlier process has removed are among them until the next request,
    /// because the block shows their bytes.
    tools: IndexMap<ToolName, Tool>,
    /// The tools that the turn has offered to the model, in this order. The list only grows.
    offered: IndexMap<ToolName, OfferedTool>,
    /// What an earlier process has journaled about tools.
    earlier: EarlierChanges,
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
    /// The definition of the tool has faults.
    #[error(transparent)]
    Invalid(#[from] InvalidTool),
}

impl Coded for ToolRegistryError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::AlreadyRegistered { .. } => codes::TOOL_ALREADY_REGISTERED,
            Self::Invalid(error) => error.code(),
        }
    }
}

impl ToolRegistry {
    /// A registry with these tools. [`ToolRegistry::default`] is empty.
    ///
    /// # Errors
    ///
    /// Two of them have the same name, or a definition has faults.
    pub fn new(tools: impl IntoIterator<Item = impl IntoTool>) -> Result<Self, ToolRegistryError> {
        let registry = Self::default();
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
    /// let registry = ToolRegistry::default();
    /// registry.register(&now)?;
    /// assert!(registry.register(now).is_err(), "the name is taken");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The name is taken; the tool's collision policy is for merges and is not asked. Or the definition has faults.
    pub fn register(&self, tool: impl IntoTool) -> Result<(), ToolRegistryError> {
        let tool = tool.into_tool()?;
        // One lock for the look and the change, so that of two tasks one is refused.
        self.change(|entries| {
            if entries.get(tool.name().as_str()).is_some() {
                return Err(ToolRegistryError::AlreadyRegistered { tool: tool.name().clone() });
            }
            entries.insert(tool);
            Ok(())
        })
    }

    /// Adds a tool, or replaces the one of the same name, which keeps its position. Returns the tool that was there.
    ///
    /// ```
    /// use haft_core::{Tool, ToolRegistry};
    ///
    /// let now = Tool::builder("now").description("Tells the time.").handler(|| "noon").build()?;
    /// let registry = ToolRegistry::new([&now])?;
    /// assert!(registry.overwrite(now)?.is_some());
    /// assert_eq!(registry.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The definition has faults.
    pub fn overwrite(&self, tool: impl IntoTool) -> Result<Option<Tool>, InvalidTool> {
        let tool = tool.into_tool()?;
        Ok(self.change(|entries| entries.insert(tool)))
    }

    /// Removes a tool. An unknown name changes nothing. If the model has seen the tool in this turn, its bytes stay in
    /// the [block of tools](Self::tool_block), and calls to it are refused.
    pub fn unregister(&self, name: &str) -> Option<Tool> {
        if !self.has(name) {
            return None;
        }
        self.change(|entries| entries.remove(name))
    }

    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Tool> {
        self.read().get(name).cloned()
    }

    /// The tool that a model called, or the error for the model, which suggests similar names.
    ///
    /// ```
    /// use haft_core::{Tool, ToolRegistry};
    ///
    /// let now = Tool::builder("now").description("Tells the time.").handler(|| "noon").build()?;
    /// let registry = ToolRegistry::new([now])?;
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
        if let Some(tool) = entries.get(name) {
            return Ok(tool.clone());
        }
        let is_removed = entries.tools.contains_key(name) || entries.offered.contains_key(name);
        let reason = if is_removed {
            Unavailability::Removed
        } else if entries.earlier.has_registered(name) {
            Unavailability::NotRestored
        } else {
            return Err(entries.unknown(name));
        };
        Err(ToolError::Unavailable { tool: name.to_owned(), reason })
    }

    /// Whether there is a tool of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.read().get(name).is_some()
    }

    /// How many tools there are.
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
        self.read().registered().cloned().collect()
    }

    /// Adds those of these tools whose names are free, such as the tools that query artifacts.
    pub fn register_missing(&self, tools: impl IntoIterator<Item = Tool>) {
        self.change(|entries| {
            for tool in tools {
                if entries.get(tool.name().as_str()).is_none() {
                    entries.insert(tool);
                }
            }
        });
    }

    /// Drops every ephemeral tool. Returns how many went.
    ///
    /// ```
    /// use haft_core::{Tool, ToolRegistry};
    ///
    /// let once = Tool::builder("once").description("Works once.").ephemeral().handler(|| "ok").build()?;
    /// let registry = ToolRegistry::new([once])?;
    /// assert_eq!(registry.prune_ephemeral(), 1);
    /// assert!(registry.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prune_ephemeral(&self) -> usize {
        // Every turn ends with this, and most have none.
        if !self.read().registered().any(Tool::is_ephemeral) {
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

    fn read(&self) -> RwLockReadGuard<'_, Arc<Entries>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Arc<Entries>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Entries) -> T) -> T {
        change(Arc::make_mut(&mut self.write()))
    }
}

impl Entries {
    fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name).filter(|tool| !self.earlier.is_removed(tool.name()))
    }

    /// The tools that can be called, in their order.
    fn registered(&self) -> impl Iterator<Item = &Tool> {
        self.tools.values().filter(|tool| !self.earlier.is_removed(tool.name()))
    }

    /// Registers a tool, or replaces the one of the same name, and returns that. The block shows it in the same place.
    fn insert(&mut self, tool: Tool) -> Option<Tool> {
        if let Some(offered) = self.offered.get_mut(tool.name()) {
            offered.tool = tool.clone();
        }
        let was_removed = self.earlier.is_removed(tool.name());
        self.tools.insert(tool.name().clone(), tool).filter(|_| !was_removed)
    }

    fn remove(&mut self, name: &str) -> Option<Tool> {
        self.get(name)?;
        self.tools.shift_remove(name)
    }

    fn prune_ephemeral(&mut self) -> usize {
        let before = self.tools.len();
        self.tools.retain(|_, tool| !tool.is_ephemeral());
        before - self.tools.len()
    }

    fn unknown(&self, name: &str) -> ToolError {
        let mut offered: Vec<&str> = self.registered().map(|tool| tool.name().as_str()).collect();
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

impl Clone for ToolRegistry {
    fn clone(&self) -> Self {
        Self { entries: RwLock::new(Arc::clone(&self.read())) }
    }
}
