//! The tool `delete_memory`.

use haft_core::record::RecordName;
use haft_core::tool::{Concurrency, InvalidTool, Tool, ToolEffect};
use serde::Serialize;

use haft_core::{CallContext, ToolFailure, tool::Json};
use haft_macros::ToolArgs;

#[derive(ToolArgs)]
pub(crate) struct DeleteMemoryArgs {
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

const DESCRIPTION: &str = "Forgets a memory, for good. Deleting what is not there is no error.\n\
Returns JSON: `id`, and `deleted`, which is false if there was no such memory.";

pub(super) fn delete_memory() -> Result<Tool, InvalidTool> {
    super::definition("delete_memory")
        .description(DESCRIPTION)
        .effect(ToolEffect::Idempotent)
        .concurrency(Concurrency::Keyed("/id".to_owned()))
        .handler(delete)
        .build()
}

async fn delete(args: DeleteMemoryArgs, ctx: &CallContext) -> Result<Json<Deleted>, ToolFailure> {
    let name: RecordName = args
        .id
        .parse()
        .map_err(|why| ToolFailure::new(format!("the id {why}; `list_memories` tells the ids")))?;
    let deleted = ctx.turn().delete_memory(&name).await?;
    Ok(Json(Deleted { id: args.id, deleted }))
}
