use std::sync::{Arc, Mutex};

use haft_core::context::Gates;
use haft_core::gate::{GateError, GateRequest};
use haft_core::{BoxFuture, DispatchContext};
use serde_json::{Value, json};

use super::scripted_server::{
    Reply, ScriptedServer, call_in, connect, error_of, store, text_of, tool,
};
use crate::client::{McpEndpoint, McpTools};

/// Decides every gate in the same way.
struct Decision {
    value: Option<Value>,
    asked: Mutex<Vec<String>>,
}

impl Gates for Decision {
    fn ask<'c>(
        &'c self,
        _: &'c DispatchContext,
        request: GateRequest,
    ) -> BoxFuture<'c, Result<Value, GateError>> {
        self.asked.lock().unwrap().push(format!("{request:?}"));
        let decision = match &self.value {
            Some(value) => Ok(value.clone()),
            None => Err(GateError::Rejected { by: "user".into(), reason: "no".into() }),
        };
        Box::pin(async move { decision })
    }
}

fn context(value: Option<Value>) -> (DispatchContext, Arc<Decision>) {
    let gates = Arc::new(Decision { value, asked: Mutex::default() });
    (DispatchContext::builder("turn-1").gates(Arc::clone(&gates) as Arc<dyn Gates>).build(), gates)
}

/// A server that asks for a name before it responds, by a request of its own.
fn asking_server(method: &'static str, params: Value) -> ScriptedServer {
    let waiting = Arc::new(Mutex::new(Value::Null));
    ScriptedServer::new(json!([tool("greet")]), move |called, message| match called {
        "tools/call" => {
            *waiting.lock().unwrap() = message["id"].clone();
            Reply::Lines(vec![
                json!({"jsonrpc": "2.0", "id": "q", "method": method, "params": params})
                    .to_string(),
            ])
        }
        "" if message["id"] == "q" => {
            let said = message.get("result").or(message.get("error")).unwrap().to_string();
            let result = json!({"content": [{"type": "text", "text": said}]});
            let id = waiting.lock().unwrap().clone();
            Reply::Lines(vec![json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()])
        }
        _ => Reply::Nothing,
    })
}

fn form() -> Value {
    json!({
        "mode": "form", "message": "Your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    })
}

#[tokio::test]
async fn a_question_of_a_server_is_a_gate() {
    let server = asking_server("elicitation/create", form());
    let tools = connect(&server).await.unwrap();
    let (ctx, gates) = context(Some(json!({"name": "Ada"})));
    let said = text_of(call_in(&tools, "greet", "{}", &ctx).await);
    assert_eq!(
        serde_json::from_str::<Value>(&said).unwrap(),
        json!({"action": "accept", "content": {"name": "Ada"}})
    );
    let asked = gates.asked.lock().unwrap().concat();
    assert!(
        asked.contains("The MCP server `s` asks: Your name?") && asked.contains("required"),
        "{asked}"
    );

    let (ctx, _) = context(None);
    let said = text_of(call_in(&tools, "greet", "{}", &ctx).await);
    assert!(said.contains("decline"), "{said}");
    let without_gates = DispatchContext::builder("turn-1").build();
    let said = text_of(call_in(&tools, "greet", "{}", &without_gates).await);
    assert!(said.contains("cancel"), "{said}");
}

#[tokio::test]
async fn an_address_is_shown_and_never_opened() {
    let params = json!({"mode": "url", "message": "Sign in", "url": "https://example.com/in", "elicitationId": "e1"});
    let server = asking_server("elicitation/create", params);
    let tools = connect(&server).await.unwrap();
    let (ctx, gates) = context(Some(json!(true)));
    let said = text_of(call_in(&tools, "greet", "{}", &ctx).await);
    assert!(said.contains("accept") && !said.contains("content"), "{said}");
    assert!(gates.asked.lock().unwrap().concat().contains("https://example.com/in"));
}

#[tokio::test]
async fn samples_and_roots_are_refused() {
    let sampling = json!({"messages": [], "maxTokens": 10});
    for (method, params, word) in
        [("sampling/createMessage", sampling, "sampling"), ("roots/list", json!({}), "roots")]
    {
        let tools = connect(&asking_server(method, params)).await.unwrap();
        let (ctx, _) = context(None);
        let said = text_of(call_in(&tools, "greet", "{}", &ctx).await);
        assert!(said.contains("-32601") && said.contains(word), "{said}");
    }
}

/// A server of 2026-07-28, whose result requires input.
fn requiring_server(requests: Value) -> ScriptedServer {
    ScriptedServer::new(json!([tool("greet")]), move |method, message| match method {
        "server/discover" => Reply::Result(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "ttlMs": 0, "cacheScope": "private",
        })),
        "tools/call" => {
            let params = &message["params"];
            match params["inputResponses"].as_object() {
                None => Reply::Result(
                    json!({"resultType": "input_required", "inputRequests": requests, "requestState": "opaque"}),
                ),
                Some(responses) => {
                    assert_eq!(params["requestState"], "opaque");
                    let text = Value::Object(responses.clone()).to_string();
                    Reply::Result(
                        json!({"resultType": "complete", "content": [{"type": "text", "text": text}]}),
                    )
                }
            }
        }
        _ => Reply::Nothing,
    })
}

async fn connect_auto(server: &ScriptedServer) -> McpTools {
    McpTools::connect("s", McpEndpoint::streams(server.clone()), store()).await.unwrap()
}

#[tokio::test]
async fn a_result_that_requires_input_is_a_gate() {
    let server =
        requiring_server(json!({"who": {"method": "elicitation/create", "params": form()}}));
    let tools = connect_auto(&server).await;
    let (ctx, _) = context(Some(json!({"name": "Ada"})));
    let said = text_of(call_in(&tools, "greet", "{}", &ctx).await);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said, json!({"who": {"action": "accept", "content": {"name": "Ada"}}}));
}

#[tokio::test]
async fn a_result_that_requires_the_model_is_refused() {
    let server = requiring_server(
        json!({"s": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}}),
    );
    let tools = connect_auto(&server).await;
    let (ctx, _) = context(None);
    let error = error_of(call_in(&tools, "greet", "{}", &ctx).await);
    assert!(error.contains("sampling") && error.contains("refuses"), "{error}");
}
