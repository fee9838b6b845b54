//! What is sent, and where to.

use std::net::Ipv4Addr;
use std::time::Duration;

use haft::ToolFailure;
use haft::media::{
    ErrorBody, FetchDeadlines, FetchError, FetchRequest, Fetcher, FetcherBuilder, HttpMethod,
    HttpPhase, UrlPolicy, UrlRefusal,
};

use super::server::{Answer, Server, whole};
use super::{cause, next, read};

/// The server of a test is on this machine, which has to be allowed.
fn local() -> UrlPolicy {
    UrlPolicy::public().allow_http().allow_network(Ipv4Addr::LOCALHOST, 32)
}

fn own(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn post() -> FetchRequest {
    FetchRequest::new(HttpMethod::Post).json("{}")
}

async fn posted(fetcher: FetcherBuilder, url: &str) -> Result<Vec<u8>, ToolFailure> {
    sent(fetcher, url, post().header("x-own", "s3cret")).await
}

async fn sent(
    fetcher: FetcherBuilder,
    url: &str,
    request: FetchRequest,
) -> Result<Vec<u8>, ToolFailure> {
    let mut stream = fetcher.build().unwrap().send(url, request).unwrap();
    let mut bytes = Vec::new();
    while let Some(chunk) = next(&mut stream).await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

#[tokio::test]
async fn json_goes_out_with_the_headers_of_both() {
    let server = Server::start();
    let url = server.serve("/notes", b"done");
    let origin = server.origin();
    let fetcher = Fetcher::builder(local()).headers(move |asked| {
        assert_eq!(asked, origin);
        vec![own("authorization", "Bearer k"), own("x-own", "of the fetcher")]
    });
    let fetcher = fetcher.build().unwrap();
    let mut stream = fetcher.send(&url, post().header("x-own", "of the request")).unwrap();
    assert!(server.requests().is_empty(), "nothing is sent before the stream is polled");
    assert_eq!(next(&mut stream).await.unwrap().unwrap(), "done".as_bytes());
    assert!(next(&mut stream).await.unwrap().is_none());
    let [request] = server.requests().try_into().unwrap();
    assert!(request.starts_with("POST /notes HTTP/1.1\r\n"), "{request}");
    for header in [
        "content-type: application/json",
        "accept-encoding: identity",
        "content-length: 2",
        "authorization: Bearer k",
        "x-own: of the request",
    ] {
        assert!(request.contains(&format!("\r\n{header}\r\n")), "{header}: {request}");
    }
    assert!(!request.contains("of the fetcher"), "{request}");

    let error = fetcher.send(&url, post().header("a b", "s3cret\n")).unwrap_err();
    assert!(matches!(error, FetchError::Header { .. }), "{error}");
    assert!(!format!("{error:?}").contains("s3cret"));
    assert!(!format!("{:?}", post().header("x", "s3cret")).contains("s3cret"));
}

#[tokio::test]
async fn every_method_is_sent_as_it_is() {
    let server = Server::start();
    for (method, name, is_read_only, is_idempotent) in [
        (HttpMethod::Get, "GET", true, true),
        (HttpMethod::Head, "HEAD", true, true),
        (HttpMethod::Options, "OPTIONS", true, true),
        (HttpMethod::Post, "POST", false, false),
        (HttpMethod::Put, "PUT", false, true),
        (HttpMethod::Patch, "PATCH", false, false),
        (HttpMethod::Delete, "DELETE", false, true),
    ] {
        let head = "204 No Content\r\nallow: GET, PUT\r\nset-cookie: s3cret=1";
        let url = server.answer("/m", head, b"");
        let body = sent(Fetcher::builder(local()), &url, FetchRequest::new(method)).await.unwrap();
        let text = String::from_utf8(body).unwrap();
        match method {
            HttpMethod::Head | HttpMethod::Options => {
                assert_eq!(text, "204 No Content\nallow: GET, PUT\nconnection: close\n", "{name}");
            }
            _ => assert_eq!(text, "", "{name}"),
        }
        let request = server.requests().pop().unwrap();
        assert!(request.starts_with(&format!("{name} /m HTTP/1.1\r\n")), "{request}");
        assert!(!request.contains("content-type"), "{request}");
        assert_eq!(
            (method.as_str(), method.is_read_only(), method.is_idempotent()),
            (name, is_read_only, is_idempotent)
        );
    }
}

/// What a server says about an error is for the model, so that it can correct its request.
#[tokio::test]
async fn the_body_of_an_error_is_read_as_far_as_it_is_shown() {
    let server = Server::start();
    let long = "x".repeat(5000);
    let text = |text: &str, truncated| ErrorBody::Text { text: text.to_owned(), truncated };
    let named = |it: &str| ErrorBody::Binary { content_type: Some(it.to_owned()) };
    for (head, content, expected) in [
        ("422 No", b"{\"detail\": 1}".as_slice(), text("{\"detail\": 1}", false)),
        ("404 No\r\ncontent-length: 0", b"", ErrorBody::Empty),
        ("500 No", long.as_bytes(), text(&"x".repeat(3072), true)),
        ("500 No\r\ncontent-type: image/png", b"\x89PNG\0", named("image/png")),
        ("400 No\r\ncontent-length: 9999", b"half", text("half", true)),
    ] {
        let url = server.answer("/e", head, content);
        // The limit is for results.
        let failure = posted(Fetcher::builder(local()).max_bytes(5), &url).await.unwrap_err();
        let FetchError::Status { body, .. } = cause(&failure) else { panic!("{failure:?}") };
        assert_eq!(*body, expected, "{head}");
    }
    // The server repeats a credential of the request.
    let url = server.answer("/echo", "401 No", b"Bearer s3cret-key is not valid");
    let keyed =
        Fetcher::builder(local()).headers(|_| vec![own("authorization", "Bearer s3cret-key")]);
    let failure = posted(keyed, &url).await.unwrap_err();
    assert!(failure.message().ends_with("401 Unauthorized: [redacted] is not valid"), "{failure}");
    let stalled = Answer::Stall(whole("503 No\r\ncontent-length: 9999", b""));
    let url = server.put("/stall", stalled);
    let short = FetchDeadlines::default().total(Duration::from_millis(50));
    let failure = posted(Fetcher::builder(local()).deadlines(short), &url).await.unwrap_err();
    let FetchError::Status { status: 503, body, .. } = cause(&failure) else {
        panic!("{failure:?}")
    };
    assert_eq!(*body, ErrorBody::Unreadable);
}

#[tokio::test]
async fn an_answer_without_content_is_an_answer() {
    let server = Server::start();
    for head in ["204 No Content", "201 Created\r\ncontent-length: 0", "202 Accepted"] {
        let url = server.answer("/s", head, b"");
        assert_eq!(posted(Fetcher::builder(local()), &url).await.unwrap(), b"", "{head}");
    }
    for (head, expected) in [
        ("206 Partial Content\r\ncontent-length: 1", 206),
        ("400 Bad Request\r\ncontent-length: 1", 400),
        ("503 Service Unavailable\r\ncontent-length: 1", 503),
    ] {
        let url = server.answer("/s", head, b"x");
        let failure = posted(Fetcher::builder(local()), &url).await.unwrap_err();
        let FetchError::Status { status, .. } = cause(&failure) else { panic!("{failure:?}") };
        assert_eq!(*status, expected);
    }
}

/// The limits of what is read hold for the answers of what is sent.
#[tokio::test]
async fn answers_are_bounded() {
    let server = Server::start();
    let five = || Fetcher::builder(local()).max_bytes(5);
    for url in [
        server.serve("/6", b"123456"),
        server.answer("/open", "200 OK", b"123456"),
        server.put("/claim", Answer::Stall(whole("200 OK\r\ncontent-length: 9999", b""))),
    ] {
        let failure = posted(five(), &url).await.unwrap_err();
        assert!(matches!(cause(&failure), FetchError::TooLarge { limit: 5, .. }), "{failure}");
    }
    let gzip = server.answer("/z", "200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1", b"x");
    let failure = posted(five(), &gzip).await.unwrap_err();
    assert!(matches!(cause(&failure), FetchError::Encoded { .. }), "{failure}");
    let silent = server.put("/silent", Answer::Stall(Vec::new()));
    let short = FetchDeadlines::default().total(Duration::from_millis(50));
    let failure = posted(five().deadlines(short), &silent).await.unwrap_err();
    let FetchError::Timeout { phase, .. } = cause(&failure) else { panic!("{failure:?}") };
    assert_eq!(*phase, HttpPhase::Total);
}

/// A server that was asked to do something may have done it, although its answer is lost. A GET asks for nothing.
#[tokio::test]
async fn what_was_sent_may_have_had_its_effect() {
    let server = Server::start();
    // No server listens at this port.
    let refused = "http://127.0.0.1:1/".to_owned();
    for (url, expected) in [
        (server.put("/nothing", Answer::Raw(Vec::new())), true),
        (server.answer("/cut", "200 OK\r\ncontent-length: 10", b"12345"), true),
        (server.serve("/large", b"123456"), true),
        (server.answer("/500", "503 Service Unavailable\r\ncontent-length: 1", b"x"), true),
        (server.answer("/400", "400 Bad Request\r\ncontent-length: 1", b"x"), false),
        (refused, false),
    ] {
        let fetcher = || Fetcher::builder(local()).max_bytes(5);
        let failure = posted(fetcher(), &url).await.unwrap_err();
        assert_eq!(failure.is_outcome_unknown(), expected, "{url}: {failure:?}");
        let got = read(&fetcher().build().unwrap().reader(&url).unwrap()).await;
        assert!(!got.unwrap_err().is_outcome_unknown(), "{url}");
    }
}

/// Also if the policy lets a GET follow them, and whatever the status says about the method.
#[tokio::test]
async fn what_is_sent_is_not_sent_on() {
    let ours = Server::start();
    let theirs = Server::start();
    let goal = theirs.serve("/goal", b"found");
    for status in ["301", "302", "303", "307", "308"] {
        let head = format!("{status} Away\r\nlocation: {goal}\r\ncontent-length: 0");
        let url = ours.answer("/start", &head, b"");
        let fetcher = Fetcher::builder(local().allow_redirects(3));
        let failure = posted(fetcher, &url).await.unwrap_err();
        let FetchError::Redirected { to, .. } = cause(&failure) else { panic!("{failure:?}") };
        assert_eq!(*to, goal);
    }
    assert_eq!(ours.requests().len(), 5);
    assert!(theirs.requests().is_empty());
}

/// By number and by name, and by a name whose host is allowed: the address is judged all the same.
#[tokio::test]
async fn addresses_are_judged_as_they_are_for_reading() {
    let server = Server::start();
    let port = server.port();
    let url = server.serve("/", b"done");
    let public = UrlPolicy::public().allow_http();
    let fetcher = Fetcher::builder(public.clone()).build().unwrap();
    for host in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "169.254.169.254"] {
        let error = fetcher.send(&format!("http://{host}:{port}/"), post()).unwrap_err();
        let FetchError::Refused { why: UrlRefusal::Address { .. }, .. } = error else {
            panic!("{host}: {error:?}")
        };
    }
    let name = format!("http://localhost:{port}/");
    for policy in [public.clone(), public.only_hosts(["localhost"])] {
        let failure = posted(Fetcher::builder(policy), &name).await.unwrap_err();
        let FetchError::Refused { why: UrlRefusal::Address { .. }, .. } = cause(&failure) else {
            panic!("{failure:?}")
        };
    }
    assert!(server.requests().is_empty());

    let named = local().only_hosts(["localhost"]);
    assert_eq!(posted(Fetcher::builder(named.clone()), &name).await.unwrap(), b"done");
    let error = Fetcher::builder(named).build().unwrap().send(&url, post()).unwrap_err();
    assert!(matches!(error, FetchError::Refused { why: UrlRefusal::Host, .. }), "{error}");
    assert_eq!(server.requests().len(), 1);
}
