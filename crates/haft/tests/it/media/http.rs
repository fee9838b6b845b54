use std::net::{Ipv4Addr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_core::Stream as _;
use haft::ToolFailure;
use haft::error::Coded as _;
use haft::media::MediaReader;
use haft::media::{
    FetchDeadlines, FetchError, Fetcher, FetcherBuilder, HttpPhase, UrlPolicy, UrlRefusal,
    store_media,
};
use haft::stores::MemorySpoolStore;
use haft::stores::SpoolStore;
use proptest::prelude::*;

use super::server::{Answer, Server, whole};
use super::{base64, base64_of, cause, media, next, read};

/// The server of a test is on this machine, which has to be allowed.
fn local() -> UrlPolicy {
    UrlPolicy::public().allow_http().allow_network(Ipv4Addr::LOCALHOST, 32)
}

fn fetcher(policy: UrlPolicy) -> Fetcher {
    Fetcher::builder(policy).build().unwrap()
}

async fn fail(fetcher: FetcherBuilder, url: &str) -> ToolFailure {
    let reader = fetcher.build().unwrap().reader(url).unwrap();
    read(&reader).await.unwrap_err()
}

#[tokio::test]
async fn fetched_media_keep_the_contract() {
    use haft::media::HttpReader;
    use haft::media::ReaderResolvers;
    use std::sync::atomic::{AtomicUsize, Ordering};

    let server = Server::start();
    let fetcher = fetcher(local());
    let resolvers = ReaderResolvers::empty().with(HttpReader::TAG, fetcher.resolver());
    let count = AtomicUsize::new(0);
    let make = |content: bytes::Bytes| {
        let path = format!("/{}", count.fetch_add(1, Ordering::Relaxed));
        let reader = fetcher.reader(&server.serve(&path, &content)).unwrap();
        async move { Arc::new(reader) as Arc<dyn MediaReader> }
    };
    haft_conformance::media_reader(make, &resolvers).await.unwrap();
}

/// With a length, in chunks, and up to the end of the connection.
#[test]
fn the_same_bytes_come_out() {
    let server = Server::start();
    let fetcher = fetcher(local());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    proptest!(ProptestConfig::with_cases(haft_testkit::cases(24)), |(content: Vec<u8>, piece in 1_usize..50)| {
        let mut chunked = Vec::new();
        for piece in content.chunks(piece) {
            chunked.extend(format!("{:x}\r\n", piece.len()).into_bytes());
            chunked.extend(piece);
            chunked.extend(b"\r\n");
        }
        chunked.extend(b"0\r\n\r\n");
        let urls = [
            server.serve("/length", &content),
            server.answer("/chunks", "200 OK\r\ntransfer-encoding: chunked", &chunked),
            server.answer("/close", "203 Non-Authoritative Information", &content),
        ];
        for url in urls {
            let media = media(fetcher.reader(&url).unwrap());
            runtime.block_on(async {
                assert_eq!(media.bytes(u64::MAX).await.unwrap(), content);
                assert_eq!(base64(&media).await, base64_of(&content));
            });
        }
    });
}

#[tokio::test]
async fn each_stream_asks_anew() {
    let server = Server::start();
    let reader = fetcher(local()).reader(&server.serve("/a", b"one")).unwrap();
    drop(reader.open());
    assert!(server.requests().is_empty(), "nothing is asked before the stream is polled");
    assert_eq!(read(&reader).await.unwrap(), b"one");
    server.serve("/a", b"two");
    assert_eq!(read(&reader).await.unwrap(), b"two");
    assert_eq!(reader.byte_length(), None);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[0].starts_with("GET /a HTTP/1.1\r\n"), "{}", requests[0]);
    assert!(requests[0].contains("\r\naccept-encoding: identity\r\n"), "{}", requests[0]);
}

#[tokio::test]
async fn only_a_whole_answer_is_a_medium() {
    #[track_caller]
    fn check(failure: &ToolFailure, expected: u16, retryable: bool) {
        let FetchError::Status { status, .. } = cause(failure) else { panic!("{failure:?}") };
        assert_eq!((*status, failure.is_retryable()), (expected, retryable));
        assert!(failure.message().contains(&expected.to_string()), "{failure}");
    }
    let server = Server::start();
    for (head, status, retryable) in [
        ("204 No Content", 204, false),
        ("206 Partial Content\r\ncontent-length: 1", 206, false),
        ("300 Multiple Choices\r\nlocation: /elsewhere\r\ncontent-length: 1", 300, false),
        ("302 Found\r\ncontent-length: 1", 302, false),
        ("304 Not Modified", 304, false),
        ("404 Not Found\r\ncontent-length: 1", 404, false),
        ("429 Too Many Requests\r\ncontent-length: 1", 429, true),
        ("503 Service Unavailable\r\ncontent-length: 1", 503, true),
    ] {
        let url = server.answer("/s", head, b"x");
        check(&fail(Fetcher::builder(local()), &url).await, status, retryable);
    }
    let url = server.answer("/s", "200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1", b"x");
    let failure = fail(Fetcher::builder(local()), &url).await;
    assert!(matches!(cause(&failure), FetchError::Encoded { encoding, .. } if encoding == "gzip"));
}

#[tokio::test]
async fn redirects_are_refused_unless_allowed() {
    let server = Server::start();
    let goal = server.serve("/goal", b"found");
    let to = |path: &str, goal: &str| {
        let head = format!("302 Found\r\nlocation: {goal}\r\ncontent-length: 0");
        server.answer(path, &head, b"")
    };
    let (once, twice, forever) = (to("/1", "/goal?x=1"), to("/2", "/1"), to("/loop", "/loop"));
    server.serve("/goal?x=1", b"found");

    let failure = fail(Fetcher::builder(local()), &once).await;
    let FetchError::Redirected { status: 302, to: target, .. } = cause(&failure) else {
        panic!("{failure:?}")
    };
    assert_eq!(*target, format!("{goal}?…"));

    let follow = |n| Fetcher::builder(local().allow_redirects(n));
    let fetch = async |n, url: &str| read(&follow(n).build().unwrap().reader(url).unwrap()).await;
    assert_eq!(fetch(1, &once).await.unwrap(), b"found");
    assert_eq!(fetch(2, &twice).await.unwrap(), b"found");
    let failure = fetch(1, &twice).await.unwrap_err();
    assert!(matches!(cause(&failure), FetchError::Redirected { .. }), "{failure}");
    let before = server.requests().len();
    let failure = fetch(5, &forever).await.unwrap_err();
    assert!(matches!(cause(&failure), FetchError::Redirected { .. }), "{failure}");
    assert_eq!(server.requests().len() - before, 6);
}

#[tokio::test]
async fn a_private_service_does_not_choose_what_is_read_from_another() {
    let (ours, theirs) = (Server::start(), Server::start());
    let goal = theirs.serve("/goal", b"found");
    let head = format!("302 Found\r\nlocation: {goal}\r\ncontent-length: 0");
    let url = ours.answer("/start", &head, b"");
    let failure = read(&fetcher(local().allow_redirects(3)).reader(&url).unwrap()).await;
    let failure = failure.unwrap_err();
    let FetchError::Refused { why: UrlRefusal::OtherOrigin, .. } = cause(&failure) else {
        panic!("{failure:?}")
    };
}

#[tokio::test]
async fn each_redirect_is_checked() {
    let server = Server::start();
    let fetcher = fetcher(local().allow_redirects(3));
    for (goal, why) in [
        ("file:///etc/passwd", UrlRefusal::Scheme),
        ("ftp://example.com/", UrlRefusal::Scheme),
        ("//user:pass@127.0.0.1/", UrlRefusal::UserInfo),
        ("http://10.0.0.1/", address("private", [10, 0, 0, 1])),
        ("http://0x7f.2/", address("loopback", [127, 0, 0, 2])),
        ("http://169.254.169.254/latest/", address("link-local", [169, 254, 169, 254])),
    ] {
        let head = format!("307 Temporary Redirect\r\nlocation: {goal}\r\ncontent-length: 0");
        let reader = fetcher.reader(&server.answer("/r", &head, b"")).unwrap();
        let failure = read(&reader).await.unwrap_err();
        let FetchError::Refused { why: found, .. } = cause(&failure) else { panic!("{failure:?}") };
        assert_eq!(*found, why);
    }
    let head = "307 Temporary Redirect\r\nlocation: http://[::\r\ncontent-length: 0";
    let reader = fetcher.reader(&server.answer("/r", head, b"")).unwrap();
    let failure = read(&reader).await.unwrap_err();
    assert!(matches!(cause(&failure), FetchError::InvalidUrl { .. }), "{failure}");
}

fn address(sort: &'static str, of: [u8; 4]) -> UrlRefusal {
    // The variant is not exhaustive for others, so that it is taken from an error.
    let url = format!("https://{}/", Ipv4Addr::from(of));
    match fetcher(UrlPolicy::public()).reader(&url).unwrap_err() {
        FetchError::Refused { why: why @ UrlRefusal::Address { .. }, .. }
            if why.to_string().contains(sort) =>
        {
            why
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn credentials_go_to_their_origin_only() {
    let (ours, theirs) = (Server::start(), Server::start());
    let goal = theirs.serve("/goal", b"found");
    let head = format!("302 Found\r\nlocation: {goal}\r\ncontent-length: 0");
    let url = ours.answer("/start", &head, b"");
    let origin = ours.origin();
    let fetcher = Fetcher::builder(local().allow_redirects(1).allow_private_redirects()).headers(
        move |asked| {
            let header = ("Authorization".to_owned(), "Bearer s3cret".to_owned());
            if asked == origin { vec![header] } else { Vec::new() }
        },
    );
    let fetcher = fetcher.build().unwrap();
    let reader = fetcher.reader(&url).unwrap();
    assert_eq!(read(&reader).await.unwrap(), b"found");
    assert!(ours.requests()[0].contains("\r\nauthorization: Bearer s3cret\r\n"));
    assert!(!theirs.requests()[0].contains("s3cret"), "{}", theirs.requests()[0]);
    assert!(!theirs.requests()[0].contains("referer"), "{}", theirs.requests()[0]);
    // The same server by another name is another host.
    let name = format!("http://localhost:{}/goal", ours.port());
    ours.serve("/goal", b"found");
    let url_by_name = theirs.answer("/away", &format!("302 Found\r\nlocation: {name}"), b"");
    let head = format!("302 Found\r\nlocation: {url_by_name}");
    let url_twice = ours.answer("/twice", &head, b"");
    let policy = local().allow_redirects(2).allow_private_redirects();
    let origin = ours.origin();
    let twice = Fetcher::builder(policy).headers(move |asked| {
        let header = ("Authorization".to_owned(), "Bearer s3cret".to_owned());
        if asked == origin { vec![header] } else { Vec::new() }
    });
    let twice = twice.build().unwrap().reader(&url_twice).unwrap();
    assert_eq!(read(&twice).await.unwrap(), b"found");
    let got: Vec<bool> = ours.requests().iter().map(|it| it.contains("s3cret")).collect();
    assert_eq!(got, [true, true, false], "by its origin, twice, and not by another name");
    assert!(theirs.requests().iter().all(|it| !it.contains("s3cret")));
    let descriptor = serde_json::to_string(&reader.describe().unwrap()).unwrap();
    assert_eq!(descriptor, format!(r#"{{"tag":"media:fetch","locator":{{"url":"{url}"}}}}"#));
    assert!(!format!("{fetcher:?} {reader:?}").contains("s3cret"));

    let broken = |_: &str| vec![("a b".to_owned(), "s3cret\n".to_owned())];
    let failure = fail(Fetcher::builder(local()).headers(broken), &url).await;
    assert!(matches!(cause(&failure), FetchError::Header { .. }), "{failure}");
    assert!(!format!("{failure:?}").contains("s3cret"));
}

#[test]
fn secrets_of_a_query_are_neither_stored_nor_shown() {
    let fetcher = fetcher(UrlPolicy::public());
    for (query, described) in [
        ("", true),
        ("?page=2&size=large", true),
        ("?page=2&X-Amz-Signature=s3cret", false),
        ("?Signature=s3cret&Expires=1", false),
        ("?sv=1&sig=s3cret", false),
        ("?%74oken=s3cret", false),
    ] {
        let reader = fetcher.reader(&format!("https://example.com/a{query}")).unwrap();
        assert_eq!(reader.describe().is_some(), described, "{query}");
        assert!(!format!("{reader:?}").contains("s3cret"));
        if !described {
            let error = serde_json::to_string(&media(reader)).unwrap_err();
            assert!(error.to_string().contains("has no descriptor"), "{error}");
        }
    }
    let error = fetcher.reader("http://example.com/a?token=s3cret").unwrap_err();
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
}

#[tokio::test]
async fn answers_have_a_size() {
    #[track_caller]
    fn check(failure: &ToolFailure) {
        assert!(matches!(cause(failure), FetchError::TooLarge { limit: 5, .. }), "{failure}");
        assert!(!failure.is_retryable());
    }
    let server = Server::start();
    let five = || Fetcher::builder(local()).max_bytes(5);
    let reader = five().build().unwrap().reader(&server.serve("/5", b"12345")).unwrap();
    assert_eq!(read(&reader).await.unwrap(), b"12345");
    check(&fail(five(), &server.serve("/6", b"123456")).await);
    let chunked = "200 OK\r\ntransfer-encoding: chunked";
    let url = server.answer("/c", chunked, b"3\r\n123\r\n3\r\n456\r\n0\r\n\r\n");
    check(&fail(five(), &url).await);
    check(&fail(five(), &server.answer("/e", "200 OK", b"123456")).await);
    // By its head alone: no byte of the body ever comes.
    let claim = Answer::Stall(whole("200 OK\r\ncontent-length: 99999999999", b""));
    check(&fail(five(), &server.put("/claim", claim)).await);
    let endless = Answer::Endless(whole(chunked, b""), b"4\r\nabcd\r\n".to_vec());
    check(&fail(five(), &server.put("/endless", endless)).await);
}

#[tokio::test]
async fn waiting_has_an_end() {
    #[track_caller]
    fn check(failure: &ToolFailure, expected: HttpPhase) {
        let FetchError::Timeout { phase, .. } = cause(failure) else { panic!("{failure:?}") };
        assert_eq!(*phase, expected);
        assert!(failure.is_retryable());
    }
    let server = Server::start();
    let short = Duration::from_millis(50);
    let with = |deadlines| Fetcher::builder(local()).deadlines(deadlines);
    let silent = server.put("/silent", Answer::Stall(Vec::new()));
    let half_head = server.put("/head", Answer::Stall(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec()));
    let half = whole("200 OK\r\ncontent-length: 10", b"12345");
    let half_body = server.put("/body", Answer::Stall(half));
    let endless = Answer::Endless(whole("200 OK", b""), vec![0; 1000]);
    let endless = server.put("/endless", endless);

    check(&fail(with(FetchDeadlines::default().head(short)), &silent).await, HttpPhase::Headers);
    check(&fail(with(FetchDeadlines::default().head(short)), &half_head).await, HttpPhase::Headers);
    check(&fail(with(FetchDeadlines::default().idle(short)), &half_body).await, HttpPhase::Idle);
    check(&fail(with(FetchDeadlines::default().total(short)), &silent).await, HttpPhase::Total);
    check(&fail(with(FetchDeadlines::default().total(short)), &half_body).await, HttpPhase::Total);
    let busy = with(FetchDeadlines::default().total(short)).max_bytes(u64::MAX);
    check(&fail(busy, &endless).await, HttpPhase::Total);
    let patient =
        FetchDeadlines::default().head(Duration::MAX).idle(Duration::MAX).total(Duration::MAX);
    let failure = fail(with(patient.connect(Duration::MAX)), &server.origin()).await;
    assert!(matches!(cause(&failure), FetchError::Status { status: 404, .. }), "{failure}");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error() {
    let server = Server::start();
    let length = server.answer("/length", "200 OK\r\ncontent-length: 10", b"12345");
    let chunked = "200 OK\r\ntransfer-encoding: chunked";
    let no_end = server.answer("/no-end", chunked, b"5\r\n12345\r\n");
    let no_chunk = server.answer("/no-chunk", chunked, b"5\r\n12345\r\nwhat\r\n");
    for url in [length, no_end, no_chunk] {
        let failure = fail(Fetcher::builder(local()), &url).await;
        let FetchError::Interrupted { received: 5, .. } = cause(&failure) else {
            panic!("{url}: {failure:?}")
        };
        assert!(failure.is_retryable());
    }
    let half_head = server.put("/half", Answer::Raw(b"HTTP/1.1 200 OK\r\nconten".to_vec()));
    let nonsense = server.put("/nonsense", Answer::Raw(b"SSH-2.0-OpenSSH\r\n".to_vec()));
    let nothing = server.put("/nothing", Answer::Raw(Vec::new()));
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", closed.local_addr().unwrap());
    drop(closed);
    for url in [half_head, nonsense, nothing, address] {
        let failure = fail(Fetcher::builder(local()), &url).await;
        assert!(matches!(cause(&failure), FetchError::Unreachable { .. }), "{url}: {failure:?}");
    }
    // More than was announced belongs to no answer.
    let url = server.answer("/long", "200 OK\r\ncontent-length: 3", b"12345");
    assert_eq!(read(&fetcher(local()).reader(&url).unwrap()).await.unwrap(), b"123");
}

#[tokio::test]
async fn a_dropped_stream_hangs_up() {
    let server = Server::start();
    let endless = Answer::Endless(whole("200 OK", b""), vec![0; 1000]);
    let stalling = Answer::Stall(whole("200 OK\r\ncontent-length: 10", b"12345"));
    let urls = [server.put("/endless", endless), server.put("/stalling", stalling)];
    let fetcher = fetcher(local());
    for url in urls {
        let mut stream = fetcher.reader(&url).unwrap().open();
        assert!(next(&mut stream).await.unwrap().is_some());
        drop(stream);
        let server = Arc::clone(&server);
        tokio::task::spawn_blocking(move || server.wait_for_hang_up()).await.unwrap();
    }
}

#[tokio::test]
async fn a_medium_goes_from_the_network_into_a_store() {
    let server = Server::start();
    let content: Vec<u8> = (0..700_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let source = media(fetcher(local()).reader(&server.serve("/m", &content)).unwrap());
    let store: Arc<dyn SpoolStore> = Arc::new(MemorySpoolStore::new());
    let stored = store_media(&source, Arc::clone(&store), "k").await.unwrap();
    assert_eq!(stored.bytes(u64::MAX).await.unwrap(), content);
    assert_eq!(server.requests().len(), 1);

    let half = server.answer("/half", "200 OK\r\ncontent-length: 10", b"12345");
    let half = media(fetcher(local()).reader(&half).unwrap());
    let error = store_media(&half, Arc::clone(&store), "half").await.unwrap_err();
    assert!(error.retryable(), "{error}");
    assert!(store.read("half".into()).await.unwrap().is_none());
}

#[test]
fn without_a_runtime_there_is_an_error() {
    let mut stream = fetcher(UrlPolicy::public()).reader("https://example.com/").unwrap().open();
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Some(Err(failure))) = Pin::new(&mut stream).poll_next(&mut cx) else {
        panic!("no error")
    };
    assert!(matches!(cause(&failure), FetchError::NoRuntime), "{failure}");
}
