//! The requests of OAuth go through the client of the program.

use std::sync::{Arc, Mutex};

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use haft_http::{HttpClient, HttpLimits};
use serde_json::json;

use crate::client::OAuthClient;

/// The MCP server and its authorization server, whose name no resolver knows.
const URL: &str = "http://tracker.test/mcp";

/// Answers as both servers, by the path of a request.
fn respond(request: &Request) -> Response {
    let origin = "http://tracker.test";
    match request.uri().path() {
        "/.well-known/oauth-protected-resource/mcp" => Json(json!({
            "resource": format!("{origin}/mcp"),
            "authorization_servers": [origin],
        }))
        .into_response(),
        "/.well-known/oauth-authorization-server" => Json(json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["client_credentials"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
        }))
        .into_response(),
        "/token" => {
            Json(json!({"access_token": "a token", "token_type": "Bearer", "expires_in": 3600}))
                .into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// A proxy that answers every request itself, and the addresses that were asked for.
#[expect(clippy::disallowed_methods, reason = "a peer on a task of its own")]
async fn start_proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let router = Router::new().fallback(move |request: Request| async move {
        log.lock().unwrap().push(request.uri().to_string());
        respond(&request)
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, seen)
}

#[tokio::test]
async fn discovery_and_tokens_use_the_client_of_the_program() {
    let (proxy, seen) = start_proxy().await;
    let client = HttpClient::builder().limits(HttpLimits::default()).proxy(proxy).build().unwrap();
    let oauth = OAuthClient::client_credentials(URL, "program", "secret");
    let authorized = oauth.clone().client(client).authorize().await;
    let seen = seen.lock().unwrap().clone();
    assert!(authorized.is_ok(), "{:?} after {seen:?}", authorized.err());
    assert!(seen.iter().any(|it| it == "http://tracker.test/token"), "{seen:?}");
    assert!(oauth.authorize().await.is_err(), "the name is known");
}
