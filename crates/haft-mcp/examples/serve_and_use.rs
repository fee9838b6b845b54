//! An agent offers its tools over HTTP, and another agent uses them in a turn. Both run in this process.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use haft::executors::ScriptExecutor;
use haft::stores::{MemorySpoolStore, TurnDir};
use haft::{Agent, ToolArgs, tool};
use haft_mcp::McpServer;
use haft_mcp::client::{HttpServer, McpEndpoint, McpTools};
use haft_mcp::server::HttpOptions;
use tokio::net::TcpListener;

const TOKEN: &str = "a secret of the two";

const SCRIPT: &str = r#"
steps:
  - call:
      search: {words: tulips}
  - expect:
      search: {contains: "3 offers"}
    say: "The shop says: {{ last.search }}"
"#;

#[derive(ToolArgs)]
struct Search {
    /// Words to search for
    words: String,
}

/// Searches the offers of the shop.
#[tool(read_only)]
async fn search(args: Search) -> String {
    format!("3 offers of {}", args.words)
}

// ANCHOR: server
/// The routes of an application that offers its tools at `/mcp`. Turns are stored in a directory.
fn build_app(dir: TurnDir, token: &str) -> Result<axum::Router, Box<dyn Error>> {
    let server =
        McpServer::builder("shop").tool(search()).agent(move |agent| agent.dir(&dir)).build()?;
    let service = server.http_service(&HttpOptions::new().bearer_token(token));
    Ok(axum::Router::new().route_service("/mcp", service))
}
// ANCHOR_END: server

// ANCHOR: client
/// Runs a turn with the tools of a server. A server that is a program is `McpEndpoint::streams(ServerCommand::new("npx"))`.
async fn ask_shop(address: SocketAddr) -> Result<String, Box<dyn Error>> {
    let endpoint = HttpServer::new(format!("http://{address}/mcp")).bearer_token(TOKEN);
    let spools = Arc::new(MemorySpoolStore::new());
    let for_results = Arc::clone(&spools);
    let shop = McpTools::connect("shop", McpEndpoint::http(endpoint), for_results).await?;
    let agent = Agent::builder(ScriptExecutor::parse(SCRIPT)?)
        .system("You buy flowers.")
        .spools(spools)
        .tools(shop.tools(|_| false))
        .build()?;
    Ok(agent.turn("Are there tulips?").await?.value)
}
// ANCHOR_END: client

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let app = build_app(TurnDir::open(dir.path())?, TOKEN)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let said = tokio::select! {
        served = axum::serve(listener, app) => return Ok(served?),
        said = ask_shop(address) => said?,
    };
    println!("{said}");
    Ok(())
}
