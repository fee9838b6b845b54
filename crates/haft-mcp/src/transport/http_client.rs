//! The transport over streamable HTTP.

use std::borrow::Cow;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use haft_http::{HttpBody, HttpClient, HttpError, HttpLimits};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::ReadLimits;
use super::message_reader::{MessageReader, ReceivedMessage};
use super::spooled_parts::SpooledParts;
use super::sse_reader::{SseFields, SsePiece, SseReader};
use super::stream_transport::{note_answered, note_sent};

type TransportResult<T> = Result<T, StreamableHttpError<HttpError>>;
type SseStream = Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;

/// The HTTP client below `StreamableHttpClientTransport`. Cheap to clone.
///
/// It follows no redirects, so that no header reaches another host.
#[derive(Clone, Debug)]
pub struct HttpTransportClient {
    client: HttpClient,
    parts: SpooledParts,
    limits: ReadLimits,
}

impl HttpTransportClient {
    /// A client that stores large parts of responses.
    ///
    /// # Errors
    ///
    /// The machine has no TLS that can be used.
    pub fn new(parts: SpooledParts, limits: ReadLimits) -> Result<Self, HttpError> {
        // A call has its own deadline, and the stream of notifications lasts as long as the connection.
        let http = HttpLimits::default()
            .headers(MAX_EXCHANGE)
            .idle(MAX_EXCHANGE)
            .total(MAX_EXCHANGE)
            .body_bytes(u64::MAX);
        let client = HttpClient::builder().limits(http).fresh_connections().build()?;
        Ok(Self { client, parts, limits })
    }

    /// Sends requests by this client, such as one with a proxy or with other root certificates. Its limits must allow for
    /// exchanges that last.
    #[must_use]
    pub fn with_client(mut self, client: HttpClient) -> Self {
        self.client = client;
        self
    }

    fn message_reader(&self) -> MessageReader {
        MessageReader::new(self.parts.clone(), self.limits)
    }

    async fn send(&self, request: HttpRequest, body: Bytes) -> TransportResult<Response<HttpBody>> {
        let request = request.build(body).map_err(StreamableHttpError::Client)?;
        let response = self.client.send(request).await.map_err(StreamableHttpError::Client)?;
        check_authorization(response)
    }

    /// The response to a message that was accepted.
    async fn read_success(
        &self,
        response: Response<HttpBody>,
        awaits_response: bool,
    ) -> TransportResult<StreamableHttpPostResponse> {
        let session = header_text(response.headers(), HEADER_SESSION_ID);
        let content_type = header_text(response.headers(), CONTENT_TYPE.as_str());
        let is = |kind: &str| content_type.as_deref().is_some_and(|it| it.starts_with(kind));
        if is(EVENT_STREAM_MIME_TYPE) {
            let stream = read_events(response.into_body(), self.message_reader());
            return Ok(StreamableHttpPostResponse::Sse(stream, session));
        }
        if !is(JSON_MIME_TYPE) {
            return match awaits_response {
                true => Err(StreamableHttpError::UnexpectedContentType(content_type)),
                false => Ok(StreamableHttpPostResponse::Accepted),
            };
        }
        let mut reader = self.message_reader();
        let mut body = response.into_body();
        while let Some(chunk) = body.chunk().await.map_err(StreamableHttpError::Client)? {
            reader.push(&chunk).await;
        }
        match reader.finish() {
            ReceivedMessage::Message(message, _) => {
                Ok(StreamableHttpPostResponse::Json(*message, session))
            }
            // A notification is not answered, whatever the body says.
            _ if !awaits_response => Ok(StreamableHttpPostResponse::Accepted),
            ReceivedMessage::Ignored(reason) => {
                Err(StreamableHttpError::UnexpectedServerResponse(reason.into()))
            }
            ReceivedMessage::Blank => Err(StreamableHttpError::UnexpectedServerResponse(
                "the response has no content".into(),
            )),
        }
    }
}

/// A request before it has its body.
struct HttpRequest {
    method: Method,
    uri: Arc<str>,
    headers: HeaderMap,
}

impl HttpRequest {
    fn new(
        method: Method,
        uri: Arc<str>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> TransportResult<Self> {
        let mut headers = HeaderMap::new();
        let accept = HeaderValue::from_static("text/event-stream, application/json");
        headers.insert(ACCEPT, accept);
        for (name, value) in custom {
            if is_reserved(&name) {
                return Err(StreamableHttpError::ReservedHeaderConflict(name.to_string()));
            }
            headers.insert(name, value);
        }
        if let Some(token) = token {
            headers.insert(AUTHORIZATION, secret_header(&format!("Bearer {token}"))?);
        }
        Ok(Self { method, uri, headers })
    }

    fn header(mut self, name: &'static str, value: Option<&str>) -> TransportResult<Self> {
        if let Some(value) = value {
            self.headers.insert(HeaderName::from_static(name), secret_header(value)?);
        }
        Ok(self)
    }

    fn build(self, body: Bytes) -> Result<Request<Bytes>, HttpError> {
        let request = Request::builder().method(self.method).uri(self.uri.as_ref()).body(body);
        let mut request = request?;
        *request.headers_mut() = self.headers;
        Ok(request)
    }
}

/// A header whose value is not printed.
fn secret_header(value: &str) -> TransportResult<HeaderValue> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        StreamableHttpError::UnexpectedServerResponse("a header with control characters".into())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn is_reserved(name: &HeaderName) -> bool {
    name == ACCEPT || name == SESSION_ID || name == LAST_EVENT_ID
}

impl StreamableHttpClient for HttpTransportClient {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> TransportResult<StreamableHttpPostResponse> {
        note_sent(&self.parts, &message);
        let body = serde_json::to_vec(&message)?;
        let request = HttpRequest::new(Method::POST, uri, auth_header, custom_headers)?
            .header(SESSION_ID, session_id.as_deref())?
            .header("content-type", Some(JSON_MIME_TYPE))?;
        let sent = self.send(request, body.into()).await;
        note_answered(&self.parts, &message);
        let response = sent?;
        let status = response.status();
        let awaits_response = matches!(message, JsonRpcMessage::Request(_));
        match status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            StatusCode::NOT_FOUND if session_id.is_some() => {
                Err(StreamableHttpError::SessionExpired)
            }
            _ if status.is_success() => self.read_success(response, awaits_response).await,
            _ => read_failure(response, &message, session_id.is_some()).await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> TransportResult<()> {
        let request = HttpRequest::new(Method::DELETE, uri, auth_header, custom_headers)?
            .header(SESSION_ID, Some(&session_id))?;
        let response = self.send(request, Bytes::new()).await?;
        let status = response.status();
        // A server need not let clients end sessions.
        if status.is_success() || status == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(());
        }
        Err(HttpStatusError::new(status.as_u16(), None).into())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> TransportResult<SseStream> {
        let request = HttpRequest::new(Method::GET, uri, auth_header, custom_headers)?
            .header(SESSION_ID, session_id.as_deref())?
            .header(LAST_EVENT_ID, last_event_id.as_deref())?;
        let response = self.send(request, Bytes::new()).await?;
        let status = response.status();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !status.is_success() {
            return Err(status_error(&response).into());
        }
        let content_type = header_text(response.headers(), CONTENT_TYPE.as_str());
        if !content_type.as_deref().is_some_and(|it| it.starts_with(EVENT_STREAM_MIME_TYPE)) {
            return Err(StreamableHttpError::UnexpectedContentType(content_type));
        }
        Ok(read_events(response.into_body(), self.message_reader()))
    }
}

/// Turns a refusal for lack of authorization into its error.
fn check_authorization(response: Response<HttpBody>) -> TransportResult<Response<HttpBody>> {
    let Some(challenge) = header_text(response.headers(), WWW_AUTHENTICATE.as_str()) else {
        return Ok(response);
    };
    match response.status() {
        StatusCode::UNAUTHORIZED => {
            Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)))
        }
        StatusCode::FORBIDDEN => {
            let scope = challenge_scope(&challenge);
            let error = InsufficientScopeError::new(challenge, scope);
            Err(StreamableHttpError::InsufficientScope(error))
        }
        _ => Ok(response),
    }
}

/// The scope that a challenge names.
fn challenge_scope(challenge: &str) -> Option<String> {
    let at = challenge.to_ascii_lowercase().find("scope=")?;
    let value = challenge.get(at + "scope=".len()..)?;
    let scope = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => value.split([',', ';', ' ']).next(),
    };
    scope.filter(|it| !it.is_empty()).map(str::to_owned)
}

fn status_error(response: &Response<HttpBody>) -> HttpStatusError {
    let retry_after = header_text(response.headers(), RETRY_AFTER.as_str());
    HttpStatusError::new(response.status().as_u16(), retry_after)
}

/// The error of a response whose status is not a success. Its body may be an error of the protocol.
async fn read_failure(
    response: Response<HttpBody>,
    message: &ClientJsonRpcMessage,
    has_session: bool,
) -> TransportResult<StreamableHttpPostResponse> {
    let status = response.status();
    let error = status_error(&response);
    let session = header_text(response.headers(), HEADER_SESSION_ID);
    if status == StatusCode::TOO_MANY_REQUESTS {
        return Err(error.into());
    }
    let body = read_start(response.into_body()).await;
    let parsed = match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(JsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if is_refused || status.is_redirection() {
        let reason = format!("the server answers with the status {status}");
        return Err(StreamableHttpError::UnexpectedServerResponse(reason.into()));
    }
    // A server of an earlier revision may refuse `server/discover` without a look at the id.
    if !has_session
        && status.is_client_error()
        && let JsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
    {
        let error = parsed.map(|it| it.error).unwrap_or_else(|| {
            ErrorData::invalid_request(format!("the server answers with the status {status}"), None)
        });
        let message = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(message, None));
    }
    if let Some(parsed) = parsed {
        return Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(parsed), session));
    }
    if status.is_server_error() {
        return Err(error.into());
    }
    let start: String = String::from_utf8_lossy(&body).chars().take(MAX_SHOWN).collect();
    let reason = format!("the server answers with the status {status}: {start}");
    Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(reason)))
}

/// The first bytes of a body.
async fn read_start(mut body: HttpBody) -> Vec<u8> {
    let mut start = Vec::new();
    while let Ok(Ok(Some(chunk))) = tokio::time::timeout(MAX_ERROR_TIME, body.chunk()).await {
        let room = MAX_ERROR_BODY.saturating_sub(start.len());
        start.extend(chunk.iter().take(room));
        if start.len() >= MAX_ERROR_BODY {
            break;
        }
    }
    start
}

fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Reads a body as events, whose data are messages without their large parts.
fn read_events(body: HttpBody, reader: MessageReader) -> SseStream {
    let (sender, events) = mpsc::channel(MAX_WAITING);
    let mut task = JoinSet::new();
    task.spawn(send_events(body, reader, sender));
    Box::pin(EventStream { events, _task: task })
}

/// Events that a task reads, which ends with this value.
struct EventStream {
    events: mpsc::Receiver<Result<Sse, SseError>>,
    _task: JoinSet<()>,
}

impl Stream for EventStream {
    type Item = Result<Sse, SseError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_recv(cx)
    }
}

async fn send_events(
    mut body: HttpBody,
    mut reader: MessageReader,
    sender: mpsc::Sender<Result<Sse, SseError>>,
) {
    let mut sse = SseReader::default();
    loop {
        let chunk = match body.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return,
            Err(error) => {
                let _ = sender.send(Err(SseError::Body(Box::new(error)))).await;
                return;
            }
        };
        let mut pieces = Vec::new();
        sse.read(&chunk, |piece| pieces.push(piece));
        for piece in pieces {
            match piece {
                SsePiece::Data(bytes) => reader.push(bytes).await,
                SsePiece::DataLineEnd => reader.push(b"\n").await,
                SsePiece::EventEnd(fields) => {
                    let event = end_event(&mut reader, fields);
                    if sender.send(Ok(event)).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

fn end_event(reader: &mut MessageReader, fields: SseFields) -> Sse {
    let SseFields { event, id, retry, has_data } = fields;
    let data = match reader.finish() {
        ReceivedMessage::Message(_, json) => String::from_utf8(json).ok(),
        ReceivedMessage::Blank => has_data.then(String::new),
        ReceivedMessage::Ignored(reason) => {
            tracing::warn!("{reason}");
            None
        }
    };
    Sse { event, data, id, retry }
}

const SESSION_ID: &str = "mcp-session-id";
const LAST_EVENT_ID: &str = "last-event-id";
/// How long one exchange may last; the deadline of a call is shorter.
const MAX_EXCHANGE: Duration = Duration::from_secs(24 * 3600);
/// How long the body of an error may keep us waiting.
const MAX_ERROR_TIME: Duration = Duration::from_secs(5);
/// How much of the body of an error is read, in bytes.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// How much of the body of an error is shown, in characters.
const MAX_SHOWN: usize = 200;
/// How many events wait for the protocol.
const MAX_WAITING: usize = 16;
