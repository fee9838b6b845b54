//! Results that do not fit the client.

use haft_mcp::{AnswerLimits, ClientProfile};
use serde_json::{Value, json};

use crate::peer::{Chain, assert_fits, handles, proxy, text_result, texts};

fn long_text() -> String {
    (0..20_000).map(|n| format!("line {n}: \"quoted\" \\ é 🦀\n")).collect()
}

#[tokio::test]
async fn a_large_text_is_stored_and_queried() {
    for client in [
        ClientProfile::ClaudeCode,
        ClientProfile::Codex,
        ClientProfile::Cursor,
        ClientProfile::Generic,
    ] {
        let mut chain = Chain::new(proxy().answer_limits(client.limits()));
        let answer = chain.call(text_result(&long_text())).await;
        assert_fits(&answer, client.limits());
        let text = texts(&answer["result"]);
        assert!(text.contains("line 0: \"quoted\" \\ é 🦀\nline 1:"), "{text}");
        let handle = handles(&answer["result"]).remove(0);
        let pattern = json!({"callId": handle, "pattern": "line 19999:"});
        let (found, is_error) = chain.query("artifact_grep", pattern).await;
        assert!(found.contains("line 19999: \"quoted\" \\ é 🦀") && !is_error, "{found}");
        let (listed, _) = chain.query("artifact_info", json!({})).await;
        assert!(listed.contains(&handle) && listed.contains("of get"), "{listed}");
        let (unknown, is_error) =
            chain.query("artifact_read", json!({"callId": "ffffffffffff"})).await;
        assert!(is_error && unknown.contains("artifact_info"), "{unknown}");
        let (all, _) = chain
            .query("artifact_read", json!({"callId": handle, "start": 1, "end": 20_000}))
            .await;
        assert!(client.limits().fits(&all));
    }
}

#[tokio::test]
async fn a_structured_result_is_passed_whole_or_stored_once() {
    let mut chain = Chain::new(proxy());
    let small =
        json!({"content": [{"type": "text", "text": "{\"a\":1}"}], "structuredContent": {"a": 1}});
    assert_eq!(chain.call(small.clone()).await["result"], small);
    let rows: Vec<Value> =
        (0..5_000).map(|n| json!({"id": n, "name": format!("row {n}")})).collect();
    let large = json!({"rows": rows, "has_more": true});
    let both = json!({"content": [{"type": "text", "text": large.to_string()}], "structuredContent": large});
    let only = json!({"content": [], "structuredContent": large});
    for result in [both, only] {
        let answer = chain.call(result).await;
        assert_fits(&answer, AnswerLimits::GENERIC);
        assert!(answer["result"].get("structuredContent").is_none());
        assert!(texts(&answer["result"]).contains("not all there is"), "{answer}");
        let handles = handles(&answer["result"]);
        assert_eq!(handles.len(), 1, "{answer}");
        let query = json!({"callId": handles[0], "query": "$.rows[4321].name"});
        let (found, is_error) = chain.query("artifact_query", query).await;
        assert!(found.contains("row 4321") && !is_error, "{found}");
    }
    // Together they are too long, though each of them fits.
    let text = "word ".repeat(5_000);
    let answer = chain
        .call(json!({"content": [{"type": "text", "text": text}], "structuredContent": text}))
        .await;
    assert!(answer["result"].get("structuredContent").is_none());
    assert_eq!(texts(&answer["result"]), text);
}

#[tokio::test]
async fn many_small_texts_become_one_result_and_many_large_ones_are_bounded() {
    let mut chain = Chain::new(proxy());
    let items: Vec<Value> = (0..2_000)
        .map(|n| json!({"type": "text", "text": format!("item {n} of the list")}))
        .collect();
    let answer = chain.call(json!({"content": items})).await;
    assert_fits(&answer, AnswerLimits::GENERIC);
    let handles = handles(&answer["result"]);
    assert_eq!(handles.len(), 1);
    let (found, _) =
        chain.query("artifact_grep", json!({"callId": handles[0], "pattern": "item 1999 "})).await;
    assert!(found.contains("item 1999 of the list"), "{found}");
    let items: Vec<Value> =
        (0..40).map(|n| json!({"type": "text", "text": format!("{n} ").repeat(20_000)})).collect();
    let answer = chain.call(json!({"content": items})).await;
    assert_fits(&answer, AnswerLimits::GENERIC);
    assert!(texts(&answer["result"]).contains("more parts"), "{answer}");
    let (listed, _) = chain.query("artifact_info", json!({})).await;
    assert_eq!(listed.lines().count(), 41, "all of them are stored");
}

#[tokio::test]
async fn errors_have_a_limit_of_their_own() {
    let mut chain = Chain::new(proxy());
    let short = json!({"content": [{"type": "text", "text": "it is broken"}], "isError": true});
    assert_eq!(chain.call(short.clone()).await["result"], short);
    let text = "at frame 12 of the stack\n".repeat(500);
    let answer =
        chain.call(json!({"content": [{"type": "text", "text": text}], "isError": true})).await;
    assert_eq!(answer["result"]["isError"], true);
    let shown = texts(&answer["result"]);
    assert!(shown.len() <= AnswerLimits::GENERIC.error_bytes, "{}", shown.len());
    assert_eq!(handles(&answer["result"]).len(), 1);
}

#[tokio::test]
async fn images_pass_and_very_large_ones_are_named() {
    let mut chain = Chain::new(proxy());
    let image = |bytes: usize| {
        let data = haft_core::media::encode_base64(&vec![7; bytes]);
        json!({"type": "image", "mimeType": "image/png", "data": data})
    };
    for bytes in [10, 100_000, 1_000_000] {
        let result = json!({"content": [{"type": "text", "text": "see"}, image(bytes)]});
        assert_eq!(chain.call(result.clone()).await["result"], result);
    }
    let answer = chain
        .call(json!({"content": [image(5 * 1024 * 1024), {"type": "text", "text": "see"}]}))
        .await;
    assert!(texts(&answer["result"]).contains("5242880 bytes of image/png"), "{answer}");
    let mixed = json!({"content": [image(100_000), {"type": "text", "text": long_text()}]});
    let answer = chain.call(mixed.clone()).await;
    assert_eq!(answer["result"]["content"][0], mixed["content"][0]);
    assert_eq!(handles(&answer["result"]).len(), 1);
}

#[tokio::test]
async fn a_large_resource_stays_a_resource() {
    let mut chain = Chain::new(proxy());
    let embedded =
        json!({"type": "resource", "resource": {"uri": "file:///a.txt", "text": long_text()}});
    let answer = chain.call(json!({"content": [embedded]})).await;
    assert_fits(&answer, AnswerLimits::GENERIC);
    assert_eq!(handles(&answer["result"]).len(), 1);
    let read = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///a.txt"}});
    chain.client.write(&read).await;
    chain.server.read().await;
    let contents = json!([{"uri": "file:///a.txt", "mimeType": "text/plain", "text": long_text()}]);
    let message = json!({"jsonrpc": "2.0", "id": 1, "result": {"contents": contents}});
    let (server, client) = (&mut chain.server, &mut chain.client);
    let ((), answer) = tokio::join!(server.write(&message), client.read());
    let item = &answer["result"]["contents"][0];
    assert_eq!(item["uri"], "file:///a.txt");
    let text = item["text"].as_str().unwrap();
    assert!(AnswerLimits::GENERIC.fits(text) && text.contains("callId `"), "{text}");
}
