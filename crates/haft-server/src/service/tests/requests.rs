//! What a client does: submits, follows, decides, reads, cancels; and what it may use.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{AGENT, TestService, marker, pause};
use crate::Access;
use crate::service::ServiceLimits;

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_submitted_followed_approved_and_read() {
    let service = TestService::start(Access::Submit, ServiceLimits::default()).await;
    let turn = service.submit_and_run("shop").await;
    let detail = service.get("shop", &format!("/turns/{turn}")).await;
    assert_eq!(detail["turn"]["state"], "waiting");
    let gate = detail["gates"][0]["id"].as_str().unwrap().replace('/', "%2F");
    // A client that was connected before continues after the last event that it saw.
    let path = format!("/turns/{turn}/events");
    let mut first = service.request("shop", Method::GET, &path).send().await.unwrap();
    let (name, id) = next_event(&mut first).await;
    assert_eq!(name, "reset");
    let decision = json!({"choice": "approve-edited", "arguments": {"text": "two orders"}});
    let (status, decided) =
        service.post("shop", &format!("/gates/{gate}/decision"), &decision).await;
    assert_eq!(status, StatusCode::OK, "{decided}");
    assert_eq!(decided["decidedBy"], "client of shop");
    let request = service.request("shop", Method::GET, &path).header("last-event-id", id);
    let mut resumed = request.send().await.unwrap();
    assert_eq!(next_event(&mut resumed).await.0, "change");
    service.run_next("shop").await;
    loop {
        match next_event(&mut resumed).await.0.as_str() {
            "change" => {}
            other => break assert_eq!(other, "end"),
        }
    }
    let detail = service.get("shop", &format!("/turns/{turn}")).await;
    assert_eq!(detail["turn"]["state"], "completed", "{detail}");
    assert!(detail.to_string().contains("two orders"), "{detail}");
    service.stop().await;
}

/// The name and the id of the last event of what a stream sends next.
async fn next_event(response: &mut reqwest::Response) -> (String, String) {
    let mut text = String::new();
    loop {
        let chunk = tokio::time::timeout(Duration::from_secs(30), response.chunk()).await;
        let chunk = chunk.unwrap().unwrap().unwrap_or_else(|| panic!("the stream ended: {text}"));
        text.push_str(&String::from_utf8_lossy(&chunk));
        let field = |name: &str| text.lines().rev().find_map(|it| it.strip_prefix(name));
        if text.ends_with("\n\n")
            && let Some(event) = field("event: ")
        {
            return (event.to_owned(), field("id: ").unwrap_or_default().to_owned());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_are_read_by_range() {
    let service = TestService::start(Access::Submit, ServiceLimits::default()).await;
    let turn = service.submit_and_run("shop").await;
    let detail = service.get("shop", &format!("/turns/{turn}")).await;
    let handle = detail["artifacts"][0]["handle"].as_str().unwrap();
    let path = format!("/turns/{turn}/artifacts/{handle}/content");
    let whole: String = (0..1000).map(|line| format!("{line} {}\n", marker("shop"))).collect();
    let read = |range: &str| {
        let request = service.request("shop", Method::GET, &path).header("range", range);
        async { request.send().await.unwrap() }
    };
    let response = service.request("shop", Method::GET, &path).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["accept-ranges"], "bytes");
    assert_eq!(response.content_length(), Some(whole.len() as u64));
    let tag = response.headers()["etag"].clone();
    assert_eq!(response.text().await.unwrap(), whole);
    let part = read("bytes=100-299").await;
    assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT);
    let expected = format!("bytes 100-299/{}", whole.len());
    assert_eq!(part.headers()["content-range"], expected.as_str());
    assert_eq!(part.text().await.unwrap(), whole.get(100..300).unwrap());
    assert_eq!(read("bytes=-7").await.text().await.unwrap(), whole.get(whole.len() - 7..).unwrap());
    let outside = read(&format!("bytes={}-", whole.len())).await;
    assert_eq!(outside.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    for (condition, status) in
        [(tag.to_str().unwrap(), StatusCode::PARTIAL_CONTENT), ("\"another\"", StatusCode::OK)]
    {
        let request = service.request("shop", Method::GET, &path).header("range", "bytes=0-9");
        let response = request.header("if-range", condition).send().await.unwrap();
        assert_eq!(response.status(), status, "{condition}");
    }
    let lines = format!("/turns/{turn}/artifacts/{handle}/lines?start=500&count=2");
    let page = service.get("shop", &lines).await;
    assert_eq!(page["lines"][0]["text"], format!("500 {}", marker("shop")), "{page}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_has_guidance_and_a_queued_turn_is_cancelled() {
    let service = TestService::start(Access::Submit, ServiceLimits::default()).await;
    let turn = service.submit_and_run("shop").await;
    let gates = service.get("shop", "/gates").await;
    let gate = gates[0]["id"].as_str().unwrap().replace('/', "%2F");
    let path = format!("/gates/{gate}/decision");
    let denial = json!({"choice": "deny", "guidance": "Not on Sundays."});
    assert_eq!(service.post("shop", &path, &denial).await.0, StatusCode::OK);
    let approval = json!({"choice": "approve"});
    assert_eq!(service.post("shop", &path, &approval).await.0, StatusCode::CONFLICT);
    service.run_next("shop").await;
    let detail = service.get("shop", &format!("/turns/{turn}")).await.to_string();
    assert!(detail.contains("Not on Sundays."), "{detail}");
    let queued = json!({"agent": AGENT, "message": "later", "delaySeconds": 3600});
    let (_, submitted) = service.post("shop", "/turns", &queued).await;
    let queued = format!("/turns/{}", submitted["turn"].as_str().unwrap());
    let (status, _) =
        service.post("shop", &format!("{queued}/cancel"), &json!({"reason": "no"})).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(service.get("shop", &queued).await["turn"]["state"], "cancelled");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_uses_no_more_than_its_share() {
    let limits = ServiceLimits::default().unfinished_turns(2).streams(1).body_bytes(2000);
    let service = TestService::start(Access::Submit, limits).await;
    let submit = json!({"agent": AGENT, "message": "hi"});
    for _ in 0..2 {
        assert_eq!(service.post("shop", "/turns", &submit).await.0, StatusCode::OK);
    }
    let (status, refused) = service.post("shop", "/turns", &submit).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused["code"], "E_API_TOO_MANY_TURNS");
    assert_eq!(service.post("bank", "/turns", &submit).await.0, StatusCode::OK, "others can");

    let events = |tenant: &str| service.request(tenant, Method::GET, "/events").send();
    let open = events("shop").await.unwrap();
    assert_eq!(open.status(), StatusCode::OK);
    let refused = events("shop").await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(events("bank").await.unwrap().status(), StatusCode::OK, "others can");
    drop(open);
    // The server sees the closed connection when it writes next; how long that takes does not matter here.
    while events("shop").await.unwrap().status() != StatusCode::OK {
        pause().await;
    }

    let long = json!({"agent": AGENT, "message": "x".repeat(3000)});
    let (status, _) = post_text(&service, &long).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    for (wrong, code) in [
        (json!({"agent": AGENT, "message": " "}), StatusCode::BAD_REQUEST),
        (json!({"agent": AGENT, "message": "hi", "priority": 1}), StatusCode::BAD_REQUEST),
        (json!({"agent": AGENT, "message": "hi", "conversation": ""}), StatusCode::BAD_REQUEST),
        (json!({"agent": "nobody", "message": "hi"}), StatusCode::NOT_FOUND),
        (json!({"message": "hi"}), StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        assert_eq!(post_text(&service, &wrong).await.0, code, "{wrong}");
    }
    service.stop().await;
}

async fn post_text(service: &TestService, body: &Value) -> (StatusCode, String) {
    let request = service.request("bank", Method::POST, "/turns").json(body);
    let response = request.send().await.unwrap();
    (response.status(), response.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_a_tenant_at_the_same_time_are_limited() {
    let service = TestService::start(Access::Submit, ServiceLimits::default().requests(0)).await;
    let response = service.request("shop", Method::GET, "/turns").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_says_how_to_authenticate() {
    let service = TestService::start(Access::Submit, ServiceLimits::default()).await;
    let url = format!("{}/openapi.json", service.url);
    let document: Value = service.client.get(url).send().await.unwrap().json().await.unwrap();
    assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    assert_eq!(document["servers"][0]["url"], "/v1");
    assert!(!document["paths"]["/turns"]["post"]["requestBody"].is_null());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_refused_with_a_code() {
    let service = TestService::start(Access::Submit, ServiceLimits::default()).await;
    for body in [json!({"agent": AGENT}), json!({"agent": 3, "message": "Hi"}), json!([])] {
        let (status, text) = post_text(&service, &body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{text}");
        let problem: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(problem["code"], "E_API_INVALID_REQUEST", "{text}");
    }
    for path in ["/turns?limit=many", "/turns/%ff%fe", "/turns/turn/steps/many/request"] {
        let response = service.request("shop", Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{path}");
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["code"], "E_API_INVALID_REQUEST", "{problem}");
    }
    service.stop().await;
}

/// A client whose connection was lost, or whose server died, does not know whether its decision was stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_is_repeated_gets_the_same_response() {
    for decision in [
        json!({"choice": "approve"}),
        json!({"choice": "approve", "always": {"scope": "turn"}}),
        json!({"choice": "approve-edited", "arguments": {"text": "another order"}}),
        json!({"choice": "deny", "guidance": " Ask first. "}),
        json!({"choice": "deny"}),
    ] {
        let service = TestService::start(Access::Submit, ServiceLimits::default()).await;
        service.submit_and_run("shop").await;
        let gates = service.get("shop", "/gates").await;
        let gate = gates[0]["id"].as_str().unwrap().replace('/', "%2F");
        let path = format!("/gates/{gate}/decision");
        let first = service.post("shop", &path, &decision).await;
        assert_eq!(first.0, StatusCode::OK, "{decision}: {}", first.1);
        assert_eq!(service.post("shop", &path, &decision).await, first, "{decision}");
        // Also when the turn has gone on, and a different decision never.
        service.run_next("shop").await;
        assert_eq!(service.post("shop", &path, &decision).await, first, "{decision}");
        for other in [
            json!({"choice": "resolve", "value": false}),
            json!({"choice": "approve-edited", "arguments": {"text": "something else"}}),
            json!({"choice": "deny", "guidance": "Never."}),
        ] {
            let (status, refused) = service.post("shop", &path, &other).await;
            assert_eq!(status, StatusCode::CONFLICT, "{other}: {refused}");
            assert_eq!(refused["code"], "E_API_GATE_CLOSED");
        }
        service.stop().await;
    }
}

/// The store refuses them, which is no failure of the service.
#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_with_control_characters_is_an_invalid_request() {
    let service = TestService::start(Access::Submit, ServiceLimits::default()).await;
    for conversation in ["a\0b", "\u{1b}[31m", "a\nb"] {
        let submit = json!({"agent": AGENT, "message": "hi", "conversation": conversation});
        let (status, refused) = service.post("shop", "/turns", &submit).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{refused}");
        assert_eq!(refused["code"], "E_API_INVALID_REQUEST");
    }
    service.stop().await;
}
