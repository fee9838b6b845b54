//! Results that are made to exhaust the client.

use std::time::Duration;

use haft_core::tool::{Invocation, ToolError, ToolOutput};
use serde_json::{Value, json};

use super::scripted_server::{Reply, ScriptedServer, call, connect_with, options, tool};
use crate::client::McpOptions;

async fn call_for(result: Value) -> Invocation {
    let server = ScriptedServer::new(json!([tool("t")]), move |method, _| match method {
        "tools/call" => Reply::Result(result.clone()),
        _ => Reply::Nothing,
    });
    // Large results take their time on a machine that is busy.
    let call_timeout = Duration::from_secs(3600);
    let max_call_time = Duration::from_secs(7200);
    let options = McpOptions { call_timeout, max_call_time, ..options() };
    let tools = connect_with(&server, options).await.unwrap();
    call(&tools, "t", "{}").await
}

fn base64_of(bytes: usize) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(vec![7_u8; bytes])
}

/// Each artifact is a file, and its reader an open one.
#[tokio::test]
async fn many_short_texts_are_one_artifact() {
    let content: Vec<Value> =
        (0..20_000).map(|it| json!({"type": "text", "text": format!("text {it}")})).collect();
    let done = call_for(json!({"content": content})).await;
    let Ok(ToolOutput::Artifacts(drafts)) = done.outcome else { panic!("{:?}", done.outcome) };
    assert_eq!(drafts.len(), 1);
    let many: Vec<Value> = (0..2_000)
        .map(|it| match it % 1_000 {
            999 => json!({"type": "text", "text": "x".repeat(100_000)}),
            _ => json!({"type": "resource", "resource": {
                "uri": "memory://a", "mimeType": "application/json", "text": "[1]",
            }}),
        })
        .collect();
    let done = call_for(json!({"content": many})).await;
    let Ok(ToolOutput::Artifacts(drafts)) = done.outcome else { panic!("{:?}", done.outcome) };
    assert_eq!(drafts.len(), 4, "the short ones before each long one are one artifact");
}

/// Comparing each text with a structured value that is parsed each time takes hours for this result.
#[tokio::test]
async fn texts_are_compared_with_a_structured_value_that_is_parsed_once() {
    let structured = json!({"numbers": vec![1; 30_000]});
    let mut content = vec![json!({"type": "text", "text": structured.to_string()})];
    content.resize(100_000, json!({"type": "text", "text": "1"}));
    let done = call_for(json!({"content": content, "structuredContent": structured})).await;
    let Ok(ToolOutput::Artifacts(drafts)) = done.outcome else { panic!("{:?}", done.outcome) };
    assert_eq!(drafts.len(), 1);
}

/// The server has done its work: that its result cannot be used does not make the call one that can be repeated.
#[tokio::test]
async fn a_result_that_cannot_be_used_leaves_the_outcome_unknown() {
    let image = |data: &str| json!({"type": "image", "data": data, "mimeType": "image/png"});
    let task = json!({
        "resultType": "task", "taskId": "t-1", "status": "working", "ttlMs": null,
        "createdAt": "2026-11-17T09:00:00Z", "lastUpdatedAt": "2026-11-17T09:00:00Z",
    });
    let cases = [
        (json!({"content": [image("!!!!")]}), "data that is not base64"),
        (json!({"content": vec![image("AAAA"); 300]}), "more than 256 pieces with media"),
        (json!({"content": vec![image(&base64_of(11 << 20)); 3]}), "more than 33554432 bytes"),
        (json!({"content": [image(&base64_of(17 << 20))]}), "media of more than 16777216 bytes"),
        (task, "answered with a task"),
    ];
    for (result, expected) in cases {
        let error = call_for(result).await.outcome.unwrap_err();
        let ToolError::Downstream { failure, .. } = &error else { panic!("{error:?}") };
        assert!(failure.message().contains(expected), "{expected}: {error}");
        assert!(failure.is_outcome_unknown(), "{expected}: {error}");
    }
    for result in [
        json!({"content": [], "isError": true}),
        json!({"content": [{"type": "text", "text": "no"}], "isError": true}),
    ] {
        let error = call_for(result).await.outcome.unwrap_err();
        let ToolError::Downstream { failure, .. } = &error else { panic!("{error:?}") };
        assert!(!failure.is_outcome_unknown(), "the server says that the call failed: {error}");
    }
}
