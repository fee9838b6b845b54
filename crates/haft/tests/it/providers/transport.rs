use std::time::Duration;

use haft::error::Coded as _;
use haft::providers::transport::{
    Body, HttpError, HttpPhase, HttpTransport, HttpTransportBuilder, Secret, Transport as _,
};

use haft_http::redact;

use super::server::{AUTHORITY, Answer, Server, chunked, closed_port, silent, whole};
use super::{HeaderText as _, Reply, SentRequest, WithHeader as _, get, post};

const KEY: &str = "sk-live-0123456789";
/// Shorter than any test may take, longer than a loopback needs.
const SHORT: Duration = Duration::from_millis(60);

fn quick() -> HttpTransportBuilder {
    HttpTransport::builder()
}

fn request(url: String) -> SentRequest {
    post(url + "?api_key=query-secret", r#"{"q":1}"#)
        .with_header("Authorization", format!("Bearer {KEY}"))
        .with_header("X-Custom", Secret::new("custom-secret"))
}

async fn send(builder: HttpTransportBuilder, url: String) -> Result<Reply, HttpError> {
    builder.build().unwrap().send(request(url)).await
}

async fn read(builder: HttpTransportBuilder, url: String) -> Result<String, HttpError> {
    let bytes = send(builder, url).await?.into_body().read_all(1 << 20).await?;
    Ok(String::from_utf8(bytes.into()).unwrap())
}

/// An error never tells a secret, and always the host.
#[track_caller]
fn check_words(error: &HttpError, host: &str) {
    let text = format!("{error} {error:?}");
    for secret in [KEY, "query-secret", "custom-secret"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(text.contains(host), "{text}");
}

#[tokio::test]
async fn a_request_arrives_as_it_was_made() {
    let answer = "200 OK\r\nx-a: 1\r\nX-A: 2";
    let server = Server::start([whole(answer, "hi")]);
    let response = send(quick(), server.url("/v1/x")).await.unwrap();
    assert_eq!(response.status().as_u16(), 200);
    let of_a: Vec<_> = response.headers().get_all("x-a").iter().collect();
    assert_eq!(of_a, ["1", "2"]);
    assert_eq!(response.header_text("X-A"), Some("1"));
    assert_eq!(response.into_body().read_all(2).await.unwrap(), "hi");
    let requests = server.requests();
    let request = &requests[0];
    assert!(request.starts_with("POST /v1/x?api_key=query-secret HTTP/1.1\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"q\":1}"), "{request}");
    for line in ["authorization: Bearer sk-live-0123456789", "x-custom: custom-secret"] {
        assert!(request.contains(&format!("\r\n{line}\r\n")), "{request}");
    }
    assert!(request.contains("\r\naccept-encoding: identity\r\n"), "{request}");
}

#[tokio::test]
async fn statuses_and_redirects_are_responses() {
    for status in [204, 302, 307, 404, 500] {
        let head = format!("{status} X\r\nlocation: http://127.0.0.1:1/elsewhere");
        let server = Server::start([whole(&head, "")]);
        assert_eq!(send(quick(), server.url("/")).await.unwrap().status(), status);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn every_wait_has_a_limit() {
    #[track_caller]
    fn check(error: &HttpError, what: HttpPhase, host: &str) {
        let limit = SHORT;
        let expected = HttpError::Timeout { host: host.to_owned(), phase: what, limit };
        assert_eq!(*error, expected);
        assert_eq!(error.nothing_was_sent(), what == HttpPhase::Connect);
        assert_eq!(error.retryable(), what != HttpPhase::Total);
        check_words(error, host);
    }
    // Connected, but no TLS comes.
    let (_listener, url) = silent();
    let host = url.trim_start_matches("https://").trim_end_matches('/').to_owned();
    let error = send(quick().connect_timeout(SHORT), url).await.unwrap_err();
    check(&error, HttpPhase::Connect, &host);

    // No head, or half of one.
    for sent in ["", "HTTP/1.1 200 OK\r\n"] {
        let server = Server::start([Answer::Stall(sent.into())]);
        let error = send(quick().headers_timeout(SHORT), server.url("/")).await.unwrap_err();
        check(&error, HttpPhase::Headers, &server.host());
        server.wait_for_hang_up().await;
    }
    // Nothing after the head, and nothing after a part of the body.
    for sent in [chunked("x")[..47].to_vec(), chunked("data: 1\n\n")] {
        let server = Server::start([Answer::Stall(sent)]);
        let error = read(quick().idle_timeout(SHORT), server.url("/")).await.unwrap_err();
        check(&error, HttpPhase::Idle, &server.host());
        server.wait_for_hang_up().await;
    }
    // It never stops coming; and the head does not come in time.
    let drip = Answer::Endless(chunked("x"), b"1\r\nx\r\n".to_vec());
    for answer in [drip, Answer::Stall(Vec::new())] {
        let server = Server::start([answer]);
        let transport = quick().total_timeout(SHORT).build().unwrap();
        let error = match transport.send(request(server.url("/"))).await {
            Err(error) => error,
            Ok(mut response) => loop {
                match response.body_mut().next_chunk().await {
                    Ok(chunk) => assert!(chunk.is_some()),
                    Err(error) => break error,
                }
            },
        };
        check(&error, HttpPhase::Total, &server.host());
        server.wait_for_hang_up().await;
    }
}

#[tokio::test]
async fn dropping_a_response_hangs_up() {
    let server = Server::start([Answer::Stall(chunked("x")), Answer::Stall(Vec::new())]);
    let mut response = send(quick(), server.url("/")).await.unwrap();
    assert_eq!(response.body_mut().next_chunk().await.unwrap().unwrap(), "x");
    drop(response);
    server.wait_for_hang_up().await;

    let transport = quick().build().unwrap();
    tokio::select! {
        _ = transport.send(request(server.url("/"))) => panic!("there is no answer"),
        () = async {
            while server.requests().len() < 2 {
                tokio::task::yield_now().await;
            }
        } => {}
    }
    server.wait_for_hang_up().await;
}

#[tokio::test]
async fn what_breaks_off_is_not_taken_for_whole() {
    let length = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_vec();
    for (answer, expected) in [
        (Answer::Raw(length), 4),
        (Answer::Raw(chunked("data: 1\n\n")), 9),
        (Answer::Raw(Vec::new()), 0),
        (Answer::Raw(b"HTTP/1.1 20".to_vec()), 0),
        (Answer::Raw(b"not HTTP\r\n\r\n".to_vec()), 0),
    ] {
        let server = Server::start([answer]);
        let error = read(quick(), server.url("/")).await.unwrap_err();
        let HttpError::Broken { host, received, .. } = &error else { panic!("{error:?}") };
        assert_eq!((host, *received), (&server.host(), expected));
        assert!(error.retryable() && !error.nothing_was_sent());
        check_words(&error, &server.host());
    }
}

/// Whether what was sent before the reset can still be read is up to the system.
#[tokio::test]
async fn a_reset_is_broken() {
    let server = Server::start([Answer::Reset(chunked("x"))]);
    let mut large = request(server.url("/"));
    *large.body_mut() = vec![b'x'; 1 << 20].into();
    let transport = quick().build().unwrap();
    let error = match transport.send(large).await {
        Err(error) => error,
        Ok(response) => response.into_body().read_all(100).await.unwrap_err(),
    };
    assert!(matches!(error, HttpError::Broken { .. }), "{error:?}");
    check_words(&error, &server.host());
}

#[tokio::test]
async fn nobody_there_means_nothing_was_sent() {
    let url = closed_port();
    let error = send(quick(), url.clone()).await.unwrap_err();
    assert!(matches!(error, HttpError::Connect { .. }), "{error:?}");
    assert!(error.nothing_was_sent() && error.retryable());
    check_words(&error, url.trim_start_matches("http://").trim_end_matches('/'));
}

#[tokio::test]
async fn bodies_are_bounded() {
    #[track_caller]
    fn check(error: &HttpError, host: &str) {
        assert_eq!(*error, HttpError::TooLarge { host: host.to_owned(), limit: 9 });
        assert!(!error.retryable());
    }
    let endless = || Answer::Endless(chunked("0123"), b"4\r\n4567\r\n".to_vec());
    for answer in [whole("200 OK", "0123456789"), endless()] {
        let server = Server::start([answer]);
        let error = read(quick().max_body_bytes(9), server.url("/")).await.unwrap_err();
        check(&error, &server.host());
    }
    let server = Server::start([whole("200 OK", "012345678"), endless(), whole("200 OK", "")]);
    assert_eq!(read(quick().max_body_bytes(9), server.url("/")).await.unwrap(), "012345678");
    let error =
        send(quick(), server.url("/")).await.unwrap().into_body().read_all(9).await.unwrap_err();
    check(&error, &server.host());
    server.wait_for_hang_up().await;
    assert_eq!(read(quick(), server.url("/")).await.unwrap(), "");
}

/// Nothing is unpacked, so that nothing small can become large.
#[tokio::test]
async fn compressed_bodies_are_refused() {
    let server = Server::start([whole("200 OK\r\ncontent-encoding: gzip", "\u{1f}")]);
    let error = read(quick(), server.url("/")).await.unwrap_err();
    let expected = HttpError::Encoded { host: server.host(), encoding: "gzip".to_owned() };
    assert_eq!(error, expected);
    let server = Server::start([whole("200 OK\r\ncontent-encoding: Identity", "x")]);
    assert_eq!(read(quick(), server.url("/")).await.unwrap(), "x");
}

#[tokio::test]
async fn what_cannot_be_sent_is_not_quoted() {
    let transport = quick().build().unwrap();
    for text in ["no URL with key=hidden-value", "/path?key=hidden-value", "http://[hidden-value/"]
    {
        let error = haft::providers::transport::post(text, "").unwrap_err();
        assert!(matches!(error, HttpError::Malformed { .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("hidden-value"), "{error}");
    }
    for url in ["ftp://host/?key=hidden-value", "http://hidden-value@host/"] {
        let error = transport.send(get(url)).await.unwrap_err();
        assert!(matches!(error, HttpError::Malformed { .. }), "{error:?}");
        assert!(error.nothing_was_sent() && !error.retryable());
        assert!(!format!("{error} {error:?}").contains("hidden-value"), "{error}");
    }
}

#[test]
fn without_a_runtime_there_is_an_error() {
    let transport = quick().build().unwrap();
    let mut asked = transport.send(get("http://127.0.0.1:1/"));
    let waker = std::task::Waker::noop();
    let polled = asked.as_mut().poll(&mut std::task::Context::from_waker(waker));
    let std::task::Poll::Ready(Err(error)) = polled else { panic!("it waits") };
    assert!(matches!(error, HttpError::Unusable { .. }), "{error:?}");
}

#[tokio::test]
async fn tls_needs_an_authority_that_is_trusted() {
    let server = Server::start_tls([whole("200 OK", "secure"), whole("200 OK", "secure")]);
    let url = server.url("/").replace("http://", "https://");
    let error = read(quick(), url.clone()).await.unwrap_err();
    let HttpError::Tls { host, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*host, server.host());
    assert!(error.nothing_was_sent() && !error.retryable());
    check_words(&error, &server.host());

    let trusting = quick().root_certificates(AUTHORITY);
    assert_eq!(read(trusting, url).await.unwrap(), "secure");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn certificates_and_proxies_are_checked_when_it_is_built() {
    for builder in [
        quick().root_certificates(b"nothing"),
        quick().root_certificates(b"-----BEGIN CERTIFICATE-----\nAAAA"),
        quick()
            .root_certificates(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
        quick().proxy("http://user:hidden-value@"),
    ] {
        let error = builder.build().unwrap_err();
        assert!(matches!(error, HttpError::Unusable { .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("hidden-value"), "{error}");
    }
}

#[tokio::test]
async fn a_proxy_gets_what_goes_to_others() {
    let proxy = Server::start([whole("200 OK", "by proxy"), whole("403 No", "")]);
    let url = format!("http://user:hidden-value@{}", proxy.host());
    let builder = quick().proxy(url);
    assert!(!format!("{builder:?}").contains("hidden-value"), "{builder:?}");
    let transport = builder.build().unwrap();
    assert!(!format!("{transport:?}").contains("hidden-value"), "{transport:?}");

    let response = transport.send(get("http://model.invalid/v1")).await.unwrap();
    assert_eq!(response.into_body().read_all(100).await.unwrap(), "by proxy");
    let asked = &proxy.requests()[0];
    assert!(asked.starts_with("GET http://model.invalid/v1 HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("\r\nproxy-authorization: Basic "), "{asked}");

    // A tunnel that is refused: nothing of the request was sent.
    let error = transport.send(request("https://model.invalid/v1".into())).await.unwrap_err();
    assert!(matches!(error, HttpError::Connect { .. }), "{error:?}");
    let asked = &proxy.requests()[1];
    assert!(asked.starts_with("CONNECT model.invalid:443 HTTP/1.1\r\n"), "{asked}");
    assert!(!asked.contains(KEY), "{asked}");
    check_words(&error, "model.invalid");
}

#[test]
fn secrets_are_not_shown() {
    #[track_caller]
    fn check(name: &str, value: &str, shown: bool) {
        let request = get("http://host/").with_header(name, value);
        let printed = format!("{:?}", redact::request(&request));
        assert_eq!(printed.contains(value), shown, "{printed}");
    }
    for name in [
        "Authorization",
        "proxy-authorization",
        "X-Api-Key",
        "api-key",
        "x-goog-api-key",
        "x-amz-security-token",
        "Ocp-Apim-Subscription-Key",
        "cookie",
        "Set-Cookie",
    ] {
        check(name, "value-1", false);
    }
    for name in ["content-type", "idempotency-key", "x-ratelimit-remaining-tokens", "accept"] {
        check(name, "value-1", true);
    }
    let request = request("https://u:p4ssw0rd@host/path".to_owned());
    let printed = redact::request(&request);
    let text = format!("{printed:?} {printed:#?} {}", Secret::new(KEY));
    for secret in [KEY, "query-secret", "custom-secret", "p4ssw0rd"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(text.contains("https://host/path?api_key=[redacted]"), "{text}");
}

#[tokio::test]
async fn a_body_skips_empty_chunks_and_ends_with_its_first_error() {
    let chunks = ["", "a", "", "b", ""].map(|it| bytes::Bytes::from_static(it.as_bytes()));
    let mut body = Body::from_chunks(chunks);
    assert_eq!(body.next_chunk().await.unwrap().unwrap(), "a");
    assert_eq!(body.read_all(1).await.unwrap(), "b");
    assert_eq!(Body::empty().read_all(0).await.unwrap(), "");
}
