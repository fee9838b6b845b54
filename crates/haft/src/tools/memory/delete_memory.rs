//! `delete_memory`.

use haft_core::record::RecordName;
use serde::Serialize;

use crate::{DispatchContext, Json, ToolArgs, ToolFailure, tool};

#[derive(ToolArgs)]
pub(in crate::tools) struct Deletion {
    /// The id of the memory, as `list_memories` tells it
    #[arg(min_len = 1, max_len = 200, example = "language")]
    id: String,
}

#[derive(Serialize)]
pub(super) struct Deleted {
    id: String,
    /// Whether there was one.
    deleted: bool,
}

/// Forgets a memory, for good. Deleting what is not there is no error.
///
/// Returns JSON: `id`, and `deleted`, which is false if there was no such memory.
#[tool(effect = "idempotent", artifact = "json", concurrency = "keyed:/id")]
pub(super) async fn delete_memory(
    args: Deletion,
    ctx: &DispatchContext,
) -> Result<Json<Deleted>, ToolFailure> {
    let name: RecordName = args
        .id
        .parse()
        .map_err(|why| ToolFailure::new(format!("the id {why}; `list_memories` tells the ids")))?;
    let deleted = ctx.delete_memory(&name).await?;
    Ok(Json(Deleted { id: args.id, deleted }))
}
