//! Which URLs are read, and which are not.

use std::net::{Ipv4Addr, Ipv6Addr};

use haft::error::Coded as _;
use haft::media::{FetchError, Fetcher, HttpReader, UrlPolicy, UrlRefusal};
use haft::media::{MediaError, ReaderDescriptor, ReaderResolvers};
use serde_json::json;

use super::server::Server;
use super::{cause, read};

fn fetcher(policy: UrlPolicy) -> Fetcher {
    Fetcher::builder(policy).build().unwrap()
}

#[test]
fn addresses_are_refused_in_every_spelling() {
    let fetcher = fetcher(UrlPolicy::public().allow_http());
    for (host, sort) in [
        ("127.0.0.1", "loopback"),
        ("127.0.0.1.", "loopback"),
        ("127.1", "loopback"),
        ("2130706433", "loopback"),
        ("0x7f000001", "loopback"),
        ("0x7f.0.0.1", "loopback"),
        ("0177.0.0.1", "loopback"),
        ("017700000001", "loopback"),
        ("127.255.255.254", "loopback"),
        ("%31%32%37.0.0.1", "loopback"),
        ("１２７.0.0.1", "loopback"),
        ("127。0。0。1", "loopback"),
        ("[::1]", "loopback"),
        ("[0:0:0:0:0:0:0:1]", "loopback"),
        ("[::ffff:127.0.0.1]", "loopback"),
        ("[::ffff:7f00:1]", "loopback"),
        ("[64:ff9b::127.0.0.1]", "loopback"),
        ("[::127.0.0.1]", "reserved"),
        ("0.0.0.0", "unspecified"),
        ("0", "unspecified"),
        ("[::]", "unspecified"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("[::ffff:192.168.1.1]", "private"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("100.100.100.200", "carrier-grade NAT"),
        ("169.254.169.254", "link-local"),
        ("[::ffff:a9fe:a9fe]", "link-local"),
        ("[64:ff9b::a9fe:a9fe]", "link-local"),
        ("[fe80::1]", "link-local"),
        ("[fec0::1]", "site-local"),
        ("[fd00:ec2::254]", "unique-local"),
        ("[fc00::1]", "unique-local"),
        ("168.63.129.16", "metadata service"),
        ("192.0.0.192", "reserved"),
        ("192.0.2.1", "documentation"),
        ("198.51.100.1", "documentation"),
        ("203.0.113.1", "documentation"),
        ("[2001:db8::1]", "documentation"),
        ("[3fff::1]", "documentation"),
        ("198.18.0.1", "benchmarking"),
        ("224.0.0.1", "multicast"),
        ("[ff02::1]", "multicast"),
        ("255.255.255.255", "reserved"),
        ("240.0.0.1", "reserved"),
        ("[2002:7f00:1::]", "6to4"),
        ("[2001::1]", "reserved"),
        ("[64:ff9b:1::1]", "reserved"),
        ("[100::1]", "reserved"),
    ] {
        for scheme in ["http", "https", "HtTpS"] {
            let url = format!("{scheme}://{host}:8080/x");
            let error = fetcher.reader(&url).unwrap_err();
            let FetchError::Refused { why: UrlRefusal::Address { sort: found, .. }, .. } = &error
            else {
                panic!("{url}: {error:?}")
            };
            assert_eq!(*found, sort, "{url}");
        }
    }
    for host in [
        "example.com",
        "8.8.8.8",
        "172.15.255.255",
        "172.32.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "168.63.129.15",
        "[2606:4700::1111]",
        "[::ffff:8.8.8.8]",
        "[64:ff9b::8.8.8.8]",
    ] {
        assert!(fetcher.reader(&format!("http://{host}/")).is_ok(), "{host}");
    }
}

#[test]
fn what_a_url_shows_is_checked_at_once() {
    #[track_caller]
    fn check(policy: UrlPolicy, url: &str, expected: Option<&UrlRefusal>) {
        match (fetcher(policy).reader(url), expected) {
            (Ok(_), None) => {}
            (Err(error @ FetchError::Refused { .. }), Some(expected)) => {
                assert_eq!(
                    (error.code().as_str(), error.retryable()),
                    ("E_NOT_A_MEDIA_READER", false)
                );
                let FetchError::Refused { why, .. } = error else { return };
                assert_eq!(why, *expected, "{url}");
            }
            (found, _) => panic!("{url}: {found:?}"),
        }
    }
    let public = UrlPolicy::public;
    check(public(), "https://example.com", None);
    check(public(), "HTTPS://EXAMPLE.COM:8443/a?b#c", None);
    check(public(), "http://example.com", Some(&UrlRefusal::PlainHttp));
    check(public(), "hTTp://example.com", Some(&UrlRefusal::PlainHttp));
    check(public().allow_http(), "hTTp://example.com", None);
    for url in [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://example.com/",
        "data:text/plain,hello",
        "javascript:alert(1)",
        "ws://example.com/",
        "jar:https://example.com/x",
    ] {
        check(public().allow_http(), url, Some(&UrlRefusal::Scheme));
    }
    for url in [
        "https://user@example.com/",
        "https://user:password@example.com/",
        "https://:password@example.com/",
        "https://example.com@127.0.0.1/",
        "https://example.com%40evil.example@example.org/",
    ] {
        check(public(), url, Some(&UrlRefusal::UserInfo));
    }
    let listed = || public().only_hosts(["Example.com", "*.cdn.example.net."]);
    for url in [
        "https://example.com/",
        "https://EXAMPLE.com./",
        "https://a.cdn.example.net/",
        "https://a.b.cdn.example.net/",
    ] {
        check(listed(), url, None);
    }
    for url in [
        "https://www.example.com/",
        "https://example.com.evil.example/",
        "https://evilexample.com/",
        "https://cdn.example.net/",
        "https://evilcdn.example.net/",
        "https://8.8.8.8/",
        "https://example.com..evil.example/",
    ] {
        check(listed(), url, Some(&UrlRefusal::Host));
    }
    check(public().only_hosts(["8.8.8.8"]), "https://8.8.8.8/", None);
    check(public().only_hosts(["[2606:4700::1111]"]), "https://[2606:4700::1111]/", None);
    let none: [&str; 0] = [];
    check(public().only_hosts(none), "https://example.com/", Some(&UrlRefusal::Host));
}

#[test]
fn texts_that_are_no_urls_are_refused() {
    let fetcher = fetcher(UrlPolicy::public().allow_http());
    let long = format!("https://example.com/{}", "a".repeat(9000));
    for text in [
        "",
        "example.com/a.png",
        "//example.com/a.png",
        "/etc/passwd",
        "https://",
        "https://[::1",
        "https://[fe80::1%25eth0]/",
        "https://exa mple.com/",
        "https://example.com:99999/",
        "https://256.256.256.256/",
        "https://1.2.3.4.5/",
        "https://%00/",
        &long,
    ] {
        let error = fetcher.reader(text).unwrap_err();
        assert!(matches!(error, FetchError::InvalidUrl { .. }), "{text}: {error:?}");
        assert_eq!(error.code(), "E_NOT_A_MEDIA_READER");
        assert!(error.to_string().len() < 600, "{error}");
    }
}

/// The name is fine; the address it leads to is not.
#[tokio::test]
async fn names_are_checked_by_their_addresses() {
    let server = Server::start();
    server.serve("/a", b"hello");
    let urls = ["localhost", "LOCALHOST"].map(|host| format!("http://{host}:{}/a", server.port()));
    let public = fetcher(UrlPolicy::public().allow_http());
    for url in &urls {
        let failure = read(&public.reader(url).unwrap()).await.unwrap_err();
        let FetchError::Refused { why: UrlRefusal::Address { sort: "loopback", .. }, .. } =
            cause(&failure)
        else {
            panic!("{failure:?}")
        };
        assert!(!failure.message().contains("127."), "{failure}");
    }
    // Not every system knows this name.
    let dotted = format!("http://localhost.:{}/a", server.port());
    let failure = read(&public.reader(&dotted).unwrap()).await.unwrap_err();
    assert!(
        matches!(cause(&failure), FetchError::Refused { .. } | FetchError::Unreachable { .. }),
        "{failure:?}"
    );
    assert!(server.requests().is_empty());
    let local = UrlPolicy::public().allow_http().allow_network(Ipv4Addr::new(127, 0, 0, 0), 8);
    let local = fetcher(local.allow_network(Ipv6Addr::LOCALHOST, 128));
    assert_eq!(read(&local.reader(&urls[0]).unwrap()).await.unwrap(), b"hello");
}

#[test]
fn networks_are_allowed_by_their_prefix() {
    let allowed = |prefix, url: &str| {
        let policy = UrlPolicy::public().allow_network(Ipv4Addr::new(10, 20, 0, 0), prefix);
        fetcher(policy).reader(url).is_ok()
    };
    assert!(allowed(16, "https://10.20.255.255/"));
    assert!(allowed(16, "https://[::ffff:10.20.1.1]/"));
    assert!(!allowed(16, "https://10.21.0.0/"));
    assert!(allowed(32, "https://10.20.0.0/"));
    assert!(!allowed(32, "https://10.20.0.1/"));
    assert!(!allowed(255, "https://10.20.0.1/"));
    assert!(allowed(0, "https://127.0.0.1/"));
    assert!(!allowed(0, "https://[::1]/"));
}

#[test]
fn descriptors_are_held_to_the_policy() {
    let fetcher = fetcher(UrlPolicy::public());
    let resolvers = ReaderResolvers::empty().with(HttpReader::TAG, fetcher.resolver());
    let resolve = |locator| resolvers.resolve(&ReaderDescriptor::new(HttpReader::TAG, locator));
    assert!(resolve(json!({"url": "https://example.com/a"})).is_ok());
    for locator in [
        json!(null),
        json!("https://example.com/a"),
        json!({"url": "https://169.254.169.254/"}),
        json!({"url": "https://example.com/a", "init": {"headers": {"authorization": "x"}}}),
    ] {
        let Err(error) = resolve(locator.clone()) else { panic!("{locator}") };
        assert!(matches!(error, MediaError::Unresolvable { .. }), "{error}");
        assert_eq!(error.code(), "E_NOT_A_MEDIA_READER");
    }
}
