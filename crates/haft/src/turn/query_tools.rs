//! The tools that query the artifacts of a turn.

use haft_core::context::DispatchContext;
use haft_core::forge::Formats;
use haft_core::registry::ToolRegistry;
use haft_core::tool::InvalidTool;

/// Which tools that query artifacts the turn has.
///
/// An iteration is opened in constant time as long as neither the tools nor the kinds of the artifacts change, however
/// many artifacts there are.
pub(super) struct QueryTools {
    /// The tools as they were when their kinds were last looked at.
    tools: ToolRegistry,
    /// The number of kinds of artifacts that the query tools cover.
    kinds: usize,
}

impl QueryTools {
    /// Of a turn that has the tools of the agent.
    pub(super) fn new(tools: &ToolRegistry) -> Self {
        Self { tools: tools.clone(), kinds: 0 }
    }

    /// Adds the tools for what has changed since the last iteration. A program's own tool of the same name stays.
    pub(super) fn update(
        &mut self,
        formats: &Formats,
        ctx: &DispatchContext,
    ) -> Result<(), InvalidTool> {
        let mut kinds = ctx.artifacts().kinds_since(self.kinds);
        self.kinds += kinds.len();
        let tools = ctx.tools();
        if !tools.is_unchanged_since(&self.tools) {
            kinds.extend(tools.declared_kinds());
        }
        let added = formats.query_tools(&kinds)?;
        if added.iter().any(|tool| !tools.has(tool.name().as_str())) {
            tools.register_missing(added);
        }
        self.tools = ToolRegistry::clone(tools);
        Ok(())
    }
}

/// Adds the tools to a baseline that query what its tools can return.
pub(super) fn register_query_tools(
    tools: &ToolRegistry,
    formats: &Formats,
) -> Result<(), InvalidTool> {
    tools.register_missing(formats.query_tools(&tools.declared_kinds())?);
    Ok(())
}
