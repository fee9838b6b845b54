//! Requests of the proxy itself, whose responses from several servers it merges into one.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::envelope::{METHOD_NOT_FOUND, RequestKey, error_response, request, response, set};
use super::session::Session;

/// How long a server may take to answer a request of the proxy.
const DEADLINE: Duration = Duration::from_secs(30);

/// How many pages a list may have.
const MAX_PAGES: usize = 100;

impl Session {
    /// Asks a server, and returns its result.
    pub(super) async fn ask(
        &self,
        upstream: usize,
        method: &str,
        params: &Value,
    ) -> Result<Value, String> {
        let name = self.upstream_name(upstream);
        let (id, answer) = self.register_own_request(upstream);
        self.send_upstream(upstream, request(&id, method, params)).await?;
        match timeout(DEADLINE, answer).await {
            Ok(Ok(mut message)) => match message.get_mut("result") {
                Some(result) => Ok(result.take()),
                None => Err(format!(
                    "the server `{name}` refused `{method}`: {}",
                    message.pointer("/error/message").unwrap_or(&Value::Null)
                )),
            },
            Ok(Err(_)) => Err(format!("the server `{name}` has ended")),
            Err(_) => Err(format!("the server `{name}` did not answer `{method}` in time")),
        }
    }

    /// Asks all servers.
    async fn ask_all(&self, method: &str, params: &Value) -> Result<Vec<Value>, String> {
        let mut results = Vec::new();
        for upstream in 0..self.upstream_count() {
            results.push(self.ask(upstream, method, params).await?);
        }
        Ok(results)
    }

    /// Answers a request for several servers.
    pub(super) async fn answer_merged(
        self: Arc<Self>,
        id: RequestKey,
        method: String,
        params: Value,
    ) {
        let answer = match method.as_str() {
            "ping" => Ok(json!({})),
            "initialize" => self.ask_all(&method, &params).await.map(|it| merge_initialized(&it)),
            "server/discover" => {
                self.ask_all(&method, &params).await.map(|it| merge_discovered(&it))
            }
            "logging/setLevel" => self.ask_all(&method, &params).await.map(|_| json!({})),
            "tools/list" => self.list_tools(&params).await,
            _ => {
                let why = format!(
                    "`{method}` is not passed on to several servers; the proxy offers their tools"
                );
                self.send_client(error_response(&id, METHOD_NOT_FOUND, &why)).await;
                return;
            }
        };
        let line = match answer {
            Ok(result) => response(&id, &result),
            // A client that asked whether the servers have no sessions goes on with a session.
            Err(why) => error_response(&id, METHOD_NOT_FOUND, &why),
        };
        self.send_client(line).await;
    }

    /// The tools of all servers, then the query tools.
    pub(super) async fn list_tools(&self, params: &Value) -> Result<Value, String> {
        let mut tools = Vec::new();
        let mut first: Option<Map<String, Value>> = None;
        self.clear_routes();
        for upstream in 0..self.upstream_count() {
            let mut params = params.clone();
            for _ in 0..MAX_PAGES {
                let mut page = self.ask(upstream, "tools/list", &params).await?;
                if let Some(Value::Array(items)) = page.get_mut("tools").map(Value::take) {
                    tools.extend(
                        items.into_iter().filter_map(|item| self.route_tool(upstream, item)),
                    );
                }
                let cursor = page.get_mut("nextCursor").map(Value::take).filter(|it| !it.is_null());
                if let (None, Value::Object(fields)) = (&first, page) {
                    first = Some(fields);
                }
                let Some(cursor) = cursor else { break };
                set(&mut params, "cursor", cursor);
            }
        }
        tools.extend(self.query_definitions().iter().cloned());
        let mut list = first.unwrap_or_default();
        list.remove("nextCursor");
        list.insert("tools".to_owned(), Value::Array(tools));
        Ok(Value::Object(list))
    }
}

/// The oldest revision that all servers support, and the capabilities that the proxy passes on.
fn merge_initialized(results: &[Value]) -> Value {
    let versions =
        results.iter().filter_map(|it| it.get("protocolVersion").and_then(Value::as_str));
    let version = versions.min().unwrap_or("2025-06-18").to_owned();
    let mut merged = json!({
        "protocolVersion": version,
        "capabilities": merge_capabilities(results),
        "serverInfo": {"name": "haft-mcp-proxy", "version": env!("CARGO_PKG_VERSION")},
    });
    if let Some(text) = merge_instructions(results) {
        set(&mut merged, "instructions", text);
    }
    merged
}

/// The revisions that all servers have.
fn merge_discovered(results: &[Value]) -> Value {
    let versions = |result: &Value| -> Vec<Value> {
        result.get("supportedVersions").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let mut common = results.first().map(versions).unwrap_or_default();
    for result in results {
        let own = versions(result);
        common.retain(|version| own.contains(version));
    }
    let mut merged = results.first().cloned().unwrap_or_else(|| json!({}));
    set(&mut merged, "supportedVersions", common);
    set(&mut merged, "capabilities", merge_capabilities(results));
    let info = json!({"name": "haft-mcp-proxy", "version": env!("CARGO_PKG_VERSION")});
    set(&mut merged, "_meta", json!({"io.modelcontextprotocol/serverInfo": info}));
    if let Some(text) = merge_instructions(results) {
        set(&mut merged, "instructions", text);
    }
    merged
}

fn merge_capabilities(results: &[Value]) -> Value {
    let has = |pointer: &str| {
        results.iter().any(|it| it.pointer(pointer).is_some_and(|it| *it != Value::Bool(false)))
    };
    let mut capabilities = json!({"tools": {}});
    if has("/capabilities/tools/listChanged") {
        set(&mut capabilities, "tools", json!({"listChanged": true}));
    }
    if has("/capabilities/logging") {
        set(&mut capabilities, "logging", json!({}));
    }
    capabilities
}

fn merge_instructions(results: &[Value]) -> Option<String> {
    let texts: Vec<&str> =
        results.iter().filter_map(|it| it.get("instructions").and_then(Value::as_str)).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}
