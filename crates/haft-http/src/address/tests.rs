//! Spellings of hosts and origins.

use http::Request;

use super::{AddressPolicy, AddressRefusal, Authority, WebOrigin};

#[test]
fn authorities_are_a_host_and_a_port() {
    for (text, expected) in [
        ("localhost", "localhost"),
        ("LocalHost:80", "localhost:80"),
        ("127.0.0.1:4983", "127.0.0.1:4983"),
        ("[::1]:65535", "[::1]:65535"),
        ("[0:0:0:0:0:0:0:1]", "[::1]"),
        ("a_b-c.example.com", "a_b-c.example.com"),
    ] {
        assert_eq!(text.parse::<Authority>().unwrap().to_string(), expected);
    }
    let long = format!("{}.example", "a".repeat(246));
    for text in [
        "",
        ":80",
        "localhost:",
        "localhost:+80",
        "localhost:65536",
        "localhost:80:80",
        "127.0.0.1:80.evil.example",
        "evil@127.0.0.1:80",
        "user:pass@localhost",
        "localhost/",
        "localhost#",
        "localhost?",
        "local host",
        " localhost",
        "localhost,evil.example",
        "localhost.",
        "a..b",
        "::1",
        "[::1",
        "[::1]x",
        "[::1]x:80",
        "x[::1]",
        "[localhost]",
        "[]",
        "löcalhost",
        "%6c",
        &long,
    ] {
        assert!(text.parse::<Authority>().is_err(), "{text}");
    }
}

#[test]
fn origins_are_those_of_pages() {
    let same = |one: &str, two: &str| one.parse::<WebOrigin>() == two.parse::<WebOrigin>();
    assert!(same("http://localhost", "http://LOCALHOST:80"));
    assert!(same("https://[::1]:443", "https://[0::1]"));
    assert!(!same("http://localhost", "https://localhost"));
    assert!(!same("https://localhost:80", "https://localhost"));
    for text in [
        "null",
        "localhost",
        "evil://localhost",
        "file://",
        "http://",
        "http://localhost/",
        "http://evil@localhost",
        "http://localhost.evil:80:80",
        "ws://localhost",
        "http:localhost",
    ] {
        assert!(text.parse::<WebOrigin>().is_err(), "{text}");
    }
}

#[track_caller]
fn check(policy: &AddressPolicy, address: &str, headers: &[(&str, &str)], expected: Verdict) {
    let mut request = Request::get(address);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(()).unwrap();
    assert_eq!(policy.check(&request), expected, "{address} {headers:?}");
}

type Verdict = Result<(), AddressRefusal>;

const MALFORMED: Verdict = Err(AddressRefusal::Malformed);
const HOST: Verdict = Err(AddressRefusal::Host);
const ORIGIN: Verdict = Err(AddressRefusal::Origin);

#[test]
fn a_page_on_this_machine_is_reached_by_its_own_address_only() {
    let page = AddressPolicy::loopback(Some(4983));
    for host in ["127.0.0.1:4983", "localhost:4983", "[::1]:4983", "LOCALHOST:4983"] {
        check(&page, "/", &[("host", host)], Ok(()));
        check(&page, "/", &[("host", host), ("origin", &format!("http://{host}"))], Ok(()));
    }
    for host in [
        "127.0.0.1",
        "127.0.0.1:4984",
        "127.0.0.1:4983.evil.example",
        "evil@127.0.0.1:4983",
        "127.0.0.1.evil.example:4983",
        "evil.example",
        "127.1:4983",
        "[::ffff:127.0.0.1]:4983",
        "",
    ] {
        check(&page, "/", &[("host", host)], HOST);
    }
    let own = ("host", "127.0.0.1:4983");
    for origin in [
        "https://127.0.0.1:4983",
        "evil://127.0.0.1:4983",
        "http://127.0.0.1:4984",
        "http://localhost:4983",
        "http://127.0.0.1:4983.evil.example",
        "http://evil@127.0.0.1:4983",
        "http://evil.example",
        "null",
        "",
    ] {
        check(&page, "/", &[own, ("origin", origin)], ORIGIN);
    }
    // What does not say whom it is for is for nobody.
    check(&page, "/", &[], MALFORMED);
    check(&page, "/", &[own, own], MALFORMED);
    check(&page, "/", &[own, ("host", "evil.example")], MALFORMED);
    check(&page, "http://127.0.0.1:4983/", &[own], MALFORMED);
    check(&page, "http://evil.example/", &[own], MALFORMED);
    let twice = ("origin", "http://127.0.0.1:4983");
    check(&page, "/", &[own, twice, twice], ORIGIN);
}

#[test]
fn listed_hosts_and_origins_are_compared_as_a_whole() {
    let policy = AddressPolicy::loopback(None)
        .allow_host("mcp.example".parse().unwrap())
        .allow_host("other.example:8080".parse().unwrap())
        .allow_origin("https://app.example:443".parse().unwrap());
    for host in ["127.0.0.1", "localhost:1", "mcp.example", "mcp.example:9", "other.example:8080"] {
        check(&policy, "/", &[("host", host)], Ok(()));
        check(&policy, "/", &[("host", host), ("origin", "https://app.example")], Ok(()));
        for origin in ["http://app.example", "https://app.example:444", "https://app.example.evil"]
        {
            check(&policy, "/", &[("host", host), ("origin", origin)], ORIGIN);
        }
    }
    for host in ["other.example", "other.example:80", "mcp.example.evil", "x.mcp.example"] {
        check(&policy, "/", &[("host", host)], HOST);
    }
}

#[test]
fn pages_behind_a_proxy_may_come_over_tls() {
    let policy = AddressPolicy::behind_proxy().allow_host("agents.example".parse().unwrap());
    let host = ("host", "agents.example");
    for origin in ["https://agents.example", "http://agents.example", "https://agents.example:443"]
    {
        check(&policy, "/", &[host, ("origin", origin)], Ok(()));
    }
    for origin in
        ["https://agents.example:80", "http://agents.example:8080", "ftp://agents.example"]
    {
        check(&policy, "/", &[host, ("origin", origin)], ORIGIN);
    }
    check(&policy, "/", &[("host", "localhost")], HOST);
}
