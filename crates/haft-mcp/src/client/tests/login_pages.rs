use crate::client::oauth::is_login_page;

#[test]
fn only_pages_of_the_web_are_shown_to_a_user_who_logs_in() {
    for page in ["https://login.example.com/authorize?a=b", "http://127.0.0.1:8080/authorize"] {
        assert!(is_login_page(page), "{page}");
    }
    for page in [
        "javascript:alert(1)?response_type=code",
        "javascript://127.0.0.1/%0aalert(1)",
        "file:///bin/sh?response_type=code",
        "file://localhost/bin/sh",
        "data:text/html,x",
        "http://login.example.com/authorize",
        "vscode://extension/run",
        "",
    ] {
        assert!(!is_login_page(page), "{page}");
    }
}
