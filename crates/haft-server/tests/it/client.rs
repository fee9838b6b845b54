//! Calls the routes without a socket.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::http::{Request, StatusCode};
use futures_core::Stream as _;
use haft::executors::{DispatchExecutor, Step, StepContext, StepError};
use haft::stores::MemoryStore;
use haft::{Agent, Tool};
use haft_server::{Access, Api};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

/// An agent on a store, as a process would have it.
pub(crate) fn agent(
    store: &Arc<MemoryStore>,
    executor: impl DispatchExecutor + 'static,
    tools: Vec<Tool>,
) -> Agent {
    let builder = Agent::builder(executor).tools(tools).secret([7; 32]);
    builder.store(Arc::clone(store) as _).build().unwrap()
}

/// The routes of a server that runs nothing itself.
pub(crate) fn server(store: &Arc<MemoryStore>, access: Access) -> Router {
    let no_step = |_: StepContext| async { Err::<Step, _>(StepError::new("nothing runs here")) };
    let turns = agent(store, no_step, Vec::new()).stored_turns().clone();
    Api::builder(turns).access(access).actor("Ada").build().router()
}

pub(crate) async fn get(router: &Router, path: &str) -> Value {
    let (status, body) = send(router, Request::get(path).body(Body::empty()).unwrap()).await;
    assert_eq!(status, StatusCode::OK, "{path}: {body}");
    body
}

pub(crate) async fn post(router: &Router, path: &str, body: &Value) -> (StatusCode, Value) {
    let request = Request::post(path).header("content-type", "application/json");
    send(router, request.body(Body::from(body.to_string())).unwrap()).await
}

async fn send(router: &Router, request: Request<Body>) -> (StatusCode, Value) {
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// A text as a part of a path.
pub(crate) fn escape(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// A stream of events that is read one by one.
pub(crate) struct EventReader {
    body: BodyDataStream,
    text: String,
}

impl EventReader {
    /// Follows a resource, from an event on if its id is given.
    pub(crate) async fn open(router: &Router, path: &str, last: Option<&str>) -> Self {
        let mut request = Request::get(path);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        Self { body: response.into_body().into_data_stream(), text: String::new() }
    }

    /// The next event: its name, its id and its data. Nothing at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<(String, String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let found = event.lines().find_map(|line| line.strip_prefix(name));
                    found.unwrap_or_default().trim().to_owned()
                };
                let parsed = (field("event:"), field("id:"), field("data:"));
                self.text = rest.to_owned();
                if parsed.2.is_empty() {
                    continue; // a comment that keeps the connection open
                }
                return Some((parsed.0, parsed.1, serde_json::from_str(&parsed.2).unwrap()));
            }
            let body = &mut self.body;
            let chunk = std::future::poll_fn(|cx| std::pin::Pin::new(&mut *body).poll_next(cx));
            let chunk = tokio::time::timeout(std::time::Duration::from_secs(60), chunk);
            let chunk = chunk.await.expect("an event should have come")?;
            self.text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
        }
    }
}
