use std::num::NonZeroU32;

use haft_core::DispatchContext;
use haft_core::artifact::{ArtifactKind, SpooledArtifact};
use haft_core::call::ToolResults;
use haft_core::media::{Media, MediaKind};
use haft_core::tool::{Invocation, Spooler, ToolEffect, ToolOutput};
use haft_core::trust::TrustTier;
use serde_json::json;

use super::scripted_server::{
    Reply, ScriptedServer, call, call_in, connect, connect_with, error_of, find, options, store,
    text, text_of, tool,
};
use crate::client::{ApprovalRule, McpEndpoint, McpOptions, McpTools, PrefixPolicy, ToolRules};

#[tokio::test]
async fn a_call_goes_to_the_server_with_its_arguments() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let tools = json!([{"name": "double", "description": "Doubles.", "inputSchema": schema}]);
    let server = ScriptedServer::new(tools, |_, message| {
        let n = message["params"]["arguments"]["n"].as_i64().unwrap();
        text(&(2 * n).to_string())
    });
    let tools = connect(&server).await.unwrap();
    assert_eq!(text_of(call(&tools, "double", r#"{"n": 21}"#).await), "42");
    let refused = error_of(call(&tools, "double", r#"{"n": "many"}"#).await);
    assert!(refused.contains("/n"), "{refused}");
    let calls = server.methods().iter().filter(|it| *it == "tools/call").count();
    assert_eq!(calls, 1, "refused arguments do not reach the server");
    let double = find(&tools, "double");
    assert_eq!(double.input_schema().json_schema(), schema);
    assert_eq!(double.definition_tier(), TrustTier::ThirdPartyPublic);
    assert_eq!((double.effect(), double.requires_approval()), (ToolEffect::Once, None));
}

/// The artifacts of a call, as a turn stores them.
async fn stored(done: Invocation) -> Vec<SpooledArtifact> {
    let requested = done.to_requested(NonZeroU32::MIN);
    let call = Spooler::new(store()).complete_call("turn-1", requested, done).await;
    match call.results {
        Some(ToolResults::Artifacts(artifacts)) => artifacts,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn large_results_are_artifacts_and_large_media_are_media() {
    let long = "line of text\n".repeat(100_000);
    let image = vec![7_u8; 200_000];
    let content = {
        use base64::Engine as _;
        let data = base64::engine::general_purpose::STANDARD.encode(&image);
        json!([{"type": "image", "data": data, "mimeType": "image/png"}, {"type": "text", "text": "a caption"}])
    };
    let expect = long.clone();
    let server = ScriptedServer::new(
        json!([tool("long"), tool("image"), tool("json")]),
        move |_, message| match message["params"]["name"].as_str() {
            Some("long") => text(&long),
            Some("image") => Reply::Result(json!({"content": content})),
            _ => {
                let rows: Vec<_> = (0..20_000).map(|n| json!({"n": n})).collect();
                let copy = json!({"rows": rows}).to_string();
                Reply::Result(
                    json!({"content": [{"type": "text", "text": copy}], "structuredContent": {"rows": rows}}),
                )
            }
        },
    );
    let tools = connect(&server).await.unwrap();

    let artifacts = stored(call(&tools, "long", "{}").await).await;
    assert_eq!(artifacts.len(), 1);
    assert_eq!(artifacts[0].kind(), &ArtifactKind::TEXT);
    assert_eq!(artifacts[0].label(), TrustTier::UNTRUSTED);
    assert!(artifacts[0].reader().read_at(0, expect.len() + 1).await.unwrap() == expect.as_bytes());

    let Ok(ToolOutput::Media(media)) = call(&tools, "image", "{}").await.outcome else { panic!() };
    assert_eq!(
        media.iter().map(Media::kind).collect::<Vec<_>>(),
        [MediaKind::Image, MediaKind::Document]
    );
    assert_eq!(media[0].byte_length(), Some(image.len() as u64));
    assert_eq!(media[0].trust_tier(), TrustTier::ThirdPartyPublic);
    assert_eq!(
        media[1].text(&["text:transcript"]),
        Some(("a caption", TrustTier::ThirdPartyPublic))
    );

    let artifacts = stored(call(&tools, "json", "{}").await).await;
    let kinds: Vec<_> = artifacts.iter().map(|it| it.kind().clone()).collect();
    assert_eq!(
        kinds,
        [ArtifactKind::JSON],
        "the text that repeats the structured value is left out"
    );
}

#[tokio::test]
async fn small_results_are_text_and_errors_are_failures() {
    let server = ScriptedServer::new(
        json!([tool("two"), tool("structured"), tool("fails"), tool("link"), tool("empty")]),
        |_, message| match message["params"]["name"].as_str() {
            Some("two") => Reply::Result(
                json!({"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}),
            ),
            Some("structured") => Reply::Result(
                json!({"content": [{"type": "text", "text": "{ \"a\": 1 }"}], "structuredContent": {"a": 1}}),
            ),
            Some("fails") => Reply::Result(
                json!({"isError": true, "content": [{"type": "text", "text": "no such file"}]}),
            ),
            Some("link") => Reply::Result(
                json!({"content": [{"type": "resource_link", "uri": "file:///a", "name": "a"}]}),
            ),
            _ => Reply::Result(json!({"content": []})),
        },
    );
    let tools = connect(&server).await.unwrap();
    assert_eq!(text_of(call(&tools, "two", "{}").await), "one\n\ntwo");
    assert_eq!(text_of(call(&tools, "structured", "{}").await), r#"{"a":1}"#);
    assert!(error_of(call(&tools, "fails", "{}").await).contains("no such file"));
    assert!(text_of(call(&tools, "link", "{}").await).contains("file:///a"));
    assert_eq!(text_of(call(&tools, "empty", "{}").await), "");
}

#[tokio::test]
async fn annotations_only_tighten_and_the_program_loosens() {
    let annotated = |name: &str, annotations| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": annotations});
    let definitions = json!([
        annotated("reads", json!({"readOnlyHint": true, "idempotentHint": true})),
        annotated("deletes", json!({"destructiveHint": true})),
    ]);
    let server = ScriptedServer::new(definitions, |_, _| text("ok"));
    let tools = connect(&server).await.unwrap();
    assert_eq!(find(&tools, "reads").effect(), ToolEffect::Once, "a server does not loosen");
    assert!(find(&tools, "deletes").requires_approval().is_some());

    let mut options = options();
    let rules = ToolRules { effect: Some(ToolEffect::ReadOnly), approval: None };
    options.tool_rules.insert("reads".to_owned(), rules);
    let rules = ToolRules { effect: None, approval: Some(ApprovalRule::NotRequired) };
    options.tool_rules.insert("deletes".to_owned(), rules);
    let tools = connect_with(&server, options).await.unwrap();
    assert_eq!(find(&tools, "reads").effect(), ToolEffect::ReadOnly);
    assert_eq!(find(&tools, "deletes").requires_approval(), None);
}

#[tokio::test]
async fn names_that_are_taken_get_the_name_of_the_server() {
    let server =
        ScriptedServer::new(json!([tool("read"), tool("write"), tool("read")]), |_, _| text("ok"));
    let names = async |options: McpOptions| {
        let tools = connect_with(&server, options).await.unwrap();
        let built = tools.tools(|name| name == "read");
        let names: Vec<String> = built.iter().map(|it| it.name().to_string()).collect();
        (names, tools.problems().iter().map(|it| it.reason.clone()).collect::<Vec<_>>())
    };
    let twice = "the server offers another tool of this name".to_owned();
    assert_eq!(
        names(options()).await,
        (vec!["s_read".into(), "write".into()], vec![twice.clone()])
    );
    let always = McpOptions { prefix: PrefixPolicy::Always, ..options() };
    assert_eq!(names(always).await.0, ["s_read", "s_write"]);
    let never = McpOptions { prefix: PrefixPolicy::Never, ..options() };
    assert_eq!(
        names(never).await,
        (vec!["write".into()], vec![twice, "the name `read` is taken".into()])
    );
    let only = McpOptions { only: Some(vec!["write".into()]), ..options() };
    assert_eq!(names(only).await.0, ["write"]);
    let except = McpOptions { except: vec!["write".into()], ..options() };
    assert_eq!(names(except).await.0, ["s_read"]);
}

#[tokio::test]
async fn lists_come_in_pages() {
    let server = ScriptedServer::new(json!([]), |method, message| {
        assert_eq!(method, "tools/list");
        match message["params"]["cursor"].as_str() {
            None => Reply::Result(json!({"tools": [tool("a")], "nextCursor": "2"})),
            Some("2") => Reply::Result(json!({"tools": [tool("b")], "nextCursor": "3"})),
            _ => Reply::Result(json!({"tools": [tool("c")]})),
        }
    })
    .with_scripted_list();
    let tools = connect(&server).await.unwrap();
    let names: Vec<_> = tools.offered().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[tokio::test]
async fn pages_that_never_end_are_refused() {
    let server = ScriptedServer::new(json!([]), |_, _| {
        Reply::Result(json!({"tools": [], "nextCursor": "again"}))
    })
    .with_scripted_list();
    let options = McpOptions { max_tools: 10, ..options() };
    let error = connect_with(&server, options).await.unwrap_err().to_string();
    assert!(error.contains("more than 10 tools"), "{error}");
}

#[tokio::test]
async fn a_server_of_2026_is_used_without_a_handshake() {
    let server = ScriptedServer::new(json!([tool("now")]), |method, message| match method {
        "server/discover" => Reply::Result(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "ttlMs": 0, "cacheScope": "private",
        })),
        "tools/list" => Reply::Result(
            json!({"resultType": "complete", "tools": [tool("now")], "ttlMs": 0, "cacheScope": "private"}),
        ),
        _ => {
            assert_eq!(
                message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"],
                "2026-07-28"
            );
            Reply::Result(
                json!({"resultType": "complete", "content": [{"type": "text", "text": "noon"}]}),
            )
        }
    })
    .with_scripted_list();
    let at = McpEndpoint::streams(server.clone());
    let tools = McpTools::connect("s", at, store()).await.unwrap();
    assert_eq!(text_of(call(&tools, "now", "{}").await), "noon");
    assert!(!server.methods().contains(&"initialize".to_owned()));
    assert_eq!(tools.server_description().await.unwrap(), "protocol 2026-07-28");
}

#[tokio::test]
async fn the_trace_of_a_call_goes_to_the_server() {
    const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let server = ScriptedServer::new(json!([tool("now")]), |_, message| {
        text(message["params"]["_meta"]["traceparent"].as_str().unwrap_or("none"))
    });
    let tools = connect(&server).await.unwrap();
    assert_eq!(text_of(call(&tools, "now", "{}").await), "none");
    let traced = DispatchContext::builder("turn-1").traceparent(|| Some(TRACEPARENT.to_owned()));
    assert_eq!(text_of(call_in(&tools, "now", "{}", &traced.build()).await), TRACEPARENT);
}
