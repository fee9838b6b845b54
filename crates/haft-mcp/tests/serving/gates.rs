//! Questions of tools, as clients of both lifecycles answer them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft::turn::GateRequest;
use haft::{CallContext, Tool, ToolFailure};
use haft_core::tool::{CallPreview, ToolEffect};
use haft_mcp::McpServer;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitationAction, InputRequiredResult,
};
use rmcp::service::RunningService;
use serde_json::{Value, json};

use crate::client::{LIFECYCLES, TestClient, call, connect, none, text};

/// A server with a tool that requires approval, and one that asks for a name. The counter counts deployments.
fn server() -> (McpServer, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("Deploy now?");
    let deploy = deploy.handler(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        "deployed"
    });
    let ask = Tool::builder("ask")
        .description("Asks.")
        .effect(ToolEffect::ReadOnly)
        .input(haft_core::schema::object());
    let ask = ask.handler(async |_: haft::Args, ctx: CallContext| {
        let schema = json!({
            "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"],
        });
        let request = GateRequest::new("Who are you?").payload(json!({"name": "who"}));
        let reply = ctx.ask(request.schema(schema)).await?;
        let name = reply.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok::<_, ToolFailure>(format!("Hello, {name}!"))
    });
    let server = McpServer::builder("test");
    let server = server.tool(deploy.build().unwrap()).tool(ask.build().unwrap());
    (server.build().unwrap(), count)
}

fn user(action: ElicitationAction, content: Value) -> TestClient {
    TestClient { reply: Some((action, content)), ..TestClient::default() }
}

#[tokio::test]
async fn an_approval_is_asked_of_the_user_of_the_client() {
    for lifecycle in LIFECYCLES {
        let (server, count) = server();
        let approving = user(ElicitationAction::Accept, json!({"approve": true}));
        let client = connect(&server, approving.clone(), lifecycle).await;
        assert_eq!(text(&call(&client, "deploy", none()).await), "deployed");
        let asked = serde_json::to_value(&approving.asked.lock().unwrap()[0]).unwrap();
        assert!(asked["message"].as_str().unwrap().contains("Deploy now?"), "{asked}");
        for (action, content) in [
            (ElicitationAction::Accept, json!({"approve": false})),
            (ElicitationAction::Decline, Value::Null),
            (ElicitationAction::Cancel, Value::Null),
        ] {
            let client = connect(&server, user(action, content), lifecycle).await;
            let refused = call(&client, "deploy", none()).await;
            assert_eq!(refused.is_error, Some(true), "{refused:?}");
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn what_a_call_would_change_is_part_of_the_question() {
    let tool = Tool::builder("rename").description("Renames.").requires_approval("Rename it?");
    let diff = "-name = \"old\"\n+name = \"new\u{202e}\u{1b}[2J\"\n";
    let tool = tool.preview(move |_: haft::Args| Ok(CallPreview::diff(diff)));
    let tool = tool.handler(|| "renamed").build().unwrap();
    for lifecycle in LIFECYCLES {
        let server = McpServer::builder("test").tool(tool.clone()).build().unwrap();
        let approving = user(ElicitationAction::Accept, json!({"approve": true}));
        let client = connect(&server, approving.clone(), lifecycle).await;
        assert_eq!(text(&call(&client, "rename", none()).await), "renamed");
        let asked = serde_json::to_value(&approving.asked.lock().unwrap()[0]).unwrap();
        assert_eq!(
            asked["message"],
            "Rename it?\n\n-name = \"old\"\n+name = \"new\\u{202e}\\u{1b}[2J\"\n\nrename {}"
        );
    }
}

#[tokio::test]
async fn a_client_that_cannot_ask_gets_an_error() {
    let (server, count) = server();
    let client = connect(&server, TestClient::default(), "2025-11-25").await;
    let refused = call(&client, "deploy", none()).await;
    assert!(text(&refused).contains("cannot ask its user"), "{}", text(&refused));
    let client = connect(&server, TestClient::default(), "2026-07-28").await;
    let refused = client.call_tool(CallToolRequestParams::new("deploy")).await.unwrap_err();
    assert!(refused.to_string().contains("Missing required client capability"), "{refused}");
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_question_of_a_handler_has_its_schema_and_its_key() {
    for lifecycle in LIFECYCLES {
        let (server, _) = server();
        let ada = user(ElicitationAction::Accept, json!({"name": "Ada"}));
        let client = connect(&server, ada.clone(), lifecycle).await;
        assert_eq!(text(&call(&client, "ask", none()).await), "Hello, Ada!");
        let asked = serde_json::to_value(&ada.asked.lock().unwrap()[0]).unwrap();
        assert_eq!(asked["requestedSchema"]["required"], json!(["name"]));
    }
}

/// Calls once, and returns the questions.
async fn questions(
    client: &RunningService<RoleClient, TestClient>,
    params: CallToolRequestParams,
) -> InputRequiredResult {
    match client.peer().call_tool_once(params).await.unwrap() {
        CallToolResponse::InputRequired(result) => result,
        other => panic!("{other:?}"),
    }
}

fn reply(key: &str, content: &Value) -> std::collections::BTreeMap<String, Value> {
    [(key.to_owned(), json!({"action": "accept", "content": content}))].into()
}

#[tokio::test]
async fn a_sealed_state_continues_its_call_and_no_other() {
    let (server, count) = server();
    let client = connect(&server, user(ElicitationAction::Accept, none()), "2026-07-28").await;
    let asked = questions(&client, CallToolRequestParams::new("deploy")).await;
    assert!(asked.input_requests.as_ref().unwrap().contains_key("approval"));
    let state = asked.request_state.unwrap();
    let approve = || reply("approval", &json!({"approve": true}));
    let with = |name: &'static str, state: &str| {
        let params = CallToolRequestParams::new(name).with_input_responses(approve());
        params.with_request_state(state)
    };
    // An approval without a question does not count, and the question is asked.
    let unasked = CallToolRequestParams::new("deploy").with_input_responses(approve());
    questions(&client, unasked).await;
    for refused in [with("deploy", &format!("{state}x")), with("ask", &state)] {
        let refused = client.peer().call_tool_once(refused).await.unwrap_err();
        assert!(refused.to_string().contains("requestState was refused"), "{refused}");
    }
    // A reply that does not fit is asked for again.
    let unfit = CallToolRequestParams::new("deploy").with_request_state(state.as_str());
    let unfit = unfit.with_input_responses(reply("approval", &json!({"approve": "perhaps"})));
    let again = questions(&client, unfit).await;
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let state = again.request_state.unwrap();
    // The client may repeat its request: the call runs once, and has one result.
    for _ in 0..2 {
        let done = client.peer().call_tool_once(with("deploy", &state)).await.unwrap();
        let CallToolResponse::Complete(done) = done else { panic!("{done:?}") };
        assert_eq!(text(&done), "deployed");
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn another_process_continues_a_call_that_waits() {
    let dir = tempfile::tempdir().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let start = || {
        let counted = Arc::clone(&count);
        let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("Deploy?");
        let deploy = deploy.handler(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            "deployed"
        });
        let dir = haft::stores::TurnDir::open(dir.path()).unwrap();
        McpServer::builder("test")
            .tool(deploy.build().unwrap())
            .secret([7; 32])
            .agent(move |agent| agent.dir(&dir))
            .build()
            .unwrap()
    };
    let first = start();
    let client = connect(&first, user(ElicitationAction::Accept, none()), "2026-07-28").await;
    let asked = questions(&client, CallToolRequestParams::new("deploy")).await;
    drop((client, first));
    let client = connect(&start(), user(ElicitationAction::Accept, none()), "2026-07-28").await;
    let params = CallToolRequestParams::new("deploy");
    let params = params.with_input_responses(reply("approval", &json!({"approve": true})));
    let params = params.with_request_state(asked.request_state.unwrap());
    let done = client.peer().call_tool_once(params).await.unwrap();
    assert!(matches!(done, CallToolResponse::Complete(done) if text(&done) == "deployed"));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}
