//! The block of tools that the model sees: within a turn it only grows at its end.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::{Entries, ToolRegistry};
use crate::artifact::ArtifactKind;
use crate::call::RecordId;
use crate::tool::{Tool, ToolName};

/// A tool that the turn has offered to the model.
#[derive(Clone, Debug)]
pub(super) struct OfferedTool {
    /// The tool, or what it was before it was removed.
    pub(super) tool: Tool,
    /// For a tool that was added after the first request: when that was.
    pub(super) added_at: Option<OfferPoint>,
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

/// A tool in the block that the model sees.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BlockTool {
    /// The tool. It may be removed meanwhile; calls to it are refused then.
    pub tool: Tool,
    /// For a tool that was added after the first request of the turn: when that was. Providers that bind reasoning to the
    /// tools of the request load such a tool deferred.
    pub added_at: Option<OfferPoint>,
}

impl ToolRegistry {
    /// The block of tools for the next request: the tools that the turn has offered before in their order, those that
    /// were removed meanwhile included, and behind them those that are new.
    ///
    /// ```
    /// use haft_core::tool::OfferPoint;
    /// use haft_core::{Tool, ToolRegistry};
    ///
    /// let tool = |name: &str| Tool::builder(name).description("A tool.").handler(|| "ok").build();
    /// let registry = ToolRegistry::new([tool("a")?, tool("b")?])?;
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

    /// Marks the tools as offered to the model: from now on their place in the block is fixed. The loop does so before
    /// each step.
    pub fn offer_tools(&self, point: OfferPoint) {
        if self.has_new_tools() {
            self.change(|entries| entries.offer(point));
        }
    }

    /// Whether there are tools that the next request offers for the first time.
    #[must_use]
    pub fn has_new_tools(&self) -> bool {
        let entries = self.read();
        entries.new_in_block().next().is_some() || entries.earlier.is_pending()
    }

    /// The kinds of artifacts that the tools declare as their results, each once.
    #[must_use]
    pub fn declared_kinds(&self) -> Vec<ArtifactKind> {
        let mut kinds: Vec<ArtifactKind> = Vec::new();
        for kind in self.read().registered().flat_map(Tool::declared_kinds) {
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
}

impl Entries {
    fn block(&self) -> Vec<BlockTool> {
        let offered = self.offered.values().map(|OfferedTool { tool, added_at }| BlockTool {
            tool: tool.clone(),
            added_at: *added_at,
        });
        let new = self.new_in_block().map(|it| BlockTool { tool: it.clone(), added_at: None });
        offered.chain(new).collect()
    }

    /// The tools that were not offered yet.
    fn new_in_block(&self) -> impl Iterator<Item = &Tool> {
        self.registered().filter(|tool| !self.offered.contains_key(tool.name()))
    }

    /// Offers every tool. In a resumed turn, the tools of the first request come first, and behind them those that were
    /// added later, at the points at which they were added.
    fn offer(&mut self, point: OfferPoint) {
        let earlier = self.earlier.take_pending();
        let names: Vec<ToolName> = self.tools.keys().cloned().collect();
        let (later, first): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| earlier.is_later(name));
        let is_first = self.offered.is_empty();
        let first = first.into_iter().map(|name| (name, (!is_first).then_some(point)));
        let appended = earlier.appended.iter().map(|it| (it.name.clone(), Some(it.point())));
        let later = later.into_iter().map(|name| (name, Some(point)));
        for (name, added_at) in first.chain(appended).chain(later) {
            let Some(tool) = self.tools.get(&name).filter(|_| earlier.is_shown(&name)) else {
                continue;
            };
            let offered = OfferedTool { tool: tool.clone(), added_at };
            self.offered.entry(name).or_insert(offered);
        }
        self.tools.retain(|name, _| !earlier.is_removed(name));
    }
}
