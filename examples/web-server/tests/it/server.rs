//! The server, driven by an HTTP client.

use haft::Agent;
use haft::events::EventHub;
use haft::executors::ScriptExecutor;
use haft::stores::TurnDir;
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use web_server::{Server, shop_tools};

/// Starts a server with a store in a directory, and returns its address. It ends with the set of tasks.
async fn serve(store_dir: &TurnDir, tasks: &mut JoinSet<()>) -> String {
    let script = ScriptExecutor::parse(include_str!("../../script.yaml")).unwrap();
    let hub = EventHub::new();
    let builder = Agent::builder(script).dir(store_dir).observer(hub.clone());
    let agent = builder.tools(shop_tools().unwrap()).build().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let routes = Server::new(agent, hub).routes();
    tasks.spawn(async move { axum::serve(listener, routes).await.unwrap() });
    address
}

/// Reads server-sent events until one has this name, and returns its data.
async fn read_until(response: &mut Response, text: &mut String, name: &str) -> Value {
    loop {
        while let Some((event, rest)) = text.split_once("\n\n") {
            let field = |start: &str| {
                event.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_default()
            };
            let found = field("event: ").to_owned();
            let data = field("data: ").to_owned();
            *text = rest.to_owned();
            if found == name {
                return serde_json::from_str(&data).unwrap();
            }
        }
        let chunk = response.chunk().await.unwrap().expect("the stream goes on");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

#[tokio::test]
async fn a_browser_follows_a_turn_and_approves_its_call() {
    let dir = tempfile::tempdir().unwrap();
    let store_dir = TurnDir::open(dir.path()).unwrap();
    let mut tasks = JoinSet::new();
    let address = serve(&store_dir, &mut tasks).await;
    let client = Client::new();
    let url = |path: &str| format!("{address}{path}");

    let body = json!({"prompt": "Order 7 arrived broken."});
    let mut stream = client.post(url("/turns")).json(&body).send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut text = String::new();
    read_until(&mut stream, &mut text, "turnGateOpen").await;

    // Another page shows the question, with the arguments that will run.
    let gates: Value = client.get(url("/gates")).send().await.unwrap().json().await.unwrap();
    let gate = &gates[0];
    let turn = gate["turn"].as_str().unwrap().to_owned();
    assert_eq!(gate["question"], "Refund 250 cents of order 7?");
    assert_eq!(gate["call"]["arguments"], json!({"order": 7, "cents": 250}));
    let settle = url(&format!("/gates/{}", gate["id"].as_str().unwrap()));
    let approve = || client.post(&settle).json(&json!({"approve": true})).send();
    assert_eq!(approve().await.unwrap().status(), StatusCode::NO_CONTENT);
    assert_ne!(approve().await.unwrap().status(), StatusCode::NO_CONTENT, "decided once");

    // The stream goes on where it was, and ends with the turn.
    read_until(&mut stream, &mut text, "turnEnd").await;
    while stream.chunk().await.unwrap().is_some() {}
    let shown = client.get(url(&format!("/turns/{turn}"))).send().await.unwrap();
    let shown: Value = shown.json().await.unwrap();
    let expected = json!({"outcome": "completed", "text": "Done: refunded 250 cents of order 7."});
    assert_eq!(shown, expected);

    // A new process knows the turn as well.
    let other = serve(&store_dir, &mut tasks).await;
    let shown = client.get(format!("{other}/turns/{turn}")).send().await.unwrap();
    assert_eq!(shown.json::<Value>().await.unwrap(), expected);
    let unknown = client.get(format!("{other}/turns/none")).send().await.unwrap();
    assert_eq!(unknown.status(), StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_denial_reaches_the_model() {
    let dir = tempfile::tempdir().unwrap();
    let store_dir = TurnDir::open(dir.path()).unwrap();
    let mut tasks = JoinSet::new();
    let address = serve(&store_dir, &mut tasks).await;
    let client = Client::new();
    let body = json!({"prompt": "Order 7 arrived broken."});
    let turns = format!("{address}/turns");
    let mut stream = client.post(&turns).json(&body).send().await.unwrap();
    let mut text = String::new();
    let gate = read_until(&mut stream, &mut text, "turnGateOpen").await;
    let gate = format!("{address}/gates/{}", gate["gateId"].as_str().unwrap());
    let denial = json!({"approve": false, "reason": "ask for a photo first"});
    assert!(client.post(gate).json(&denial).send().await.unwrap().status().is_success());
    while let Some(chunk) = stream.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(text.contains("ask for a photo first"), "{text}");
}
