//! A server over streamable HTTP: every message of the client is a request, and the response is read as a stream.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use haft_http::{HttpBody, HttpClient, HttpError, HttpLimits};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::connection::{Address, MAX_WAITING, Received, Upstream, finish};
use crate::transport::{
    RawFailure, RawMessage, RawReader, ReadLimits, SpooledParts, SsePiece, SseReader,
};

/// How many requests to a server run at once.
const MAX_EXCHANGES: usize = 64;

/// How long an exchange may take. Its request has the deadline of the client.
const MAX_EXCHANGE: Duration = Duration::from_secs(24 * 60 * 60);

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// Where a server over HTTP is, and how requests to it are authorized.
pub(super) struct HttpAddress {
    url: String,
    headers: HeaderMap,
    client: HttpClient,
}

impl Upstream {
    /// A server over streamable HTTP. `token` is sent as a bearer token.
    ///
    /// # Errors
    ///
    /// The machine has no TLS that can be used, or the token cannot be a header.
    pub fn http(
        name: impl Into<String>,
        url: impl Into<String>,
        token: Option<&str>,
    ) -> Result<Self, HttpError> {
        let limits = HttpLimits::default()
            .headers(MAX_EXCHANGE)
            .idle(MAX_EXCHANGE)
            .total(MAX_EXCHANGE)
            .body_bytes(u64::MAX);
        let client = HttpClient::builder().limits(limits).build()?;
        let mut headers = HeaderMap::new();
        let token = token.and_then(|it| HeaderValue::try_from(format!("Bearer {it}")).ok());
        if let Some(mut token) = token {
            token.set_sensitive(true);
            headers.insert(AUTHORIZATION, token);
        }
        let address = Address::Http(HttpAddress { url: url.into(), headers, client });
        Ok(Self { name: name.into(), address })
    }
}

/// The connection to a server.
struct HttpConnection {
    address: HttpAddress,
    parts: SpooledParts,
    limits: ReadLimits,
    received: mpsc::Sender<Received>,
    /// The session and the revision that the server has chosen.
    session: Mutex<(Option<HeaderValue>, Option<HeaderValue>)>,
}

/// Connects to a server over HTTP.
pub(super) fn connect_http(
    tasks: &mut JoinSet<()>,
    address: HttpAddress,
    parts: SpooledParts,
    limits: ReadLimits,
) -> (mpsc::Sender<Bytes>, mpsc::Receiver<Received>) {
    let (sender, lines) = mpsc::channel(MAX_WAITING);
    let (received, receiver) = mpsc::channel(MAX_WAITING);
    let connection = HttpConnection { address, parts, limits, received, session: Mutex::default() };
    tasks.spawn(Arc::new(connection).run(lines));
    (sender, receiver)
}

impl HttpConnection {
    async fn run(self: Arc<Self>, mut lines: mpsc::Receiver<Bytes>) {
        let mut exchanges = JoinSet::new();
        while let Some(line) = lines.recv().await {
            while exchanges.len() >= MAX_EXCHANGES {
                exchanges.join_next().await;
            }
            while exchanges.try_join_next().is_some() {}
            let message: Value = serde_json::from_slice(&line).unwrap_or_default();
            if message.get("method").and_then(Value::as_str) == Some("initialize") {
                // Everything after it needs the session that it opens.
                self.exchange(line, message).await;
            } else {
                let this = Arc::clone(&self);
                exchanges.spawn(async move { this.exchange(line, message).await });
            }
        }
    }

    /// Sends a message, and passes on the response of the server.
    async fn exchange(&self, line: Bytes, message: Value) {
        let answered = match self.post(line, &message).await {
            Ok(response) => self.read_response(response).await,
            Err(error) => Err(error.to_string()),
        };
        let id = message.get("id").filter(|_| message.get("method").is_some());
        if let (Err(reason), Some(id)) = (answered, id) {
            let failure = RawFailure { reason, response_id: Some(id.clone()) };
            let _ = self.received.send(Received::Failure(failure)).await;
        }
    }

    async fn post(&self, line: Bytes, message: &Value) -> Result<Response<HttpBody>, HttpError> {
        let mut request = Request::new(line);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address.url.parse().unwrap_or_default();
        let headers = request.headers_mut();
        headers.extend(self.address.headers.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let (session, version) =
            self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let own_version = message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
        let own_version =
            own_version.and_then(Value::as_str).and_then(|it| HeaderValue::try_from(it).ok());
        let is_stateless = own_version.is_some();
        let mut insert = |name: &'static str, value: Option<HeaderValue>| {
            if let Some(value) = value {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        insert(SESSION, session.filter(|_| !is_stateless));
        insert(VERSION, own_version.or(version));
        if is_stateless {
            let text = |it: Option<&Value>| {
                it.and_then(Value::as_str).and_then(|it| HeaderValue::try_from(it).ok())
            };
            insert("mcp-method", text(message.get("method")));
            let name = message.pointer("/params/name").or_else(|| message.pointer("/params/uri"));
            insert("mcp-name", text(name));
        }
        self.address.client.send(request).await
    }

    async fn read_response(&self, response: Response<HttpBody>) -> Result<(), String> {
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let session = response.headers().get(SESSION).cloned();
        let status = response.status();
        if let Some(session) = session {
            self.session.lock().unwrap_or_else(PoisonError::into_inner).0 = Some(session);
        }
        let body = response.into_body();
        if content_type.starts_with("text/event-stream") {
            return self.read_events(body).await;
        }
        if content_type.starts_with("application/json") {
            return self.read_json(body).await;
        }
        if status.is_success() {
            Ok(())
        } else {
            Err(format!("the server answered with the status {status}"))
        }
    }

    fn reader(&self) -> RawReader {
        RawReader::new(self.parts.clone(), self.limits).verbatim()
    }

    async fn read_json(&self, mut body: HttpBody) -> Result<(), String> {
        let mut reader = self.reader();
        while let Some(chunk) = body.chunk().await.map_err(|error| error.to_string())? {
            reader.push(&chunk).await;
        }
        match finish(&mut reader) {
            Some(message) => self.pass(message).await,
            None => Ok(()),
        }
    }

    async fn read_events(&self, mut body: HttpBody) -> Result<(), String> {
        let mut events = SseReader::default();
        let mut reader = self.reader();
        while let Some(chunk) = body.chunk().await.map_err(|error| error.to_string())? {
            let mut pieces = Vec::new();
            events.read(&chunk, |piece| pieces.push(piece));
            for piece in pieces {
                match piece {
                    SsePiece::Data(bytes) => reader.push(bytes).await,
                    SsePiece::DataLineEnd => reader.push(b"\n").await,
                    SsePiece::EventEnd(_) => {
                        if let Some(message) = finish(&mut reader) {
                            self.pass(message).await?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    async fn pass(&self, received: Received) -> Result<(), String> {
        if let Received::Message(message) = &received {
            self.note_version(message);
        }
        self.received.send(received).await.map_err(|_| "the proxy has ended".to_owned())
    }

    /// Remembers the revision that `initialize` has chosen.
    fn note_version(&self, message: &RawMessage) {
        if message.json.len() > 64 * 1024
            || memchr::memmem::find(&message.json, b"protocolVersion").is_none()
        {
            return;
        }
        let message: Value = serde_json::from_slice(&message.json).unwrap_or_else(|_| json!({}));
        let version = message.pointer("/result/protocolVersion").and_then(Value::as_str);
        if let Some(version) = version.and_then(|it| HeaderValue::try_from(it).ok()) {
            self.session.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(version);
        }
    }
}
