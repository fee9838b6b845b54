//! Calls and their results.
#![expect(clippy::disallowed_methods, reason = "a peer on a task of its own")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft::stores::{MemorySpoolStore, MemoryStore};
use haft::turn::{ManualClock, Timestamp};
use haft::{CallContext, Tool, ToolFailure};
use haft_core::event::LogLevel;
use haft_core::schema::{object, string};
use haft_core::tool::ToolEffect;
use haft_mcp::server::McpServerBuilder;
use haft_mcp::{AnswerLimits, McpServer};
use rmcp::model::{CallToolRequestParams, ReadResourceRequestParams};
use serde_json::json;

use crate::client::{LIFECYCLES, TestClient, call, connect, handle, none, text};

fn log_lines() -> String {
    (0..100_000).map(|n| format!("line {n} of the log\n")).collect()
}

fn builder() -> McpServerBuilder {
    let greet = Tool::builder("greet")
        .description("Greets.")
        .effect(ToolEffect::ReadOnly)
        .input(object().field("name", string().required()))
        .handler(|args: haft::Args| {
            format!(
                "Hello, {}!",
                args.root()
                    .get("name")
                    .and_then(haft_core::json::ValueRef::as_str)
                    .unwrap_or_default()
            )
        });
    let logs = Tool::builder("logs").description("Returns the log.").handler(log_lines);
    let fail = Tool::builder("fail").description("Fails.");
    let fail = fail.handler(|| Err::<String, _>(ToolFailure::new("it is broken")));
    McpServer::builder("test")
        .tool(greet.build().unwrap())
        .tool(logs.build().unwrap())
        .tool(fail.build().unwrap())
}

#[tokio::test]
async fn small_results_come_whole_and_errors_as_errors() {
    let server = builder().build().unwrap();
    for lifecycle in LIFECYCLES {
        let client = connect(&server, TestClient::default(), lifecycle).await;
        let greeted = call(&client, "greet", json!({"name": "Ada"})).await;
        assert_eq!(text(&greeted), "Hello, Ada!");
        assert_eq!(greeted.is_error, Some(false));
        let meta = greeted.meta.unwrap();
        assert_eq!(meta.get("haft/trust"), Some(&json!("third-party-public")));
        assert_eq!(meta.get("haft/callId").and_then(|it| it.as_str()).map(str::len), Some(64));
        let refused = call(&client, "greet", json!({"name": 5})).await;
        assert!(text(&refused).contains("/name") && refused.is_error == Some(true), "{refused:?}");
        let failed = call(&client, "fail", none()).await;
        assert!(text(&failed).contains("it is broken") && failed.is_error == Some(true));
        let unknown = client.call_tool(CallToolRequestParams::new("nothing")).await;
        assert!(unknown.unwrap_err().to_string().contains("unknown tool"));
    }
}

#[tokio::test]
async fn a_large_result_is_answered_with_a_handle_that_query_tools_know() {
    let server = builder().build().unwrap();
    for lifecycle in LIFECYCLES {
        let client = connect(&server, TestClient::default(), lifecycle).await;
        let before = serde_json::to_string(&client.list_all_tools().await.unwrap()).unwrap();
        let result = call(&client, "logs", none()).await;
        assert!(AnswerLimits::GENERIC.fits(&text(&result)));
        assert!(
            text(&result).contains("line 0 of the log\nline 1 of the log"),
            "{}",
            text(&result)
        );
        let id = handle(&result);
        assert_eq!(id.len(), 32, "128 bits");
        let args = json!({"callId": id, "pattern": "line 99999 "});
        let found = call(&client, "artifact_grep", args).await;
        assert!(text(&found).contains("line 99999 of the log"), "{}", text(&found));
        let listed = call(&client, "artifact_info", none()).await;
        assert!(text(&listed).contains(&id), "{}", text(&listed));
        let uri = format!("haft://artifact/{id}?lines=3-4");
        let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
        let read = serde_json::to_value(&read.contents).unwrap();
        assert_eq!(read[0]["text"], "line 2 of the log\nline 3 of the log");
        let unknown = json!({"callId": "0".repeat(32), "pattern": "x"});
        let unknown = call(&client, "artifact_grep", unknown).await;
        assert!(unknown.is_error == Some(true) && text(&unknown).contains("lifetime of 1 day"));
        let after = serde_json::to_string(&client.list_all_tools().await.unwrap()).unwrap();
        assert_eq!(before, after);
    }
}

#[tokio::test]
async fn a_handle_survives_the_server_and_ends_with_its_lifetime() {
    let clock =
        Arc::new(ManualClock::new("2026-11-17T09:00:00.000000Z".parse::<Timestamp>().unwrap()));
    let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
    let spools = Arc::new(MemorySpoolStore::new());
    let start = || {
        let (store, spools) = (Arc::clone(&store), Arc::clone(&spools));
        let server = builder().clock(Arc::clone(&clock) as _).lifetime(Duration::from_secs(3_600));
        server.agent(move |agent| agent.store(store).spools(spools)).build().unwrap()
    };
    let client = connect(&start(), TestClient::default(), "2025-11-25").await;
    let id = handle(&call(&client, "logs", none()).await);
    drop(client);
    let other = start();
    let client = connect(&other, TestClient::default(), "2026-07-28").await;
    let query = json!({"callId": id, "pattern": "line 5 "});
    let found = call(&client, "artifact_grep", query.clone()).await;
    assert!(text(&found).contains("line 5 of the log"), "{}", text(&found));
    clock.advance(Duration::from_secs(3_601));
    assert_eq!(call(&client, "artifact_grep", query).await.is_error, Some(true));
    // The next call removes what is expired.
    call(&client, "greet", json!({"name": "Ada"})).await;
    let query = haft::stores::TurnQuery::default();
    let turns = haft::stores::TurnStore::turns(&*store, query).await.unwrap();
    assert_eq!(turns.len(), 1, "the turn of the last call");
    assert!(haft::stores::SpoolStore::list(&*spools).await.unwrap().is_empty());
}

#[tokio::test]
async fn clients_without_the_list_cannot_find_results_of_others() {
    let server = builder().build().unwrap().without_artifact_list();
    let client = connect(&server, TestClient::default(), "2026-07-28").await;
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "artifact_info"));
    let id = handle(&call(&client, "logs", none()).await);
    let wrong = call(&client, "artifact_read", json!({"callId": "nothing"})).await;
    assert!(!text(&wrong).contains(&id), "{}", text(&wrong));
    let listed = client.call_tool(CallToolRequestParams::new("artifact_info")).await;
    assert!(listed.is_err());
    let info = call(&client, "artifact_info", json!({"callId": id})).await;
    assert!(text(&info).contains("bytes"), "{}", text(&info));
    assert_eq!(call(&client, "artifact_read", json!({"callId": id})).await.is_error, Some(false));
}

#[tokio::test]
async fn progress_is_reported_before_the_result() {
    let steps = Tool::builder("steps").description("Works.").input(object()).handler(
        |_: haft::Args, ctx: &CallContext| {
            for done in 1..=3 {
                ctx.log(
                    LogLevel::Info,
                    "progress",
                    "",
                    Some(json!({"progress": done, "total": 3})),
                );
            }
            // Progress never falls.
            ctx.log(LogLevel::Info, "progress", "", Some(json!({"progress": 1, "total": 3})));
            "done"
        },
    );
    let server = McpServer::builder("test").tool(steps.build().unwrap()).build().unwrap();
    for lifecycle in LIFECYCLES {
        let test = TestClient::default();
        let client = connect(&server, test.clone(), lifecycle).await;
        assert_eq!(text(&call(&client, "steps", none()).await), "done");
        let seen = test.progress.lock().unwrap().clone();
        assert_eq!(seen, [(1.0, Some(3.0)), (2.0, Some(3.0)), (3.0, Some(3.0))]);
    }
}

#[tokio::test]
async fn a_cancelled_call_stops_its_handler() {
    let stopped = Arc::new(AtomicUsize::new(0));
    let (entered, mut running) = tokio::sync::mpsc::channel(1);
    let seen = Arc::clone(&stopped);
    let wait = Tool::builder("wait").description("Waits.").input(object()).handler(
        move |_: haft::Args, ctx: CallContext| {
            let (seen, entered) = (Arc::clone(&seen), entered.clone());
            async move {
                entered.send(()).await.unwrap();
                ctx.cancellation().cancelled().await;
                seen.fetch_add(1, Ordering::SeqCst);
                "stopped"
            }
        },
    );
    let server = McpServer::builder("test").tool(wait.build().unwrap()).build().unwrap();
    for (number, lifecycle) in LIFECYCLES.into_iter().enumerate() {
        let client = connect(&server, TestClient::default(), lifecycle).await;
        let params = CallToolRequestParams::new("wait");
        let peer = client.peer().clone();
        let call = tokio::spawn(async move { peer.call_tool_once(params).await });
        running.recv().await.unwrap();
        call.abort();
        while stopped.load(Ordering::SeqCst) <= number {
            tokio::task::yield_now().await;
        }
    }
}

#[test]
fn a_tool_cannot_have_the_name_of_a_query_tool() {
    let tool = Tool::builder("artifact_read").description("Mine.").handler(|| "x").build().unwrap();
    let refused = McpServer::builder("test").tool(tool).build().unwrap_err();
    assert!(refused.to_string().contains("artifact_read"));
}
