//! Runs the query tools of artifacts on one file or artifact.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use haft::artifacts::{ArtifactKind, Budget, SpooledArtifact};
use haft::stores::SpoolReader;
use haft::tools::ArtifactSet;
use haft::tools::ToolRegistry;
use haft::trust::TrustTier;
use haft::{DispatchContext, ToolOutput, artifacts};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::user_error::UserError;

/// The query tools of one file.
pub(super) struct FileQueries {
    handle: String,
    tools: ToolRegistry,
    ctx: DispatchContext,
}

/// How long a query may take, as in a turn.
const MAX_QUERY_TIME: Duration = Duration::from_secs(120);

impl FileQueries {
    /// Makes the query tools for a file of this kind.
    pub(super) fn new(
        reader: Arc<dyn SpoolReader>,
        name: &str,
        kind: ArtifactKind,
    ) -> Result<Self> {
        let artifacts = Arc::new(ArtifactSet::new());
        let file = SpooledArtifact::new(kind, reader, TrustTier::UNTRUSTED);
        artifacts.put_retrieved(name, file)?;
        let handle = artifacts.handle_of_retrieved(name).unwrap_or_default();
        // The output goes to a person or a file, not into a prompt, so the budget is large.
        let budget = Budget::new().lines(NonZeroUsize::MAX).bytes(64 << 20).line_bytes(64 << 20);
        let tools = artifacts::standard_formats().budget(budget).forge(&artifacts)?;
        let ctx = DispatchContext::builder("artifact").artifacts(artifacts).build();
        Ok(Self { handle, tools, ctx })
    }

    /// Runs a query tool and returns its result.
    pub(super) async fn run_query(&self, tool: &str, mut args: Value) -> Result<String> {
        if let Some(args) = args.as_object_mut() {
            args.insert("callId".to_owned(), self.handle.as_str().into());
        }
        let (tool, ctx) = (self.tools.find(tool)?, self.ctx.clone());
        // On a task of its own: a query that does not wait for anything cannot be interrupted on this one.
        let mut task = JoinSet::new();
        task.spawn(async move { tool.executor(&ctx).call(args).await });
        let Ok(done) = tokio::time::timeout(MAX_QUERY_TIME, task.join_next()).await else {
            let error = UserError::new(format!("the query took more than {MAX_QUERY_TIME:?}"));
            return Err(error.hint("use a more specific path or condition").into());
        };
        let done = done.ok_or_else(|| UserError::new("the query did not run"))??;
        match done.outcome {
            Ok(ToolOutput::Answer { text, .. }) => Ok(text),
            Ok(ToolOutput::Text(text)) => {
                Err(UserError::new(text.strip_prefix("Error: ").unwrap_or(&text)).into())
            }
            Ok(_) => Err(UserError::new("the result of the query is not text").into()),
            Err(error) => Err(UserError::new(error.to_string()).into()),
        }
    }
}
