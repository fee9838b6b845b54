//! The tools that query the artifacts of a turn, as an overlay of its tools.

use haft_core::artifact::ArtifactKind;
use haft_core::context::DispatchContext;
use haft_core::forge::{Formats, HandleSchema};
use haft_core::registry::ToolRegistry;
use haft_core::tool::InvalidTool;

/// Which tools that query artifacts the turn has.
///
/// An iteration is opened in constant time as long as neither the tools nor the kinds of the artifacts change, however
/// many artifacts there are.
pub(super) struct QueryTools {
    handles: HandleSchema,
    /// The tools as they were when their kinds were last looked at.
    tools: ToolRegistry,
    /// The number of kinds of artifacts that the overlay covers.
    kinds: usize,
    /// The state of the artifacts that the overlay lists.
    revision: u64,
}

impl QueryTools {
    /// Of a turn whose tools have the overlay of the runner.
    pub(super) fn new(handles: HandleSchema, tools: &ToolRegistry) -> Self {
        Self { handles, tools: tools.clone(), kinds: 0, revision: 0 }
    }

    /// Adds the tools for what has changed since the last iteration.
    pub(super) fn update(
        &mut self,
        formats: &Formats,
        ctx: &DispatchContext,
    ) -> Result<(), InvalidTool> {
        if self.handles == HandleSchema::Enum {
            return self.update_enums(formats, ctx);
        }
        let mut kinds = ctx.artifacts().kinds_since(self.kinds);
        self.kinds += kinds.len();
        let tools = ctx.tools();
        if !tools.is_unchanged_since(&self.tools) {
            kinds.extend(tools.declared_kinds());
        }
        let added = formats.query_tools(&kinds)?;
        if added.iter().any(|tool| !tools.has_overlay(tool.name().as_str())) {
            tools.extend_overlay(added);
        }
        self.tools = ToolRegistry::clone(tools);
        Ok(())
    }

    /// Rebuilds the tools if the artifacts have changed, because the schemas list the artifacts.
    fn update_enums(
        &mut self,
        formats: &Formats,
        ctx: &DispatchContext,
    ) -> Result<(), InvalidTool> {
        let revision = ctx.artifacts().revision();
        if revision != self.revision {
            ctx.tools().replace_overlay(formats.forge(ctx.artifacts())?.all());
            self.revision = revision;
        }
        Ok(())
    }
}

/// Lays the tools over a baseline that query what its tools can return.
pub(super) fn overlay_baseline(tools: &ToolRegistry, formats: &Formats) -> Result<(), InvalidTool> {
    let kinds: Vec<ArtifactKind> = tools.declared_kinds();
    let added = formats.query_tools(&kinds)?;
    if !added.is_empty() {
        tools.extend_overlay(added);
    }
    Ok(())
}
