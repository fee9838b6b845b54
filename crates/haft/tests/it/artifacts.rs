//! Artifacts as an agent meets them: a tool returns something large, the model queries it.

mod conformance;
mod data;
mod forge;
mod json;
mod markdown;
mod questions;
mod spooler;
mod text;
mod trust;

use std::sync::Arc;

use haft::artifacts::Formats;
use haft::artifacts::{ArtifactDraft, ArtifactKind};
use haft::records::{OccurrenceCounter, ToolCall, ToolResults};
use haft::stores::MemorySpoolStore;
use haft::tools::IntoToolOutput;
use haft::tools::Spooler;
use haft::{DispatchContext, Tool, ToolRegistry, artifacts};
use haft_core::tool::OnCollision;

/// A turn with a tool layer and nothing else.
pub(crate) struct Turn {
    pub(crate) ctx: DispatchContext,
    pub(crate) spooler: Spooler,
    pub(crate) formats: Formats,
    seen: OccurrenceCounter,
}

impl Turn {
    pub(crate) fn new() -> Self {
        let store = Arc::new(MemorySpoolStore::new());
        Self {
            ctx: DispatchContext::builder("turn-1").build(),
            spooler: Spooler::new(store),
            formats: artifacts::standard_formats(),
            seen: OccurrenceCounter::default(),
        }
    }

    /// Calls a tool and keeps its record, as the loop does.
    pub(crate) async fn call(&mut self, tool: &Tool, args: &str) -> ToolCall {
        let done = tool.executor(&self.ctx).call(args).await;
        let occurrence = self.seen.next(done.call_id).occurrence();
        let call = self.spooler.complete_call("turn-1", done.to_requested(occurrence), done).await;
        self.ctx.artifacts().put_call(&call).unwrap();
        call
    }

    /// A tool call with content of a kind; gives its handle.
    pub(crate) async fn hold(&mut self, kind: ArtifactKind, content: &'static str) -> String {
        let tool = returns("fetch", move || ArtifactDraft::new(kind.clone(), content));
        let call = self.call(&tool, "{}").await;
        self.ctx.artifacts().handles_of(call.id()).remove(0)
    }

    pub(crate) fn forged(&self) -> ToolRegistry {
        self.formats.forge(self.ctx.artifacts()).unwrap()
    }

    /// Asks as the model does, and gives what the model sees.
    pub(crate) async fn ask(&mut self, tool: &str, args: &str) -> String {
        let tool = self.forged().find(tool).unwrap();
        let call = self.call(&tool, args).await;
        match (call.results, call.error) {
            (Some(ToolResults::Text(text)), None) => text,
            (None, Some(error)) => error.message,
            other => panic!("neither text nor an error: {other:?}"),
        }
    }
}

/// A tool without arguments.
pub(crate) fn returns<R: IntoToolOutput>(
    name: &str,
    make: impl Fn() -> R + Send + Sync + 'static,
) -> Tool {
    Tool::builder(name)
        .description("Returns something.")
        .on_collision(OnCollision::Replace)
        .handler(make)
        .build()
        .unwrap()
}
