//! Tools for memories that remain between turns. The memories are those of the turn's context, and what is stored
//! belongs to the scope of the turn: its conversation, or the agent or user that its input names. Content that the model
//! writes is untrusted.

pub(super) mod delete_memory;
pub(super) mod list_memories;
mod memory_view;
pub(super) mod store_memory;
pub(super) mod update_memory;

use haft_core::tool::{InvalidTool, Tool, ToolBuilder};

/// Creates the tools `list_memories`, `store_memory`, `update_memory` and `delete_memory`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use haft_core::{DispatchContext, ToolRegistry};
///
/// let tools = ToolRegistry::new(haft_tools::memory()?)?;
/// let ctx = DispatchContext::builder("turn-1").build();
/// let call = tools.find("list_memories")?.executor(&ctx).call(r#"{}"#).await;
/// assert!(format!("{:?}", call.outcome?).replace('\\', "").contains(r#"memories"#));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Does not fail in practice, because the definitions are fixed.
pub fn memory() -> Result<Vec<Tool>, InvalidTool> {
    [
        list_memories::list_memories(),
        store_memory::store_memory(),
        update_memory::update_memory(),
        delete_memory::delete_memory(),
    ]
    .into_iter()
    .collect()
}

/// Starts a tool whose results are JSON.
fn definition(name: &str) -> ToolBuilder {
    Tool::builder(name).artifact(haft_core::artifact::ArtifactKind::JSON)
}
