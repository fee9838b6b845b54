//! Several servers behind one proxy.

use serde_json::{Value, json};

use crate::peer::{Peer, connect, proxy, run, tool};

struct Several {
    client: Peer,
    servers: [Peer; 2],
}

fn several() -> Several {
    let (builder, one) = connect(proxy(), "one");
    let (builder, two) = connect(builder, "two");
    Several { client: run(builder), servers: [one, two] }
}

impl Several {
    /// Answers the next request of each server in turn.
    async fn answer(&mut self, results: [Value; 2]) {
        for (server, result) in self.servers.iter_mut().zip(results) {
            let asked = server.read().await;
            server.write(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})).await;
        }
    }

    async fn list(&mut self) -> Vec<String> {
        self.client
            .write(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}))
            .await;
        self.answer([
            json!({"tools": [tool("get"), tool("own")]}),
            json!({"tools": [tool("get"), tool("other")]}),
        ])
        .await;
        let listed = self.client.read().await;
        let tools = listed["result"]["tools"].as_array().unwrap().iter();
        tools.map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn servers_are_initialized_as_one() {
    let mut several = several();
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    several.client.write(&initialize).await;
    let result = |version: &str| {
        json!({
            "protocolVersion": version, "capabilities": {"tools": {}, "prompts": {}}, "serverInfo": {"name": "x"},
            "instructions": format!("Speak {version}."),
        })
    };
    several.answer([result("2025-11-25"), result("2025-06-18")]).await;
    let merged = several.client.read().await;
    assert_eq!(merged["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(merged["result"]["capabilities"], json!({"tools": {}}));
    assert_eq!(merged["result"]["instructions"], "Speak 2025-11-25.\n\nSpeak 2025-06-18.");
    several.client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    for server in &mut several.servers {
        assert_eq!(server.read().await["method"], "notifications/initialized");
    }
    several.client.write(&json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/list"})).await;
    assert_eq!(several.client.read().await["error"]["code"], -32601);
}

#[tokio::test]
async fn a_call_reaches_the_server_of_its_tool() {
    let mut several = several();
    let names = several.list().await;
    assert_eq!(&names[..4], ["get", "own", "two_get", "other"]);
    for (name, server, known) in [("get", 0, "get"), ("two_get", 1, "get"), ("other", 1, "other")] {
        let call =
            json!({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name}});
        several.client.write(&call).await;
        let asked = several.servers[server].read().await;
        assert_eq!(asked["params"]["name"], known);
        let result = json!({"content": [{"type": "text", "text": format!("from {server}")}]});
        several.servers[server]
            .write(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
            .await;
        let answer = several.client.read().await;
        assert_eq!((&answer["id"], &answer["result"]), (&json!(name), &result));
    }
}

#[tokio::test]
async fn questions_of_servers_are_told_apart() {
    let mut several = several();
    let question = json!({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": {"message": "?"}});
    let mut seen = Vec::new();
    for server in 0..2 {
        several.servers[server].write(&question).await;
        seen.push(several.client.read().await["id"].clone());
    }
    assert_ne!(seen[0], seen[1]);
    for server in [1, 0] {
        let reply = json!({"jsonrpc": "2.0", "id": seen[server], "result": {"action": "accept", "content": server}});
        several.client.write(&reply).await;
        let received = several.servers[server].read().await;
        assert_eq!((&received["id"], &received["result"]["content"]), (&json!(7), &json!(server)));
    }
}
