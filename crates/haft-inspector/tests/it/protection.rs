//! Who may use the page.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use haft_server::Access;

use super::example;

/// Sends a request with these headers and returns the response.
pub(crate) fn send(address: &str, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(stream, "{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

pub(crate) fn status(response: &str) -> u16 {
    response.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_hosts_sites_and_clients_are_refused() {
    let server = example::start_server(Access::Act, 1 << 16).await;
    let url = server.url.clone();
    tokio::task::spawn_blocking(move || check_requests(&url)).await.unwrap();
}

fn check_requests(url: &str) {
    let (address, token) = url.strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
    let get = |path: &str, host: &str, more: &str| {
        send(address, &format!("GET {path} HTTP/1.1\r\nHost: {host}{more}"), "")
    };
    // The page itself holds nothing and has a strict policy.
    let page = get("/", address, "");
    assert_eq!(status(&page), 200);
    let policy = page.lines().find(|it| it.starts_with("content-security-policy")).unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    // Without a session there is no API, and a name that points to loopback is not this server.
    assert_eq!(status(&get("/api/turns", address, "")), 401);
    assert_eq!(status(&get("/", "attacker.example:80", "")), 403);
    assert_eq!(
        status(&get(
            "/api/turns",
            "attacker.example",
            &format!("\r\nAuthorization: Bearer {token}")
        )),
        403
    );
    // What says twice whom it is for is for nobody.
    let bearer = format!("\r\nAuthorization: Bearer {token}");
    assert_eq!(status(&get("/api/turns", address, &format!("{bearer}\r\nHost: {address}"))), 400);
    assert_eq!(status(&get(&format!("http://{address}/api/turns"), address, &bearer)), 400);
    assert_eq!(status(&get("http://attacker.example/api/turns", address, &bearer)), 400);
    for origin in [format!("evil://{address}"), format!("https://{address}"), "null".to_owned()] {
        let foreign = format!("{bearer}\r\nOrigin: {origin}");
        assert_eq!(status(&get("/api/turns", address, &foreign)), 403, "{origin}");
    }
    let turns = get("/api/turns", address, &bearer);
    assert_eq!(status(&turns), 200);
    assert!(turns.contains("0199-log-detective"));
    // Nothing that a browser sends by itself opens it, and no response asks a browser to send something.
    for response in [&page, &turns] {
        assert!(!response.to_lowercase().contains("set-cookie"), "{response}");
    }
    let port = address.rsplit(':').next().unwrap();
    for sent in [
        format!("Cookie: haft_session_{port}={token}"),
        format!("Cookie: haft-token={token}; token={token}"),
        format!("Referer: http://{address}/#token={token}"),
        format!("Authorization: Basic {token}"),
    ] {
        let more = format!("\r\n{sent}\r\nSec-Fetch-Site: same-origin");
        assert_eq!(status(&get("/api/turns", address, &more)), 401, "{sent}");
    }
    assert_eq!(status(&get(&format!("/api/turns?token={token}"), address, "")), 401);
    // An action has a header that a form of another site cannot set.
    let post = |more: &str| {
        let path = "/api/turns/0199-approval-flow/cancel";
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json{bearer}{more}"
        );
        send(address, &head, "{}")
    };
    assert_eq!(status(&post("")), 403, "a form of another site cannot set the header");
    assert_eq!(status(&post("\r\nx-haft-action: 1\r\nOrigin: http://attacker.example")), 403);
    // Other sites are refused, whatever they know.
    assert_eq!(
        status(&get(
            "/api/turns",
            address,
            &format!("{bearer}\r\nOrigin: http://attacker.example")
        )),
        403
    );
    assert_eq!(
        status(&get("/api/turns", address, &format!("{bearer}\r\nSec-Fetch-Site: cross-site"))),
        403
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_server_refuses_actions() {
    let server = example::start_server(Access::ReadOnly, 1 << 16).await;
    let url = server.url.clone();
    tokio::task::spawn_blocking(move || {
        let (address, token) = url.strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
        for path in [
            "/api/turns/0199-approval-flow/cancel",
            "/api/turns/0199-log-detective/fork",
            "/api/agents/live/tools/read_sensor/calls",
        ] {
            let head = format!(
                "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nx-haft-action: 1\r\n\
                 Authorization: Bearer {token}"
            );
            let response = send(address, &head, "{\"step\": 1, \"arguments\": {}}");
            assert_eq!(status(&response), 403, "{path}: {response}");
            assert!(response.contains("E_API_READ_ONLY"), "{response}");
        }
    })
    .await
    .unwrap();
}
