//! What passes unchanged, and what happens when a side misbehaves.

use haft_core::artifact::ArtifactKind;
use serde_json::{Value, json};

use crate::peer::{Chain, handles, proxy, text_result, texts, tool};

#[tokio::test]
async fn small_messages_pass_byte_for_byte() {
    let mut chain = Chain::new(proxy());
    for (request, response) in [
        (
            r#"{"id":1 ,"method":"initialize","params":{"protocolVersion":"2025-11-25","x":1.0},"jsonrpc":"2.0"}"#,
            r#"{"result":{"zeta":1,"protocolVersion":"2025-11-25","alpha":[1.50,1e2]},"jsonrpc":"2.0","id":1}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"get","arguments":{"b":1,"a":2}}}"#,
            "{\"jsonrpc\":\"2.0\", \"id\":\"two\",\"result\":{\"structuredContent\":{\"z\":1,\"a\":\"\\u00e9\"},\"content\":[{\"text\":\"\\u00e9\",\"type\":\"text\",\"x-own\":true}],\"isError\":false}}",
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"own/method","params":[1,2]}"#,
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no","data":{"k":null}}}"#,
        ),
    ] {
        chain.client.write_line(request).await;
        assert_eq!(chain.server.read_line().await.trim_end(), request);
        chain.server.write_line(response).await;
        assert_eq!(chain.client.read_line().await.trim_end(), response);
    }
    let progress = r#"{"method":"notifications/progress","jsonrpc":"2.0","params":{"progressToken":1,"progress":0.50}}"#;
    chain.server.write_line(progress).await;
    assert_eq!(chain.client.read_line().await.trim_end(), progress);
    let question =
        r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?"}}"#;
    chain.server.write_line(question).await;
    assert_eq!(chain.client.read_line().await.trim_end(), question);
    let reply = r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#;
    chain.client.write_line(reply).await;
    assert_eq!(chain.server.read_line().await.trim_end(), reply);
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    chain.client.write_line(cancelled).await;
    assert_eq!(chain.server.read_line().await.trim_end(), cancelled);
}

#[tokio::test]
async fn the_list_has_the_tools_of_the_server_and_the_query_tools_and_stays_the_same() {
    let mut chain = Chain::new(proxy().deny("secret*"));
    let typed = json!({
        "name": "typed", "description": "Typed.", "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
    });
    let tools = json!([tool("get"), typed, tool("secret_tool"), tool("artifact_grep")]);
    let before = chain.list(tools.clone()).await;
    let names: Vec<&str> =
        before.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(&names[..4], ["get", "typed", "upstream_artifact_grep", "artifact_info"]);
    assert!(names.contains(&"artifact_read") && names.contains(&"artifact_query"));
    assert_eq!(before[0], tool("get"), "unchanged");
    assert!(before[1].get("outputSchema").is_none() && before[1].get("annotations").is_some());
    let description = before[3]["description"].as_str().unwrap();
    assert!(description.contains("1 day"), "{description}");
    chain.call(text_result(&"x".repeat(100_000))).await;
    assert_eq!(chain.list(tools).await, before);
    // The tool whose name was taken is called by the name that its server knows.
    let call = json!({"jsonrpc": "2.0", "id": 9_000, "method": "tools/call", "params": {"name": "upstream_artifact_grep"}});
    chain.client.write(&call).await;
    assert_eq!(chain.server.read().await["params"]["name"], "artifact_grep");
    let refused = chain.ask("tools/call", json!({"name": "secret_tool"})).await;
    assert_eq!(refused["error"]["code"], -32602);
}

#[tokio::test]
async fn query_tools_have_the_schemas_that_a_model_gets() {
    let mut chain = Chain::new(proxy());
    let listed = chain.list(json!([tool("get")])).await;
    let kinds = [ArtifactKind::TEXT, ArtifactKind::JSON];
    let queries = haft::artifacts::standard_formats().query_tools(&kinds).unwrap();
    let definitions = listed.as_array().unwrap();
    assert_eq!((definitions.len(), queries.len()), (5, 4));
    let annotations =
        json!({"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false});
    for (definition, query) in definitions.iter().skip(1).zip(&queries) {
        assert_eq!(definition["name"], query.name().as_str());
        assert_eq!(definition["inputSchema"], query.input_schema().json_schema());
        assert_eq!(definition["annotations"], annotations);
    }
}

#[tokio::test]
async fn pages_of_a_list_end_with_the_query_tools() {
    let mut chain = Chain::new(proxy());
    for (cursor, next, count) in [(None, Some("two"), 1), (Some("two"), None, 1)] {
        let mut request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
        if let Some(cursor) = cursor {
            request["params"]["cursor"] = cursor.into();
        }
        chain.client.write(&request).await;
        chain.server.read().await;
        let mut result = json!({"tools": [tool(cursor.unwrap_or("one"))]});
        if let Some(next) = next {
            result["nextCursor"] = next.into();
        }
        chain.server.write(&json!({"jsonrpc": "2.0", "id": 1, "result": result})).await;
        let page = chain.client.read().await;
        let tools = page["result"]["tools"].as_array().unwrap();
        assert_eq!(tools.len() > count, next.is_none(), "{page}");
        assert_eq!(page["result"].get("nextCursor").is_some(), next.is_some());
    }
}

#[tokio::test]
async fn a_server_that_dies_fails_its_calls_and_stored_results_stay() {
    let mut chain = Chain::new(proxy());
    let stored = chain.call(text_result(&"the needle\n".repeat(10_000))).await;
    let handle = handles(&stored["result"]).remove(0);
    let call =
        json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "get"}});
    chain.client.write(&call).await;
    chain.server.read().await;
    // It dies in the middle of its answer.
    tokio::io::AsyncWriteExt::shutdown(&mut chain.server.writer).await.unwrap();
    let failed = chain.client.read().await;
    assert_eq!(failed["id"], "x");
    assert!(
        failed["error"]["message"].as_str().unwrap().contains("`upstream` has ended"),
        "{failed}"
    );
    let (text, is_error) = chain.query("artifact_info", json!({"callId": handle})).await;
    assert!(text.contains("10001") && !is_error, "{text}");
}

#[tokio::test]
async fn garbage_fails_its_request_and_nothing_else() {
    let mut chain = Chain::new(proxy());
    chain.server.write_line("not JSON at all").await;
    chain.server.write_line(r#"{"jsonrpc":"2.0","id":77,"result":{"content":[]}}"#).await;
    chain
        .client
        .write(
            &json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "get"}}),
        )
        .await;
    chain.server.read().await;
    chain.server.write_line(r#"{"jsonrpc":"2.0","id":5,"result":{"content":[}}"#).await;
    let failed = chain.client.read().await;
    assert_eq!(failed["id"], 5);
    assert!(failed["error"]["message"].as_str().unwrap().contains("cannot be used"), "{failed}");
    let answer = chain.call(text_result("fine")).await;
    assert_eq!(texts(&answer["result"]), "fine");
    chain.client.write_line("{broken").await;
    assert_eq!(chain.client.read().await["error"]["code"], -32700);
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    let mut chain = Chain::new(proxy());
    chain
        .client
        .write(
            &json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "get"}}),
        )
        .await;
    chain.server.read().await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}});
    chain.client.write(&cancel).await;
    assert_eq!(chain.server.read().await, cancel);
    // A call that no server works on is cancelled nowhere.
    let unknown: Value =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 10}});
    chain.client.write(&unknown).await;
    let answer = chain.call(text_result("next")).await;
    assert_eq!(texts(&answer["result"]), "next");
}
