//! A client and a server on both sides of a proxy, message by message.
#![expect(clippy::disallowed_methods, reason = "a peer on a task of its own")]

use std::sync::Arc;

use haft::stores::MemorySpoolStore;
use haft_mcp::proxy::{McpProxyBuilder, Upstream};
use haft_mcp::{AnswerLimits, McpProxy};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};

/// One end of a connection.
pub(crate) struct Peer {
    pub(crate) reader: BufReader<ReadHalf<DuplexStream>>,
    pub(crate) writer: WriteHalf<DuplexStream>,
}

impl Peer {
    fn new(stream: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self { reader: BufReader::new(reader), writer }
    }

    /// The next message, byte for byte.
    pub(crate) async fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).await.unwrap();
        line
    }

    pub(crate) async fn read(&mut self) -> Value {
        serde_json::from_str(&self.read_line().await).unwrap()
    }

    pub(crate) async fn write_line(&mut self, line: &str) {
        self.writer.write_all(line.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn write(&mut self, message: &Value) {
        self.write_line(&message.to_string()).await;
    }
}

/// A client, a proxy that runs, and the server behind it.
pub(crate) struct Chain {
    pub(crate) client: Peer,
    pub(crate) server: Peer,
    next_id: u64,
}

/// A proxy that stores in memory.
pub(crate) fn proxy() -> McpProxyBuilder {
    McpProxy::builder(Arc::new(MemorySpoolStore::new()))
}

/// Connects a server to a proxy, and returns its end.
pub(crate) fn connect(builder: McpProxyBuilder, name: &str) -> (McpProxyBuilder, Peer) {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (output, input) = tokio::io::split(ours);
    (builder.upstream(Upstream::streams(name, output, input)), Peer::new(theirs))
}

/// Runs a proxy, and returns the end of its client.
pub(crate) fn run(builder: McpProxyBuilder) -> Peer {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let proxy = builder.build().unwrap();
    tokio::spawn(async move {
        let (input, output) = tokio::io::split(ours);
        proxy.serve_stream(input, output).await
    });
    Peer::new(theirs)
}

impl Chain {
    pub(crate) fn new(builder: McpProxyBuilder) -> Self {
        let (builder, server) = connect(builder, "upstream");
        Self { client: run(builder), server, next_id: 1 }
    }

    /// Sends a request of the client that the proxy answers itself.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        self.client.write(&request).await;
        self.client.read().await
    }

    /// Calls a tool whose result the server gives, and returns the answer to the client.
    pub(crate) async fn call(&mut self, result: Value) -> Value {
        self.next_id += 1;
        let params = json!({"name": "get", "arguments": {}});
        self.client.write(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": "tools/call", "params": params})).await;
        let asked = self.server.read().await;
        // In parallel, because the proxy may answer while the server still writes.
        let message = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        let server = &mut self.server;
        let client = &mut self.client;
        let ((), answer) = tokio::join!(server.write(&message), client.read());
        answer
    }

    /// Asks the proxy about a stored result.
    pub(crate) async fn query(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await;
        let result = &answer["result"];
        (texts(result), result["isError"].as_bool().unwrap_or(false))
    }

    /// Lists the tools, of which the server has these.
    pub(crate) async fn list(&mut self, tools: Value) -> Value {
        self.next_id += 1;
        self.client
            .write(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": "tools/list"}))
            .await;
        let asked = self.server.read().await;
        self.server
            .write(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": tools}}))
            .await;
        self.client.read().await["result"]["tools"].take()
    }
}

/// The texts of a result.
pub(crate) fn texts(result: &Value) -> String {
    let items = result["content"].as_array().unwrap_or_else(|| panic!("{result}"));
    items.iter().filter_map(|item| item["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The handles that an answer names.
pub(crate) fn handles(result: &Value) -> Vec<String> {
    let text = texts(result);
    text.split("callId `").skip(1).map(|rest| rest.split('`').next().unwrap().to_owned()).collect()
}

/// A result with one text.
pub(crate) fn text_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// Whether the texts of an answer fit.
pub(crate) fn assert_fits(answer: &Value, limits: AnswerLimits) {
    let text = texts(&answer["result"]);
    assert!(limits.fits(&text), "{} bytes", text.len());
}

/// A definition of a tool.
pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "description": "A tool.", "inputSchema": {"type": "object"}})
}
