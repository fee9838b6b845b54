//! Checks that every transport must pass.

use bytes::Bytes;
use haft_http::Secret;
use http::{HeaderValue, Request, Response};

use super::loopback::{LoopbackServer, Reply, ServerEvent, closed_url, response};
use super::{ContractViolation, ensure};
use crate::transport::{Body, HttpError, Transport, post};

const KEY: &str = "sk-conformance-0123456789";

/// Checks a transport that can reach this machine. It sends requests to a server that this function starts.
///
/// - A request arrives with its path, its headers and its body, once.
/// - A response of any status is a response, and so is a redirect, which is not followed.
/// - A body arrives completely and in order, while it is sent. One that is interrupted is an error.
/// - Without a connection there is an error which says that nothing was sent. No error contains a credential.
/// - Dropping a body closes the connection.
///
/// # Errors
///
/// The first promise of [`Transport`] that is not kept.
pub async fn transport(transport: &dyn Transport) -> Result<(), ContractViolation> {
    check_request(transport).await?;
    check_statuses(transport).await?;
    check_body(transport).await?;
    check_interruption(transport).await?;
    check_no_connection(transport).await?;
    check_drop(transport).await
}

async fn check_request(transport: &dyn Transport) -> Result<(), ContractViolation> {
    let server = start(Reply::Bytes(response("200 OK", "hello")))?;
    let sent = transport.send(request(&server, "/v1/echo?x=1", r#"{"n":1}"#)?).await;
    let received = read_all("a response arrives", sent).await?;
    ensure(received == "hello", "a response arrives", || format!("{received:?}"))?;
    let arrived = arrived(&server)?;
    let promise = "a request arrives as it was made";
    let has = |text: &str| arrived.contains(text);
    ensure(arrived.starts_with("POST /v1/echo?x=1 "), promise, || arrived.clone())?;
    ensure(arrived.ends_with("\r\n\r\n{\"n\":1}"), promise, || arrived.clone())?;
    let header = format!("x-api-key: {KEY}\r\n");
    ensure(has(&header) && has("content-type: application/json\r\n"), promise, || arrived.clone())
}

async fn check_statuses(transport: &dyn Transport) -> Result<(), ContractViolation> {
    for status in [204_u16, 307, 404, 500] {
        let head = format!("{status} Status\r\nlocation: http://127.0.0.1:9/elsewhere");
        let server = start(Reply::Bytes(response(&head, "")))?;
        let sent = transport.send(request(&server, "/", "{}")?).await;
        let promise = "a response of any status is a response";
        let received = sent.map_err(|error| ContractViolation::new(promise, error))?;
        let found = received.status().as_u16();
        ensure(found == status, promise, || format!("{found} instead of {status}"))?;
    }
    Ok(())
}

async fn check_body(transport: &dyn Transport) -> Result<(), ContractViolation> {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let server = start(Reply::Stall(format!("{head}5\r\nfirst\r\n").into_bytes()))?;
    let sent = transport.send(request(&server, "/", "{}")?).await;
    let promise = "a body is read while it is sent";
    let mut received = sent.map_err(|error| ContractViolation::new(promise, error))?;
    let chunk = received.body_mut().next_chunk().await;
    let is_first = matches!(&chunk, Ok(Some(bytes)) if bytes == "first");
    ensure(is_first, promise, || format!("{chunk:?}"))?;
    drop(received);

    let chunks = "1\r\na\r\n2\r\nbc\r\n1\r\nd\r\n0\r\n\r\n";
    let server = start(Reply::Bytes(format!("{head}{chunks}").into_bytes()))?;
    let promise = "a body arrives completely and in order";
    let sent = transport.send(request(&server, "/", "{}")?).await;
    let received = read_all(promise, sent).await?;
    ensure(received == "abcd", promise, || format!("{received:?}"))
}

async fn check_interruption(transport: &dyn Transport) -> Result<(), ContractViolation> {
    let replies = [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 20",
    ];
    for reply in replies {
        let server = start(Reply::Bytes(reply.as_bytes().to_vec()))?;
        let result = match transport.send(request(&server, "/", "{}")?).await {
            Ok(received) => received.into_body().read_all(1 << 20).await,
            Err(error) => Err(error),
        };
        let promise = "a response that is interrupted is an error";
        let Err(error) = result else {
            return Err(ContractViolation::new(promise, format_args!("{reply:?}: {result:?}")));
        };
        check_text(&error)?;
    }
    Ok(())
}

async fn check_no_connection(transport: &dyn Transport) -> Result<(), ContractViolation> {
    let url = closed_url().map_err(|error| ContractViolation::new(LISTENS, error))?;
    let promise = "without a connection nothing was sent";
    match transport.send(with_headers(&url, "{}")?).await {
        Err(error) if error.nothing_was_sent() => check_text(&error),
        other => Err(ContractViolation::new(promise, format_args!("{other:?}"))),
    }
}

async fn check_drop(transport: &dyn Transport) -> Result<(), ContractViolation> {
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_vec();
    let server = start(Reply::Stall(head))?;
    let promise = "dropping a body closes the connection";
    let sent = transport.send(request(&server, "/", "{}")?).await;
    let mut received = sent.map_err(|error| ContractViolation::new(promise, error))?;
    let chunk = received.body_mut().next_chunk().await;
    chunk.map_err(|error| ContractViolation::new(promise, error))?;
    drop(received);
    arrived(&server)?;
    // The connection closes on the runtime, which must not be blocked meanwhile.
    let closed = tokio::task::spawn_blocking(move || server.next_event()).await;
    let is_closed = matches!(closed, Ok(Ok(ServerEvent::Closed)));
    ensure(is_closed, promise, || format!("{closed:?}"))
}

/// An error contains no credential of the request.
fn check_text(error: &HttpError) -> Result<(), ContractViolation> {
    let text = format!("{error} {error:?}");
    ensure(!text.contains(KEY), "no error contains a credential", || text.replace(KEY, "…"))
}

fn start(reply: Reply) -> Result<LoopbackServer, ContractViolation> {
    LoopbackServer::start(reply).map_err(|error| ContractViolation::new(LISTENS, error))
}

/// Waits for the request at the server.
fn arrived(server: &LoopbackServer) -> Result<String, ContractViolation> {
    match server.next_event() {
        Ok(ServerEvent::Request(request)) => Ok(request.replace("X-Api-Key", "x-api-key")),
        other => Err(ContractViolation::new("a request arrives", format_args!("{other:?}"))),
    }
}

fn request(
    server: &LoopbackServer,
    path: &str,
    body: &'static str,
) -> Result<Request<Bytes>, ContractViolation> {
    with_headers(&server.url(path), body)
}

fn with_headers(url: &str, body: &'static str) -> Result<Request<Bytes>, ContractViolation> {
    let failed = |error: &dyn std::fmt::Display| {
        ContractViolation::new("a request for the check can be made", error)
    };
    let mut request = post(url, body).map_err(|error| failed(&error))?;
    let key = Secret::new(KEY).to_header_value().map_err(|error| failed(&error))?;
    let headers = request.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("x-api-key", key);
    Ok(request)
}

async fn read_all(
    promise: &'static str,
    sent: Result<Response<Body>, HttpError>,
) -> Result<Bytes, ContractViolation> {
    let failed = |error| ContractViolation::new(promise, error);
    sent.map_err(failed)?.into_body().read_all(1 << 20).await.map_err(failed)
}

const LISTENS: &str = "this machine has a free port";
