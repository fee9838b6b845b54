//! The requests of clients.

use std::sync::atomic::Ordering;

use haft::artifacts::text::TextView;
use haft_core::artifact::{Budget, SpooledArtifact};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, InitializeResult, ListPromptsRequestMethod,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceContents, ResourceTemplate, Tool as ToolDefinition,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

use super::McpServer;
use super::definitions::describe_lifetime;
use super::events::rank;
use super::results::ARTIFACT_URI;
use super::tool_call::internal;

/// How long a client may keep a list, in milliseconds. Lists do not change while a server runs.
const LIST_TTL_MS: u64 = 60 * 60 * 1_000;

impl ServerHandler for McpServer {
    fn get_info(&self) -> InitializeResult {
        self.shared.info.clone()
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = ListToolsResult::with_all_items(self.shared.definitions.to_vec());
        (list.ttl_ms, list.cache_scope) = (Some(LIST_TTL_MS), Some(CacheScope::Private));
        Ok(list)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.handle_call(params, context).await
    }

    fn get_tool(&self, name: &str) -> Option<ToolDefinition> {
        self.shared.definitions.iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        // Results are reached by their handles; a list would show them to every client.
        let mut list = ListResourcesResult::with_all_items(Vec::new());
        (list.ttl_ms, list.cache_scope) = (Some(LIST_TTL_MS), Some(CacheScope::Private));
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let lifetime = describe_lifetime(self.shared.results.lifetime());
        let template = ResourceTemplate::new(format!("{ARTIFACT_URI}{{callId}}{{?lines}}"), "result")
            .with_title("Stored result")
            .with_description(format!(
                "Lines of a result that was too large for one answer, such as lines=1-200. A callId is valid for \
                 {lifetime}."
            ))
            .with_mime_type("text/plain");
        let mut list = ListResourceTemplatesResult::with_all_items(vec![template]);
        (list.ttl_ms, list.cache_scope) = (Some(LIST_TTL_MS), Some(CacheScope::Private));
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let not_found = || {
            ErrorData::resource_not_found(
                format!("there is no resource `{uri}`"),
                Some(json!({"uri": uri})),
            )
        };
        let (handle, lines) = parse_uri(&uri).ok_or_else(not_found)?;
        let found = self.shared.results.find(handle).await.map_err(|error| internal(&error))?;
        let artifact = found.ok_or_else(not_found)?;
        let text = self.read_lines(&artifact, lines).await?;
        let contents = ResourceContents::text(text, uri.as_str()).with_mime_type("text/plain");
        let mut result = ReadResourceResult::new(vec![contents]);
        (result.ttl_ms, result.cache_scope) = (Some(LIST_TTL_MS), Some(CacheScope::Private));
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    #[expect(deprecated, reason = "clients of the revisions before 2026-07-28 still use logging")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.log_level.store(rank(request.level), Ordering::Relaxed);
        Ok(())
    }
}

impl McpServer {
    /// Reads lines of a result, as many as one answer can hold.
    async fn read_lines(
        &self,
        artifact: &SpooledArtifact,
        lines: (u64, u64),
    ) -> Result<String, ErrorData> {
        let limits = self.shared.limits;
        let budget = Budget::new().bytes((limits.bytes / 2).min(limits.tokens * 2));
        let view = TextView::new(std::sync::Arc::clone(artifact.reader())).budget(budget);
        let (first, last) = lines;
        let page =
            view.cat(first.saturating_sub(1)..last).await.map_err(|error| internal(&error))?;
        let text = page.text();
        Ok(match page.next {
            None => limits.cut(&text),
            Some(_) => {
                let shown = first.max(1) + page.lines.len() as u64;
                let count = view.count_lines().await.map_err(|error| internal(&error))?;
                limits.cut(&format!("{text}\n[{count} lines; go on with lines={shown}-{last}]"))
            }
        })
    }
}

/// The handle and the lines that an address names. Lines are counted from 1, and the last one is included.
fn parse_uri(uri: &str) -> Option<(&str, (u64, u64))> {
    let rest = uri.strip_prefix(ARTIFACT_URI)?;
    let Some((handle, query)) = rest.split_once('?') else { return Some((rest, (1, u64::MAX))) };
    let lines = query.strip_prefix("lines=")?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let last = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
    Some((handle, (first.parse().ok()?, last)))
}
