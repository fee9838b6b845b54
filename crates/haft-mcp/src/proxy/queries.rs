//! Queries about stored results, which the proxy answers itself.

use std::sync::Arc;

use haft_core::cancel::Cancellation;
use haft_core::tool::ArtifactSet;
use haft_core::{RawArgs, Tool};
use serde_json::{Value, json};

use super::envelope::{RequestKey, response};
use super::session::Session;
use crate::query_tools::{QueryAnswer, handle_of, is_list};

/// How many results one list shows.
const MAX_LISTED: usize = 50;

impl Session {
    /// Answers a query.
    pub(super) async fn answer_query(
        self: Arc<Self>,
        id: RequestKey,
        tool: Tool,
        args: Value,
        cancellation: Cancellation,
    ) {
        let raw = RawArgs::from(args.to_string());
        let answer = match is_list(&tool, &raw) {
            true => self.list_results(&args).await,
            false => self.run_query(&tool, raw, cancellation.clone()).await,
        };
        self.end_query(&id);
        if cancellation.is_cancelled() {
            return;
        }
        let QueryAnswer { text, is_error } = answer;
        let result = json!({"content": [{"type": "text", "text": text}], "isError": is_error, "resultType": "complete"});
        self.send_client(response(&id, &result)).await;
    }

    async fn run_query(
        &self,
        tool: &Tool,
        args: RawArgs,
        cancellation: Cancellation,
    ) -> QueryAnswer {
        let shared = self.shared();
        let artifacts = ArtifactSet::new();
        if let Some(handle) = handle_of(&args) {
            match shared.catalog.find(&handle).await {
                Ok(Some(artifact)) => drop(artifacts.put_retrieved(&handle, artifact)),
                Ok(None) => {
                    let shown = crate::answer_limits::start_of(&handle, 64);
                    return shared.queries.refuse(&format!(
                        "there is no result with callId `{shown}`: it never existed, or it was removed; artifact_info \
                         without callId lists those that there are"
                    ));
                }
                Err(error) => return shared.queries.refuse(&error.to_string()),
            }
        }
        shared.queries.run(tool, args, Arc::new(artifacts), cancellation).await
    }

    /// The stored results, the newest first.
    async fn list_results(&self, args: &Value) -> QueryAnswer {
        let shared = self.shared();
        let skip = args.get("skip").and_then(Value::as_u64).unwrap_or(0);
        let skip = skip.min(usize::MAX as u64) as usize;
        let results = match shared.catalog.list().await {
            Ok(results) => results,
            Err(error) => return shared.queries.refuse(&error.to_string()),
        };
        let mut lines: Vec<String> = results
            .iter()
            .skip(skip)
            .take(MAX_LISTED)
            .map(|it| {
                format!("{} {} bytes, of {}, {}", it.handle, it.bytes, it.tool, it.created_at)
            })
            .collect();
        let shown = skip.saturating_add(lines.len());
        if lines.is_empty() {
            lines.push("(no results)".to_owned());
        }
        if shown < results.len() {
            lines.push(format!("[{} more; go on with skip {shown}]", results.len() - shown));
        }
        QueryAnswer { text: shared.limits.cut(&lines.join("\n")), is_error: false }
    }
}
