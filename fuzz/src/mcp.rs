//! Messages of MCP servers.

use std::sync::Arc;

use haft::stores::MemorySpoolStore;
use haft_mcp::transport::{ReadLimits, SpooledParts, StreamTransport};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport as _;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;

/// Any bytes in any chunks give the same messages with the same large parts as in one; the first bytes say where the
/// stream is cut and what is large.
pub fn mcp_messages(data: &[u8]) {
    let [above, size, stream @ ..] = data else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let whole = runtime.block_on(read_messages(stream, stream.len().max(1), usize::from(*above)));
    let cut =
        runtime.block_on(read_messages(stream, usize::from(*size).max(1), usize::from(*above)));
    assert_eq!(cut, whole, "chunks change the messages");
}

/// The messages as text, with the large parts in their places.
async fn read_messages(stream: &[u8], size: usize, spool_above: usize) -> Vec<String> {
    let (mut server, client) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(client);
    let parts = SpooledParts::new(Arc::new(MemorySpoolStore::new()));
    let mut limits = ReadLimits::default();
    limits.spool_above = spool_above;
    let mut transport = StreamTransport::new(reader, writer, parts.clone(), limits);
    let call = CallToolRequest::new(CallToolRequestParams::new("tool"));
    let call =
        ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(call), RequestId::Number(1));
    transport.send(call).await.unwrap();
    let write = async {
        for chunk in stream.chunks(size) {
            server.write_all(chunk).await.unwrap();
            tokio::task::yield_now().await;
        }
        server.shutdown().await.unwrap();
    };
    let read = async {
        let mut seen = Vec::new();
        while let Some(message) = transport.receive().await {
            seen.push(describe(message, &parts).await);
        }
        seen
    };
    tokio::join!(write, read).1
}

async fn describe(message: ServerJsonRpcMessage, parts: &SpooledParts) -> String {
    let value = serde_json::to_value(&message).unwrap();
    let mut text = value.to_string();
    let mut strings = Vec::new();
    collect_strings(&value, &mut strings);
    for placeholder in strings {
        if let Some(part) = parts.take(placeholder) {
            let length = usize::try_from(part.byte_length()).unwrap();
            let content = part.reader().read_at(0, length).await.unwrap();
            let shown = format!("{:?}: {content:?}", part.encoding());
            text = text.replace(placeholder, &shown);
        }
    }
    text
}

fn collect_strings<'v>(value: &'v Value, strings: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => strings.push(text),
        Value::Array(all) => all.iter().for_each(|it| collect_strings(it, strings)),
        Value::Object(all) => all.values().for_each(|it| collect_strings(it, strings)),
        _ => {}
    }
}
