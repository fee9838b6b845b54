use super::{provider_name, server_of};

#[test]
fn the_server_of_an_address_has_a_port() {
    #[track_caller]
    fn check(base_url: &str, expect: Option<(&str, u16)>) {
        let expect = expect.map(|(host, port)| (host.to_owned(), port));
        assert_eq!(server_of(base_url), expect);
    }
    check("https://api.openai.com/v1", Some(("api.openai.com", 443)));
    check("http://localhost:11434", Some(("localhost", 11434)));
    check("HTTP://host?query", Some(("host", 80)));
    check("http://[::1]:8080/v1", Some(("[::1]", 8080)));
    check("https://[::1]", Some(("[::1]", 443)));
    check("http://host:port", None);
    check("https:///v1", None);
    check("host", None);
}

#[test]
fn providers_have_the_names_of_the_conventions() {
    assert_eq!(provider_name("gemini".to_owned()), "gcp.gemini");
    assert_eq!(provider_name("openai".to_owned()), "openai");
    assert_eq!(provider_name("my-gateway".to_owned()), "my-gateway");
}
