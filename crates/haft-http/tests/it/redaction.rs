use haft_http::{Scrubber, uri};
use http::Request;

#[test]
fn addresses_in_other_scripts_are_encoded() {
    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let parsed = uri::parse(text).map(|it| it.to_string()).ok();
        assert_eq!(parsed.as_deref(), expected, "{text}");
    }
    check("https://api.example.com/v1?x=1", Some("https://api.example.com/v1?x=1"));
    check("https://bücher.example/v1", Some("https://xn--bcher-kva.example/v1"));
    for wrong in ["", "no address", "/v1/chat", "api.example.com/v1", "http://"] {
        check(wrong, None);
    }
}

#[test]
fn only_https_and_this_machine_are_private() {
    #[track_caller]
    fn check(url: &str, exposed: bool) {
        assert_eq!(uri::is_exposed(url), exposed, "{url}");
    }
    for private in [
        "https://example.com",
        "HTTPS://example.com",
        "http://127.0.0.1:8080/v1",
        "http://[::1]:80",
        "http://localhost",
        "http://a.localhost.",
        "http://user@127.9.9.9/",
    ] {
        check(private, false);
    }
    for exposed in
        ["http://example.com", "http://192.168.1.2", "http://localhost.example.com", "ftp://x", ""]
    {
        check(exposed, true);
    }
}

#[test]
fn secrets_are_removed_in_every_spelling() {
    let request = Request::get("https://example.com/?token=a%2Fb%2Fc")
        .header("authorization", "Bearer se\"cret")
        .body(())
        .unwrap();
    let scrubber = Scrubber::for_request(&request);
    #[track_caller]
    fn check(scrubber: &Scrubber, text: &str, expected: &str) {
        assert_eq!(scrubber.scrub_text(text), expected, "{text}");
    }
    check(&scrubber, "key se\"cret!", "key [redacted]!");
    check(&scrubber, r#"{"key":"se\"cret"}"#, r#"{"key":"[redacted]"}"#);
    check(&scrubber, "a/b/c and a%2Fb%2Fc", "[redacted] and [redacted]");
    check(&scrubber, "se%22cret", "[redacted]");
    check(&scrubber, "nothing", "nothing");
    // A secret that is cut off.
    assert_eq!(scrubber.scrub_prefix(b"it was se\"cre"), b"it was [redacted]");
    assert!(!format!("{scrubber:?}").contains("secret"));
}
