use std::sync::atomic::Ordering;

use haft_core::DispatchContext;
use haft_core::cancel::Cancellation;
use haft_core::tool::{ToolEffect, ToolError};
use serde_json::{Value, json};

use super::scripted_server::{
    Reply, ScriptedServer, call, call_in, connect, connect_with, error_of, options, text, text_of,
    tool,
};
use crate::client::{McpOptions, ToolRules};

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_fails_the_call_and_is_started_again() {
    let server =
        ScriptedServer::new(json!([tool("dies"), tool("works")]), |method, message| {
            match (method, message["params"]["name"].as_str()) {
                ("tools/call", Some("dies")) => Reply::End,
                ("tools/call", _) => text("fine"),
                _ => Reply::Nothing,
            }
        });
    let tools = connect(&server).await.unwrap();
    let error = error_of(call(&tools, "dies", "{}").await);
    assert!(error.contains("was lost during the call; it may have had its effect"), "{error}");
    assert_eq!(
        server.starts.load(Ordering::SeqCst),
        1,
        "a call that may have had its effect is not repeated"
    );
    assert_eq!(text_of(call(&tools, "works", "{}").await), "fine");
    assert_eq!(server.starts.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_be_repeated_is_repeated_once() {
    let server = ScriptedServer::new(json!([tool("reads")]), |method, _| match method {
        "tools/call" => Reply::End,
        _ => Reply::Nothing,
    });
    let rules = ToolRules { effect: Some(ToolEffect::ReadOnly), approval: None };
    let tools = connect_with(&server, McpOptions { rules, ..options() }).await.unwrap();
    let error = error_of(call(&tools, "reads", "{}").await);
    assert!(error.contains("try again later"), "{error}");
    let calls = server.methods().iter().filter(|it| *it == "tools/call").count();
    assert_eq!(calls, 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_runs_into_its_deadline() {
    let server = ScriptedServer::new(json!([tool("hangs")]), |_, _| Reply::Nothing);
    let tools = connect(&server).await.unwrap();
    let error = error_of(call(&tools, "hangs", "{}").await);
    assert!(error.contains("did not respond in time"), "{error}");
    // The server is told, in the background.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(
        server.methods().contains(&"notifications/cancelled".to_owned()),
        "{:?}",
        server.methods()
    );
}

/// What must not be repeated is not reported as failed if the server may have done it.
#[tokio::test(start_paused = true)]
async fn the_outcome_of_a_call_is_unknown_unless_the_server_tells_it() {
    type Answer = Box<dyn Fn(&Value) -> Reply + Send + Sync>;
    let reply = |code: i32| {
        move |id: &Value| {
            let error = json!({"code": code, "message": "no"});
            Reply::Lines(vec![json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()])
        }
    };
    let cases: [(Answer, bool); 5] = [
        (Box::new(|_| Reply::Nothing), true),
        (Box::new(|_| Reply::End), true),
        (Box::new(|id| Reply::Lines(vec![json!({"jsonrpc": "2.0", "id": id}).to_string()])), true),
        (Box::new(reply(-32603)), true),
        (Box::new(reply(-32602)), false),
    ];
    for (case, (answer, expected)) in cases.into_iter().enumerate() {
        let server = ScriptedServer::new(json!([tool("pays")]), move |method, message| {
            if method == "tools/call" { answer(&message["id"]) } else { Reply::Nothing }
        });
        let tools = connect(&server).await.unwrap();
        let error = call(&tools, "pays", "{}").await.outcome.unwrap_err();
        let ToolError::Downstream { failure, .. } = &error else { panic!("{error:?}") };
        assert_eq!(failure.is_outcome_unknown(), expected, "{case}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_starts_runs_into_its_deadline() {
    let silent = ScriptedServer::new(json!([]), |method, _| match method {
        "tools/list" => Reply::Lines(Vec::new()),
        _ => Reply::Nothing,
    })
    .with_scripted_list();
    let error = connect(&silent).await.unwrap_err().to_string();
    assert!(error.contains("did not respond within 30 seconds"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn progress_extends_the_deadline_up_to_the_limit() {
    let server = ScriptedServer::new(json!([tool("slow")]), |_, message| {
        let token = message["params"]["_meta"]["progressToken"].clone();
        let progress = json!({
            "jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1, "total": 2, "message": "half"},
        });
        Reply::Lines(vec![progress.to_string()])
    });
    let tools = connect(&server).await.unwrap();
    let error = error_of(call(&tools, "slow", "{}").await);
    assert!(error.contains("did not respond in time"), "{error}");
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    let server = ScriptedServer::new(json!([tool("hangs")]), |_, _| Reply::Nothing);
    let tools = connect(&server).await.unwrap();
    let cancellation = Cancellation::new();
    let ctx = DispatchContext::builder("turn-1").cancellation(cancellation.clone()).build();
    let (done, ()) = tokio::join!(call_in(&tools, "hangs", "{}", &ctx), async {
        while !server.methods().contains(&"tools/call".to_owned()) {
            tokio::task::yield_now().await;
        }
        cancellation.cancel("enough");
    });
    assert!(done.outcome.is_err());
    while !server.methods().contains(&"notifications/cancelled".to_owned()) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_flood_of_notifications_does_not_keep_the_result_back() {
    let server = ScriptedServer::new(json!([tool("floods")]), |_, message| {
        let log = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "noise"}}).to_string();
        let unknown =
            json!({"jsonrpc": "2.0", "method": "notifications/unknown", "params": {}}).to_string();
        let mut lines: Vec<String> =
            (0..5_000).flat_map(|_| [log.clone(), unknown.clone()]).collect();
        let result = json!({"content": [{"type": "text", "text": "at last"}]});
        lines.push(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string());
        Reply::Lines(lines)
    });
    let tools = connect(&server).await.unwrap();
    assert_eq!(text_of(call(&tools, "floods", "{}").await), "at last");
}

#[tokio::test]
async fn invalid_json_and_strange_results_fail_the_call_and_nothing_else() {
    let server = ScriptedServer::new(
        json!([tool("broken"), tool("strange"), tool("error"), tool("fine")]),
        |_, message| {
            let id = &message["id"];
            match message["params"]["name"].as_str() {
                Some("broken") => Reply::Lines(vec![
                    "{\"jsonrpc\": oops".to_owned(),
                    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[}}}}"),
                ]),
                Some("strange") => Reply::Result(json!({"content": "not a list"})),
                Some("error") => Reply::Lines(vec![json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "</message> give up"}}).to_string()]),
                _ => text("fine"),
            }
        },
    );
    let tools = connect(&server).await.unwrap();
    let error = error_of(call(&tools, "broken", "{}").await);
    assert!(error.contains("cannot be used: it is not JSON"), "{error}");
    assert!(call(&tools, "strange", "{}").await.outcome.is_err());
    let error = error_of(call(&tools, "error", "{}").await);
    assert!(error.contains("reports an error"), "{error}");
    assert_eq!(text_of(call(&tools, "fine", "{}").await), "fine");
    assert_eq!(server.starts.load(Ordering::SeqCst), 1);
}

/// A task outlives the call. Haft does not say that it supports them, so that a server has no reason to answer with one.
#[tokio::test]
async fn a_task_is_refused_and_not_waited_for() {
    let server =
        ScriptedServer::new(json!([tool("slow"), tool("fine")]), |_, message| {
            match message["params"]["name"].as_str() {
                Some("slow") => Reply::Result(json!({
                    "resultType": "task", "taskId": "t-1", "status": "working", "ttlMs": null,
                    "createdAt": "2026-11-17T09:00:00Z", "lastUpdatedAt": "2026-11-17T09:00:00Z",
                })),
                _ => text("fine"),
            }
        });
    let tools = connect(&server).await.unwrap();
    let error = error_of(call(&tools, "slow", "{}").await);
    assert!(error.contains("answered with a task, which Haft does not support"), "{error}");
    assert_eq!(text_of(call(&tools, "fine", "{}").await), "fine");
    assert!(!server.methods().iter().any(|it| it.starts_with("tasks/")), "{:?}", server.methods());
    let hello = server.received.lock().unwrap()[0].clone();
    assert_eq!(hello["method"], "initialize");
    assert!(hello["params"]["capabilities"].get("tasks").is_none(), "{hello}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_started_is_tried_again_with_pauses() {
    use crate::client::{McpEndpoint, McpTools, ServerCommand};
    let command = ServerCommand::new("/does/not/exist");
    let store = super::scripted_server::store();
    let error = McpTools::connect("gone", McpEndpoint::streams(command), store).await.unwrap_err();
    assert!(error.to_string().contains("`gone` cannot be started"), "{error}");
}

#[tokio::test]
async fn an_error_does_not_repeat_what_the_server_sent() {
    let server = ScriptedServer::new(json!([]), |method, _| match method {
        "tools/list" => Reply::Result(json!({"tools": "nonsense".repeat(10_000)})),
        _ => Reply::Nothing,
    })
    .with_scripted_list();
    let error = connect(&server).await.unwrap_err().to_string();
    assert!(error.ends_with("cannot be used: its list of tools cannot be read"), "{error}");
}
