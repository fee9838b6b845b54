use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use haft_core::BoxFuture;
use haft_core::spool::{
    ReaderDescriptor, SpoolError, SpoolKey, SpoolPayload, SpoolReader, SpoolStore,
};
use haft_stores::{DirSpoolStore, MemorySpoolStore};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientJsonRpcMessage, ClientRequest, ClientResult, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::Transport as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use crate::transport::spooled_parts::MAX_UNANSWERED;
use crate::transport::{PartEncoding, ReadLimits, SpooledParts, StreamTransport, TransportError};

struct Connection {
    server: DuplexStream,
    transport: StreamTransport,
    parts: SpooledParts,
    store: Arc<dyn SpoolStore>,
}

fn connect(store: Arc<dyn SpoolStore>, limits: ReadLimits) -> Connection {
    let (server, client) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(client);
    let parts = SpooledParts::new(Arc::clone(&store));
    let transport = StreamTransport::new(reader, writer, parts.clone(), limits);
    Connection { server, transport, parts, store }
}

fn memory() -> Arc<dyn SpoolStore> {
    Arc::new(MemorySpoolStore::new())
}

fn small() -> ReadLimits {
    ReadLimits { spool_above: 16, max_message_bytes: 400, ..ReadLimits::default() }
}

fn call(id: i64) -> ClientJsonRpcMessage {
    let call = CallToolRequest::new(CallToolRequestParams::new("tool"));
    ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(call), RequestId::Number(id))
}

fn cancel(id: i64) -> ClientJsonRpcMessage {
    let params = CancelledNotificationParam::new(Some(RequestId::Number(id)), None);
    ClientJsonRpcMessage::notification(CancelledNotification::new(params).into())
}

fn response(id: i64, text: &str) -> String {
    let result = serde_json::json!({"content": [{"type": "text", "text": text}]});
    format!("{}\n", serde_json::json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn text_of(message: &ServerJsonRpcMessage) -> String {
    let JsonRpcMessage::Response(response) = message else { panic!("{message:?}") };
    let ServerResult::CallToolResult(result) = &response.result else { panic!("{message:?}") };
    result.content[0].as_text().unwrap().text.clone()
}

fn error_of(message: Option<ServerJsonRpcMessage>) -> String {
    let Some(JsonRpcMessage::Error(error)) = message else { panic!("{message:?}") };
    error.error.message.to_string()
}

/// Deletions run in the background.
async fn check_empty(store: &dyn SpoolStore) {
    for _ in 0..1000 {
        if store.list().await.unwrap().is_empty() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("left behind: {:?}", store.list().await);
}

#[tokio::test]
async fn small_messages_pass_and_large_texts_are_spooled() {
    let mut it = connect(memory(), small());
    it.transport.send(call(1)).await.unwrap();
    it.server.write_all(response(1, "short").as_bytes()).await.unwrap();
    assert_eq!(text_of(&it.transport.receive().await.unwrap()), "short");

    let long = "line\n".repeat(100_000);
    it.transport.send(call(2)).await.unwrap();
    let (sent, received) = tokio::join!(
        async { it.server.write_all(response(2, &long).as_bytes()).await },
        it.transport.receive()
    );
    sent.unwrap();
    let placeholder = text_of(&received.unwrap());
    let part = it.parts.take(&placeholder).unwrap();
    assert_eq!((part.encoding(), part.byte_length()), (PartEncoding::Text, long.len() as u64));
    assert_eq!(part.reader().read_at(0, long.len()).await.unwrap(), long.as_bytes());
    assert!(it.parts.take(&placeholder).is_none(), "a part is taken once");
    drop(part);
    check_empty(&*it.store).await;
}

#[tokio::test]
async fn a_server_cannot_refer_to_parts() {
    let mut it = connect(memory(), small());
    it.transport.send(call(1)).await.unwrap();
    it.transport.send(call(2)).await.unwrap();
    it.server.write_all(response(1, &"secret ".repeat(10)).as_bytes()).await.unwrap();
    let placeholder = text_of(&it.transport.receive().await.unwrap());
    it.server.write_all(response(2, "haft-part-x-0").as_bytes()).await.unwrap();
    let forged = text_of(&it.transport.receive().await.unwrap());
    assert!(it.parts.take(&forged).is_none());
    assert!(it.parts.take(&placeholder).is_some());
}

#[tokio::test]
async fn malformed_messages_do_not_hide_the_next_one() {
    let mut it = connect(memory(), small());
    it.transport.send(call(1)).await.unwrap();
    it.transport.send(call(2)).await.unwrap();
    let noise = "Server started on stdio\n\n{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"content\":[{\"text\":\"\
                 long enough to be spooled \n\u{7}\n{}\n[1,2]\n";
    it.server.write_all(noise.as_bytes()).await.unwrap();
    it.server.write_all(b"\xff\xfe{\"id\":1}\n").await.unwrap();
    it.server.write_all(response(1, "fine").as_bytes()).await.unwrap();
    assert_eq!(text_of(&it.transport.receive().await.unwrap()), "fine");

    it.server
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":tru}}\n")
        .await
        .unwrap();
    let error = error_of(it.transport.receive().await);
    assert!(error.contains("it is not JSON"), "{error}");
    check_empty(&*it.store).await;
}

#[tokio::test]
async fn a_message_that_is_too_long_fails_its_request() {
    let mut it = connect(memory(), small());
    it.transport.send(call(1)).await.unwrap();
    let meta = "x".repeat(1000);
    let long =
        format!("{{\"result\":{{\"content\":[],\"_meta\":{{\"a\":\"{meta}\"}}}},\"id\":1}}\n");
    it.server.write_all(long.as_bytes()).await.unwrap();
    let error = error_of(it.transport.receive().await);
    assert!(error.contains("more than 400 bytes"), "{error}");
}

#[tokio::test]
async fn a_response_to_a_cancelled_request_is_not_stored() {
    let mut it = connect(memory(), small());
    it.transport.send(call(1)).await.unwrap();
    it.server.write_all(b"{\"id\":1,\"jsonrpc\":\"2.0\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"").await.unwrap();
    it.server.write_all(&[b'x'; 10_000]).await.unwrap();
    it.transport.send(cancel(1)).await.unwrap();
    it.server.write_all(&[b'x'; 10_000]).await.unwrap();
    it.server.write_all(b"\"}]}}\n").await.unwrap();
    it.transport.send(call(2)).await.unwrap();
    it.server.write_all(response(2, "next").as_bytes()).await.unwrap();
    assert_eq!(text_of(&it.transport.receive().await.unwrap()), "next");
    check_empty(&*it.store).await;

    // One that arrives as a whole before it is cancelled.
    it.transport.send(call(3)).await.unwrap();
    it.server.write_all(response(3, &"x".repeat(1000)).as_bytes()).await.unwrap();
    let placeholder = text_of(&it.transport.receive().await.unwrap());
    it.transport.send(cancel(3)).await.unwrap();
    assert!(it.parts.take(&placeholder).is_none());
    check_empty(&*it.store).await;
}

#[tokio::test]
async fn a_server_that_ends_within_a_part_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn SpoolStore> = Arc::new(DirSpoolStore::open(dir.path()).unwrap());
    let mut it = connect(store, small());
    it.transport.send(call(1)).await.unwrap();
    it.server.write_all(b"{\"result\":{\"content\":[{\"text\":\"").await.unwrap();
    it.server.write_all(&[b'x'; 50_000]).await.unwrap();
    drop(it.server);
    assert!(it.transport.receive().await.is_none());
    check_empty(&*it.store).await;
}

#[tokio::test]
async fn a_last_message_without_a_newline_is_read() {
    let mut it = connect(memory(), small());
    it.transport.send(call(1)).await.unwrap();
    it.server.write_all(response(1, "last").trim_end().as_bytes()).await.unwrap();
    drop(it.server);
    assert_eq!(text_of(&it.transport.receive().await.unwrap()), "last");
    assert!(it.transport.receive().await.is_none());
}

/// A store that fails after some bytes, or at once.
#[derive(Debug)]
struct FullStore;

impl SpoolStore for FullStore {
    fn write(
        &self,
        key: SpoolKey,
        _: SpoolPayload,
    ) -> BoxFuture<'_, Result<Arc<dyn SpoolReader>, SpoolError>> {
        Box::pin(async move { Err(SpoolError::TooLarge { key, limit: 1 }) })
    }

    fn read(&self, _: SpoolKey) -> BoxFuture<'_, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        Box::pin(async { Ok(None) })
    }

    fn open<'a>(
        &'a self,
        _: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        Box::pin(async { Ok(None) })
    }

    fn delete(&self, _: SpoolKey) -> BoxFuture<'_, Result<bool, SpoolError>> {
        Box::pin(async { Ok(false) })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

#[tokio::test]
async fn a_part_that_cannot_be_stored_fails_its_request() {
    let mut it = connect(Arc::new(FullStore), small());
    it.transport.send(call(1)).await.unwrap();
    let long = response(1, &"x".repeat(1_000_000));
    let (sent, received) =
        tokio::join!(async { it.server.write_all(long.as_bytes()).await }, it.transport.receive());
    sent.unwrap();
    let error = error_of(received);
    assert!(error.contains("could not be stored"), "{error}");
    it.transport.send(call(2)).await.unwrap();
    it.server.write_all(response(2, "goes on").as_bytes()).await.unwrap();
    assert_eq!(text_of(&it.transport.receive().await.unwrap()), "goes on");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_its_input_is_noticed() {
    let mut it = connect(memory(), small());
    let sent = it.transport.send(call(1));
    sent.await.unwrap();
    // Fills the pipe, which is not read.
    let result = loop {
        match it.transport.send(call(2)).await {
            Ok(()) => {}
            Err(error) => break error,
        }
    };
    assert!(
        matches!(result, TransportError::Stalled(time) if time == Duration::from_secs(60)),
        "{result:?}"
    );
    assert!(matches!(it.transport.send(call(3)).await, Err(TransportError::Closed)));
}

#[tokio::test]
async fn closing_ends_the_input_of_the_server() {
    let Connection { mut server, mut transport, .. } = connect(memory(), small());
    transport.send(call(1)).await.unwrap();
    transport.close().await.unwrap();
    let mut line = String::new();
    // The stream ends although the other half is still read.
    drop(transport);
    server.read_to_string(&mut line).await.unwrap();
    assert!(line.starts_with('{') && line.ends_with("}\n"), "{line}");
}

#[tokio::test]
async fn a_part_is_read_as_a_stream_and_deleted_behind_it() {
    use std::future::poll_fn;
    use std::pin::Pin;

    use futures_core::Stream as _;

    let mut it = connect(memory(), small());
    it.transport.send(call(1)).await.unwrap();
    let text = "0123456789".repeat(100_000);
    let long = response(1, &text);
    let (sent, received) =
        tokio::join!(async { it.server.write_all(long.as_bytes()).await }, it.transport.receive());
    sent.unwrap();
    let part = it.parts.take(&text_of(&received.unwrap())).unwrap();
    let mut stream = part.into_stream();
    let mut read = Vec::new();
    while let Some(chunk) = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await {
        let chunk: Bytes = chunk.unwrap();
        read.extend_from_slice(&chunk);
    }
    drop(stream);
    assert!(read == text.as_bytes());
    check_empty(&*it.store).await;
}

/// Each request of a server is a task until its response was written, and a server need not read responses.
#[tokio::test]
async fn requests_that_the_server_does_not_let_answer_are_bounded() {
    let Connection { mut server, mut transport, .. } = connect(memory(), ReadLimits::default());
    let ping = |id: usize| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
    let receive = async |transport: &mut StreamTransport| match transport.receive().await {
        Some(JsonRpcMessage::Request(request)) => Ok(request.id),
        Some(JsonRpcMessage::Notification(_)) => Err(()),
        other => panic!("{other:?}"),
    };
    let flood: String = (0..500).map(ping).collect();
    let after = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n";
    server.write_all((flood + after).as_bytes()).await.unwrap();
    for id in 0..i64::try_from(MAX_UNANSWERED).unwrap() {
        assert_eq!(receive(&mut transport).await, Ok(RequestId::Number(id)));
    }
    assert_eq!(receive(&mut transport).await, Err(()), "the others are ignored");
    let answer = ClientJsonRpcMessage::response(ClientResult::empty(()), RequestId::Number(5));
    transport.send(answer).await.unwrap();
    let cancelled = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\
        \"params\":{\"requestId\":6}}\n";
    // One was answered and one is not wanted any more: there is room for two, and a number that waits is not taken twice.
    let more = cancelled.to_owned() + &ping(7) + &ping(500) + &ping(501) + &ping(502) + after;
    server.write_all(more.as_bytes()).await.unwrap();
    let expected = [Err(()), Ok(RequestId::Number(500)), Ok(RequestId::Number(501)), Err(())];
    for expected in expected {
        assert_eq!(receive(&mut transport).await, expected);
    }
}
