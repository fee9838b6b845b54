//! The server over HTTP: who may use it.
#![expect(clippy::disallowed_methods, reason = "a peer on a task of its own")]

use haft::Tool;
use haft_mcp::McpServer;
use haft_mcp::server::{HttpOptions, McpHttpService};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Serves on a free port of the loop-back address, until the test ends.
pub(crate) async fn serve<H: rmcp::ServerHandler>(service: McpHttpService<H>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let app = axum::Router::new().route_service("/mcp", service);
    tokio::spawn(async move { axum::serve(listener, app).await });
    port
}

/// Sends a request, and returns the status and the whole response.
async fn post(port: u16, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
    let body = body.to_string();
    let mut request = format!(
        "POST /mcp HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    if headers.iter().all(|(name, _)| *name != "Host") {
        request.push_str(&format!("Host: 127.0.0.1:{port}\r\n"));
    }
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let status = response.split(' ').nth(1).unwrap().parse().unwrap();
    (status, response)
}

fn discover() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}})
}

const VERSION: [(&str, &str); 2] =
    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "server/discover")];

fn server() -> McpServer {
    let tool = Tool::builder("now").description("Tells the time.").handler(|| "noon");
    McpServer::builder("test").tool(tool.build().unwrap()).build().unwrap()
}

fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    VERSION.iter().chain(more).copied().collect()
}

#[tokio::test]
async fn a_web_page_cannot_use_a_local_server() {
    let port = serve(server().http_service(&HttpOptions::new())).await;
    let (status, text) = post(port, &with(&[]), &discover()).await;
    assert!(status == 200 && text.contains("2026-07-28"), "{text}");
    let own = format!("http://127.0.0.1:{port}");
    assert_eq!(post(port, &with(&[("Origin", &own)]), &discover()).await.0, 200);
    for (name, value) in [
        ("Origin", "https://evil.example".to_owned()),
        ("Origin", "null".to_owned()),
        ("Origin", format!("https://127.0.0.1:{port}")),
        ("Origin", format!("http://127.0.0.1:{port}.evil.example")),
        ("Origin", format!("http://evil@127.0.0.1:{port}")),
        ("Origin", "http://127.0.0.1:1".to_owned()),
        ("Host", "evil.example".to_owned()),
        ("Host", format!("127.0.0.1:{port}.evil.example")),
        ("Host", format!("evil@127.0.0.1:{port}")),
    ] {
        let (status, text) = post(port, &with(&[(name, &value)]), &discover()).await;
        assert_eq!(status, 403, "{name}: {value}: {text}");
    }
    let twice = [("Host", "127.0.0.1"), ("Host", "127.0.0.1")];
    assert_eq!(post(port, &with(&twice), &discover()).await.0, 400);
    let options = HttpOptions::new().allow_origin("https://app.example:443").unwrap();
    let options = options.allow_host("mcp.example").unwrap();
    let port = serve(server().http_service(&options)).await;
    let allowed = [("Origin", "https://app.example"), ("Host", "mcp.example")];
    assert_eq!(post(port, &with(&allowed), &discover()).await.0, 200);
}

#[tokio::test]
async fn a_token_is_required_if_one_is_set() {
    let port = serve(server().http_service(&HttpOptions::new().bearer_token("secret\n"))).await;
    for wrong in [None, Some("Bearer guess"), Some("Basic secret"), Some("secret"), Some("Bearer")]
    {
        let header: Vec<_> = wrong.into_iter().map(|it| ("Authorization", it)).collect();
        let (status, text) = post(port, &with(&header), &discover()).await;
        assert!(
            status == 401 && text.to_lowercase().contains("www-authenticate: bearer"),
            "{text}"
        );
    }
    let right = [("Authorization", "bearer secret")];
    assert_eq!(post(port, &with(&right), &discover()).await.0, 200);
}

#[tokio::test]
async fn sessions_are_bounded() {
    let port = serve(server().http_service(&HttpOptions::new().max_sessions(2))).await;
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    assert_eq!(post(port, &[], &initialize).await.0, 200);
    assert_eq!(post(port, &[], &initialize).await.0, 200);
    assert_eq!(post(port, &[], &initialize).await.0, 503);
}
