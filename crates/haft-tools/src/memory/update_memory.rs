//! The tool `update_memory`.

use haft_core::record::Record as _;
use haft_core::tool::{Concurrency, InvalidTool, Tool, ToolEffect};
use haft_core::trust::TrustTier;
use serde::Serialize;

use super::memory_view::{MemoryView, find_memory};
use haft_core::{CallContext, ToolFailure, tool::Json};
use haft_macros::ToolArgs;

#[derive(ToolArgs)]
pub(crate) struct UpdateMemoryArgs {
    /// The id of the memory, as `list_memories` tells it
    #[arg(min_len = 1, max_len = 200, example = "language")]
    id: String,
    /// What to remember instead; what there is stays if not given
    #[arg(min_len = 1, max_len = 4000, example = "The user prefers answers in German.")]
    content: Option<String>,
    /// How sure it is, from 0 to 1
    #[arg(min = 0, max = 1)]
    confidence: Option<f64>,
    /// How much it matters, from 0 to 1
    #[arg(min = 0, max = 1)]
    importance: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct Updated {
    updated: MemoryView,
}

const DESCRIPTION: &str = "Changes what is remembered: its content, how sure it is, or how much it matters.\n\
Returns JSON: `updated`, the memory as it is now.";

pub(super) fn update_memory() -> Result<Tool, InvalidTool> {
    super::definition("update_memory")
        .description(DESCRIPTION)
        .effect(ToolEffect::Idempotent)
        .concurrency(Concurrency::Keyed("/id".to_owned()))
        .handler(update)
        .build()
}

async fn update(args: UpdateMemoryArgs, ctx: &CallContext) -> Result<Json<Updated>, ToolFailure> {
    let memory = find_memory(ctx, &args.id)?;
    let mut next = memory.revised(ctx.clock().now());
    match args.content {
        Some(content) if content.trim().is_empty() => {
            return Err(ToolFailure::new("the content is blank; `delete_memory` forgets a memory"));
        }
        // The model wrote it, even if the old text was trusted.
        Some(content) => next = next.with_content(content).lowered_to(TrustTier::UNTRUSTED),
        None if args.confidence.is_none() && args.importance.is_none() => {
            return Err(ToolFailure::new(
                "there is nothing to change; give `content`, `confidence` or `importance`",
            ));
        }
        None => {}
    }
    if let Some(confidence) = args.confidence {
        next = next.with_confidence(confidence);
    }
    if let Some(importance) = args.importance {
        next = next.with_importance(importance);
    }
    let next = next.checked()?;
    let updated = MemoryView::from(&next);
    ctx.turn().store_memory(next).await?;
    Ok(Json(Updated { updated }))
}
