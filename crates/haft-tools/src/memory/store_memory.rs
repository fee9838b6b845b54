//! The tool `store_memory`.

use haft_core::record::{Memory, Record as _};
use haft_core::tool::{InvalidTool, Tool, ToolEffect};
use serde::Serialize;

use super::memory_view::MemoryView;
use haft_core::{CallContext, ToolFailure, tool::Json};
use haft_macros::ToolArgs;

#[derive(ToolArgs)]
pub(crate) struct StoreMemoryArgs {
    /// What to remember, as one statement that stands on its own
    #[arg(min_len = 1, max_len = 4000, example = "The user prefers answers in French.")]
    content: String,
    /// How sure it is, from 0 to 1
    #[arg(default = 0.8, min = 0, max = 1)]
    confidence: f64,
    /// How much it matters, from 0 to 1
    #[arg(default = 0.5, min = 0, max = 1)]
    importance: f64,
    /// A name by which to find it again; one is made if not given
    #[arg(min_len = 1, max_len = 100, pattern = "^[a-z0-9][a-z0-9_-]*$", example = "language")]
    id: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Stored {
    stored: MemoryView,
}

const DESCRIPTION: &str = "Remembers something for later turns. Store facts and preferences that will matter again, one at a time; \
not what is only of use now, and no secrets.\n\
An id that is taken is refused: use `update_memory` for what is remembered already.\n\
Returns JSON: `stored`, with the `id`.";

pub(super) fn store_memory() -> Result<Tool, InvalidTool> {
    super::definition("store_memory")
        .description(DESCRIPTION)
        .effect(ToolEffect::Idempotent)
        .handler(store)
        .build()
}

async fn store(args: StoreMemoryArgs, ctx: &CallContext) -> Result<Json<Stored>, ToolFailure> {
    if args.content.trim().is_empty() {
        return Err(ToolFailure::new("the content is blank; say what to remember"));
    }
    let id = args.id.unwrap_or_else(|| derive_id(ctx));
    if let Some(there) = ctx.turn().memories().all().into_iter().find(|it| it.id().as_str() == id) {
        // The same call, run again after a crash, finds its own memory.
        if there.content().as_str() == args.content {
            return Ok(Json(Stored { stored: MemoryView::from(&*there) }));
        }
        return Err(ToolFailure::new(format!(
            "there is a memory `{id}` already; use `update_memory`, or another id"
        )));
    }
    let memory = Memory::new(id, args.content, ctx.clock().now())
        .with_confidence(args.confidence)
        .with_importance(args.importance)
        .with_source("store_memory")
        .checked()?;
    let stored = MemoryView::from(&memory);
    ctx.turn().store_memory(memory).await?;
    Ok(Json(Stored { stored }))
}

/// Derives an id that is the same when the same call runs again, and different for every other call.
fn derive_id(ctx: &CallContext) -> String {
    use sha2::Digest as _;

    let key = ctx.idempotency_key().to_string();
    let hash = hex::encode(sha2::Sha256::digest(key.as_bytes()));
    let digits: String = hash.chars().take(16).collect();
    format!("memory-{digits}")
}
