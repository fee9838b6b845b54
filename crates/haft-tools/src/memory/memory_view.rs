//! Memories as tools return them.

use std::sync::Arc;

use haft_core::CallContext;
use haft_core::record::Memory;
use haft_core::tool::ToolFailure;
use serde::Serialize;

/// A memory in a result.
#[derive(Serialize)]
pub(super) struct MemoryView {
    id: String,
    content: String,
    confidence: f64,
    importance: f64,
    updated_at: String,
}

impl From<&Memory> for MemoryView {
    fn from(memory: &Memory) -> Self {
        Self {
            id: memory.id().as_str().to_owned(),
            content: memory.content().as_str().to_owned(),
            confidence: memory.confidence(),
            importance: memory.importance(),
            updated_at: memory.updated_at().to_string(),
        }
    }
}

/// Finds the memory with this id.
pub(super) fn find_memory(ctx: &CallContext, id: &str) -> Result<Arc<Memory>, ToolFailure> {
    let found = ctx.turn().memories().all().into_iter().find(|it| it.id().as_str() == id);
    found.ok_or_else(|| {
        ToolFailure::new(format!(
            "there is no memory `{}`; `list_memories` tells the ids",
            crate::preview(id)
        ))
    })
}
