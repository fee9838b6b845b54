use std::net::{Ipv4Addr, TcpListener};

use haft::media::{Fetcher, UrlPolicy};
use haft::tools::ToolOutput;
use haft::tools::{self, WebOptions};
use serde_json::json;

use super::Bench;

/// Answers one request, and gives the port.
fn serve(head: &'static str, body: &'static str) -> u16 {
    serve_bytes(head, body.as_bytes())
}

fn serve_bytes(head: &'static str, body: &'static [u8]) -> u16 {
    use std::io::{Read as _, Write as _};

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = connection.read(&mut request).unwrap();
        let head = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n");
        connection.write_all(&[head.as_bytes(), body].concat()).unwrap();
    });
    port
}

/// The server of a test is on this machine, which has to be allowed.
fn local() -> Bench {
    let policy = UrlPolicy::public().allow_http().allow_network(Ipv4Addr::LOCALHOST, 32);
    let fetcher = Fetcher::builder(policy).max_bytes(100_000).build().unwrap();
    Bench::new(tools::web(WebOptions::new(fetcher)))
}

const PAGE: &str = "<!DOCTYPE html><html><head><title>Hi &amp; bye</title><style>p{}</style></head>\
<body><h2>One</h2><p>Some <b>bold</b>\n text.<br>next</p><script>if (a < b) alert('x')</script>\
<ul><li>a<li>b &#x41;</ul><!-- no > --><pre>x\n  y</pre><img alt=\"a > b\"></body></html>";

#[tokio::test]
async fn pages_become_text() {
    let web = local();
    let url = format!("http://127.0.0.1:{}/", serve("200 OK", PAGE));
    let output = web.output("web_fetch", json!({"url": url})).await.unwrap();
    let ToolOutput::Answer { text, label } = output else { panic!("{output:?}") };
    assert!(!label.is_trusted());
    assert_eq!(
        text,
        "Hi & bye\n\n## One\n\nSome bold text.\nnext\n\n- a\n- b A\n\n```\nx\n  y\n```"
    );
    let url = format!("http://127.0.0.1:{}/", serve("200 OK", PAGE));
    assert_eq!(web.text("web_fetch", json!({"url": url, "format": "raw"})).await, PAGE);
}

#[tokio::test]
async fn links_are_absolute_and_pages_are_decoded() {
    let web = local();
    let head = "200 OK\r\ncontent-type: text/html; charset=utf-8";
    let port = serve(head, "<html><a href='/next?a=1&amp;b=2'>caf&eacute;</a>");
    let url = format!("http://127.0.0.1:{port}/docs/");
    let expected = format!("[café](http://127.0.0.1:{port}/next?a=1&b=2)");
    assert_eq!(web.text("web_fetch", json!({"url": url})).await, expected);
    let head = "200 OK\r\ncontent-type: text/html; charset=koi8-r";
    let url = format!("http://127.0.0.1:{}/", serve_bytes(head, b"<html><p>\xC4\xC1"));
    assert_eq!(web.text("web_fetch", json!({"url": url})).await, "да");
}

#[tokio::test]
async fn other_answers() {
    let web = local();
    let url = format!("http://127.0.0.1:{}/", serve("200 OK", "{\"a\": 1}"));
    assert_eq!(web.text("web_fetch", json!({"url": url})).await, "{\"a\": 1}");
    let url = format!("http://127.0.0.1:{}/", serve("200 OK", "PK\0\0"));
    web.fails("web_fetch", json!({"url": url}), "is not text (4 bytes)").await;
    let url = format!("http://127.0.0.1:{}/", serve("404 Not Found", "no"));
    web.fails("web_fetch", json!({"url": url}), "status 404").await;
    let url = format!("http://127.0.0.1:{}/", serve("200 OK\r\ncontent-length: 999999", ""));
    web.fails("web_fetch", json!({"url": url}), "more than 100000 bytes").await;
}

/// A page cannot make the tool reach what only this machine reaches.
#[tokio::test]
async fn addresses_inside_are_refused() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let policy = UrlPolicy::public().allow_http().allow_redirects(3);
    let fetcher = Fetcher::builder(policy).build().unwrap();
    let web = Bench::new(tools::web(WebOptions::new(fetcher)));
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("[::1]:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("2130706433:{port}"),
        format!("0x7f.1:{port}"),
        format!("0:{port}"),
        "10.0.0.1".to_owned(),
        "192.168.1.1".to_owned(),
        "169.254.169.254".to_owned(),
        "[fe80::1]".to_owned(),
        "[fd00::1]".to_owned(),
        "100.64.0.1".to_owned(),
    ] {
        web.fails("web_fetch", json!({"url": format!("http://{host}/")}), "not public").await;
    }
    for url in ["file:///etc/passwd", "ftp://example.com/", "gopher://example.com"] {
        web.fails("web_fetch", json!({"url": url}), "only http and https").await;
    }
    web.fails("web_fetch", json!({"url": "https://a:b@example.com/"}), "user name").await;
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn a_redirect_is_checked_as_the_first_address_is() {
    let policy = UrlPolicy::public().allow_http().allow_network(Ipv4Addr::LOCALHOST, 32);
    let fetcher = Fetcher::builder(policy.allow_redirects(3)).build().unwrap();
    let web = Bench::new(tools::web(WebOptions::new(fetcher)));
    let inside = "302 Found\r\nlocation: http://169.254.169.254/latest/meta-data";
    let url = format!("http://127.0.0.1:{}/", serve(inside, ""));
    web.fails("web_fetch", json!({"url": url}), "not public").await;
}

#[tokio::test]
async fn only_hosts_that_were_named_are_asked() {
    let web = Bench::new(tools::web(
        WebOptions::only_hosts(["docs.example.com", "*.wiki.example"]).unwrap(),
    ));
    for url in [
        "https://example.com/",
        "https://docs.example.com.evil.example/",
        "https://evildocs.example.com/",
        "https://wiki.example/",
        "https://docs.example.com@evil.example/",
    ] {
        let error = web.output("web_fetch", json!({"url": url})).await.unwrap_err();
        assert!(error.contains("is refused"), "{url}: {error}");
    }
    web.fails("web_fetch", json!({"url": "http://docs.example.com/"}), "only https").await;
}
