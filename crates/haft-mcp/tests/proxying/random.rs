//! Random results: no answer exceeds the limits of the client.

use haft_mcp::ClientProfile;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::peer::{Chain, assert_fits, handles, proxy, tool};

/// Texts of every sort of size: words, digits, letters from anywhere, and JSON.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,12} ",
        "[0-9]{1,20}",
        "[A-Za-z0-9+/]{1,40}",
        "\\PC{1,20}",
        "[{}\\[\\]\",:]{1,10}",
        "[ \n\t]{1,30}",
        Just("\u{0}\"\\ \u{1F980}".to_owned()),
    ];
    (piece, prop_oneof![4 => 1..50_usize, 2 => 50..3_000_usize, 1 => 3_000..6_000_usize])
        .prop_map(|(piece, times)| piece.repeat(times))
}

fn item() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => text().prop_map(|text| json!({"type": "text", "text": text})),
        1 => text().prop_map(|text| json!({"type": "resource", "resource": {"uri": "x:y", "text": text}})),
        1 => (0..60_000_usize).prop_map(|size| {
            json!({"type": "image", "mimeType": "image/png", "data": haft_core::media::encode_base64(&vec![1; size])})
        }),
        1 => Just(json!({"type": "resource_link", "uri": "x:y", "name": "y"})),
    ]
}

fn result() -> impl Strategy<Value = Value> {
    let items = prop_oneof![8 => prop::collection::vec(item(), 0..4), 1 => prop::collection::vec(item(), 4..30)];
    (items, prop::option::of(text()), any::<bool>()).prop_map(|(content, structured, is_error)| {
        let mut result = json!({"content": content, "isError": is_error});
        if let Some(structured) = structured {
            result["structuredContent"] = json!({"value": structured});
        }
        result
    })
}

/// A question about a stored result: the tool and its arguments without the callId.
fn question() -> impl Strategy<Value = (&'static str, Value)> {
    let lines = (1..10_000_u64, 1..10_000_u64);
    prop_oneof![
        lines.prop_map(|(first, count)| (
            "artifact_read",
            json!({"start": first, "end": first + count})
        )),
        (1..100_000_u64).prop_map(|count| ("artifact_read", json!({"end": count}))),
        (1..100_000_i64).prop_map(|count| ("artifact_read", json!({"start": -count}))),
        "[a-z0-9. ]{1,3}"
            .prop_map(|pattern| ("artifact_grep", json!({"pattern": pattern, "context": 50}))),
        Just(("artifact_grep", json!({"pattern": "."}))),
        Just(("artifact_info", json!({}))),
    ]
}

/// `cargo xtask soak` makes ten thousand calls of it.
#[test]
fn no_answer_exceeds_the_limits_of_the_client() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for client in [ClientProfile::Generic, ClientProfile::Codex, ClientProfile::ClaudeCode] {
        let limits = client.limits();
        let mut chain = runtime
            .block_on(async { Chain::new(proxy().answer_limits(limits).max_bytes(1 << 24)) });
        let before = runtime.block_on(chain.list(json!([tool("get")])));
        let chain = std::cell::RefCell::new(chain);
        let config = Config {
            cases: haft_testkit::cases(60),
            failure_persistence: None,
            max_shrink_iters: 50,
            ..Config::default()
        };
        let checked = TestRunner::new(config).run(&(result(), question()), |(result, question)| {
            let mut chain = chain.borrow_mut();
            let answer = runtime.block_on(chain.call(result));
            assert_fits(&answer, limits);
            if let Some(structured) = answer["result"].get("structuredContent") {
                prop_assert!(structured.to_string().len() <= limits.bytes);
            }
            let (name, mut args) = question;
            if let Some(handle) = handles(&answer["result"]).first() {
                args["callId"] = json!(handle);
            }
            let found = runtime.block_on(chain.query(name, args)).0;
            prop_assert!(limits.fits(&found), "{name}: {} bytes", found.len());
            Ok(())
        });
        checked.unwrap();
        let after = runtime.block_on(chain.into_inner().list(json!([tool("get")])));
        assert_eq!(before.to_string(), after.to_string(), "the list of tools has changed");
    }
}
