//! Stored results as arguments.

use serde_json::json;

use crate::peer::{Chain, handles, proxy, text_result, tool};

#[tokio::test]
async fn a_reference_in_a_configured_field_becomes_the_stored_value() {
    let field = "write:/file/content".parse().unwrap();
    let mut chain = Chain::new(proxy().reference_field(field));
    let definition = json!({"name": "write", "description": "Writes.", "inputSchema": {
        "type": "object",
        "properties": {"file": {"type": "object", "properties": {"content": {"type": "string"}}}},
    }});
    let listed = chain.list(json!([definition, tool("get")])).await;
    let content = &listed[0]["inputSchema"]["properties"]["file"]["properties"]["content"];
    assert_eq!(content["anyOf"][0], json!({"type": "string"}));
    assert!(listed[0]["description"].as_str().unwrap().contains("$artifact"));
    let value = json!({"rows": vec!["a row of the result"; 5_000], "deep": {"value": [1, 2, 3]}});
    let stored = chain.call(text_result(&value.to_string())).await;
    let handle = handles(&stored["result"]).remove(0);
    for (reference, expected) in [
        (json!({"$artifact": handle}), json!(value.to_string())),
        (json!({"$artifact": handle, "pointer": "/deep/value"}), json!([1, 2, 3])),
        (json!("plain text"), json!("plain text")),
    ] {
        let arguments = json!({"file": {"content": reference}, "other": {"$artifact": handle}});
        let call = json!({"jsonrpc": "2.0", "id": 70, "method": "tools/call",
            "params": {"name": "write", "arguments": arguments}});
        chain.client.write(&call).await;
        let received = chain.server.read().await;
        assert_eq!(received["params"]["arguments"]["file"]["content"], expected);
        // Only the configured field is resolved.
        assert_eq!(received["params"]["arguments"]["other"], json!({"$artifact": handle}));
    }
    for (reference, why) in [
        (json!({"$artifact": "000000000000"}), "no result"),
        (json!({"$artifact": handle, "pointer": "/nothing"}), "nothing at"),
    ] {
        let params = json!({"name": "write", "arguments": {"file": {"content": reference}}});
        let refused = chain.ask("tools/call", params).await;
        assert!(refused["error"]["message"].as_str().unwrap().contains(why), "{refused}");
    }
}
