//! Failures of the service itself.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::{AGENT, TENANTS, build_api, open_stores};
use crate::Access;
use crate::service::{NewToken, ServiceFailure, TenantService, TenantServiceBuilder, TokenFile};

/// A service that remembers its failures.
async fn start(
    dir: &tempfile::TempDir,
    tokens: impl FnOnce(TenantServiceBuilder) -> TenantServiceBuilder,
) -> (TenantService, Arc<Mutex<Vec<ServiceFailure>>>) {
    let stores = open_stores(dir).await;
    let heard: Arc<Mutex<Vec<ServiceFailure>>> = Arc::default();
    let hears = Arc::clone(&heard);
    let service = TenantService::builder(stores, |scope| build_api(scope, Access::Submit))
        .on_failure(move |failure| hears.lock().unwrap().push(failure.clone()));
    (tokens(service).build(), heard)
}

/// Sends a turn to a service, and returns the status and the body of the response.
async fn submit(service: &TenantService, token: &str) -> (StatusCode, Value) {
    let body = json!({"agent": AGENT, "message": "hello"}).to_string();
    let request = Request::post("/v1/turns")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(Body::from(body))
        .unwrap();
    let response = service.router().oneshot(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_learns_the_cause_of_a_failure_and_a_tenant_its_code() {
    let dir = tempfile::tempdir().unwrap();
    let token = NewToken::generate(TENANTS[0], "ci").unwrap();
    let (service, heard) = start(&dir, |service| service.token(token.clone())).await;
    let (status, body) = submit(&service, token.token()).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert!(heard.lock().unwrap().is_empty());

    for file in std::fs::read_dir(dir.path().join("turns")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|it| it == "sqlite") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let (status, body) = submit(&service, token.token()).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "{body}");
    let path = dir.path().to_str().unwrap();
    assert!(!body.to_string().contains(path), "{body}");
    let failure = heard.lock().unwrap().pop().unwrap();
    assert_eq!((&*failure.tenant, Some(&*failure.code)), (TENANTS[0], body["code"].as_str()));
    assert!(failure.message.contains(path), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_cannot_be_read_are_reported_to_the_operator() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = TokenFile::new(dir.path().join("tokens.json"));
    std::fs::write(tokens.path(), "{").unwrap();
    let (service, heard) = start(&dir, |service| service.token_file(tokens)).await;
    let (status, body) = submit(&service, "haft_000000000000_00").await;
    let code = body["code"].as_str();
    assert_eq!((status, code), (StatusCode::SERVICE_UNAVAILABLE, Some("E_API_TOKENS")));
    assert!(!body.to_string().contains("tokens.json"), "{body}");
    let failure = heard.lock().unwrap().pop().unwrap().to_string();
    assert!(failure.contains("tokens.json") && failure.contains("line 1"), "{failure}");
}
