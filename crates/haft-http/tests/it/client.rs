use std::time::Duration;

use bytes::Bytes;
use haft_http::reqwest::{self, redirect};
use haft_http::{HttpClient, HttpError, HttpLimits, HttpPhase, Secret};
use http::Request;

use crate::server::{Reply, Server, chunked, response};

/// Shorter than any test may take, longer than a loopback needs.
const SHORT: Duration = Duration::from_millis(60);

/// The client of this crate, and one that a caller has configured.
fn clients(limits: HttpLimits) -> [HttpClient; 2] {
    let foreign = reqwest::Client::builder().no_proxy().build().unwrap();
    [
        HttpClient::builder().limits(limits).build().unwrap(),
        HttpClient::from_client(foreign, limits),
    ]
}

fn get(url: &str) -> Request<Bytes> {
    let key = Secret::new("sk-very-secret").to_header_value().unwrap();
    Request::get(url).header("x-api-key", key).body(Bytes::new()).unwrap()
}

async fn read(client: &HttpClient, url: &str) -> Result<Vec<u8>, HttpError> {
    let mut body = client.send(get(url)).await?.into_body();
    let mut all = Vec::new();
    while let Some(chunk) = body.chunk().await? {
        all.extend_from_slice(&chunk);
    }
    Ok(all)
}

#[tokio::test]
async fn limits_remain_with_any_client() {
    #[track_caller]
    fn check(error: &HttpError, expected: HttpPhase, host: &str) {
        let HttpError::Timeout { host: found, phase, limit } = error else { panic!("{error:?}") };
        assert_eq!((found.as_str(), *phase, *limit), (host, expected, SHORT));
        assert!(!format!("{error} {error:?}").contains("sk-very-secret"));
    }
    let defaults = HttpLimits::default();
    for client in clients(defaults.headers(SHORT)) {
        let server = Server::start([Reply::Stall("HTTP/1.1 200 OK\r\n".into())]);
        let error = client.send(get(&server.url("/"))).await.unwrap_err();
        check(&error, HttpPhase::Headers, &server.host());
    }
    for client in clients(defaults.idle(SHORT)) {
        let server = Server::start([Reply::Stall(chunked("x"))]);
        check(&read(&client, &server.url("/")).await.unwrap_err(), HttpPhase::Idle, &server.host());
    }
    for client in clients(defaults.total(SHORT)) {
        let server = Server::start([Reply::Endless(chunked("x"), "1\r\nx\r\n".into())]);
        check(
            &read(&client, &server.url("/")).await.unwrap_err(),
            HttpPhase::Total,
            &server.host(),
        );
    }
    for client in clients(defaults.body_bytes(9)) {
        let endless = Reply::Endless(chunked("0123"), "4\r\n4567\r\n".into());
        for reply in [response("200 OK", "0123456789"), endless] {
            let server = Server::start([reply]);
            let error = read(&client, &server.url("/")).await.unwrap_err();
            let HttpError::TooLarge { host, limit: 9 } = error else { panic!("{error:?}") };
            assert_eq!(host, server.host());
        }
        let server = Server::start([response("200 OK", "012345678")]);
        assert_eq!(read(&client, &server.url("/")).await.unwrap(), b"012345678");
    }
}

#[tokio::test]
async fn urls_and_encodings_are_checked_with_any_client() {
    for client in clients(HttpLimits::default()) {
        for url in ["ftp://host/?key=hidden-value", "http://hidden-value@host/"] {
            let error = client.send(get(url)).await.unwrap_err();
            assert!(matches!(error, HttpError::Malformed { .. }), "{error:?}");
            assert!(!format!("{error} {error:?}").contains("hidden-value"), "{error}");
        }
        let server = Server::start([response("200 OK\r\ncontent-encoding: gzip", "?")]);
        let error = client.send(get(&server.url("/"))).await.unwrap_err();
        assert!(matches!(&error, HttpError::Encoded { encoding, .. } if encoding == "gzip"));
        let asked = &server.requests()[0];
        assert!(asked.contains("\r\naccept-encoding: identity\r\n"), "{asked}");
    }
}

#[tokio::test]
async fn our_client_follows_no_redirect() {
    let elsewhere = Server::start([response("200 OK", "elsewhere")]);
    let head = format!("302 Found\r\nlocation: {}", elsewhere.url("/"));
    let server = Server::start([response(&head, "")]);
    let client = HttpClient::builder().build().unwrap();
    assert_eq!(client.send(get(&server.url("/"))).await.unwrap().status(), 302);
    assert!(elsewhere.requests().is_empty());
}

/// What another client does before it returns cannot be undone, but its response is not taken for the right one.
#[tokio::test]
async fn a_foreign_client_that_was_led_elsewhere_is_an_error() {
    let elsewhere = Server::start([response("200 OK", "elsewhere")]);
    let head = format!("302 Found\r\nlocation: {}", elsewhere.url("/"));
    let server = Server::start([response(&head, "")]);
    let foreign = reqwest::Client::builder().no_proxy().build().unwrap();
    let client = HttpClient::from_client(foreign, HttpLimits::default());
    let error = client.send(get(&server.url("/"))).await.unwrap_err();
    let HttpError::Redirected { host, to } = error else { panic!("{error:?}") };
    assert_eq!((host, to), (server.host(), elsewhere.host()));

    // Within one origin it is the policy of the client that counts.
    let server = Server::start([
        response("302 Found\r\nlocation: /there", ""),
        response("200 OK", "there"),
        response("302 Found\r\nlocation: /there", ""),
    ]);
    assert_eq!(read(&client, &server.url("/")).await.unwrap(), b"there");
    let strict = reqwest::Client::builder().no_proxy().redirect(redirect::Policy::none());
    let client = HttpClient::from_client(strict.build().unwrap(), HttpLimits::default());
    assert_eq!(client.send(get(&server.url("/"))).await.unwrap().status(), 302);
}

#[tokio::test]
async fn plain_http_can_be_refused() {
    let server = Server::start([response("200 OK", "")]);
    let client = HttpClient::builder().https_only().build().unwrap();
    assert!(client.send(get(&server.url("/"))).await.is_err());
    assert!(server.requests().is_empty());
}

#[test]
fn a_request_without_a_runtime_is_an_error() {
    let client = HttpClient::builder().build().unwrap();
    let mut sent = Box::pin(client.send(get("http://127.0.0.1:1/")));
    let waker = std::task::Waker::noop();
    let polled = sent.as_mut().poll(&mut std::task::Context::from_waker(waker));
    let std::task::Poll::Ready(Err(error)) = polled else { panic!("it waits") };
    assert!(matches!(error, HttpError::Unusable { .. }), "{error:?}");
}
