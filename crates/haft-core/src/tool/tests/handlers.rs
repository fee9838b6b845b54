//! Plain functions as handlers, in every shape.

use bytes::Bytes;
use serde_json::{Value, json};

use super::search;
use crate::media::{Media, MediaFile, MediaKind};
use crate::schema::args::Args;
use crate::tool::context::{CallContext, DispatchContext};
use crate::tool::{Json, Tool, ToolBuilder, ToolFailure, ToolOutput};
use crate::trust::TrustTier;

async fn output(builder: ToolBuilder) -> Result<ToolOutput, String> {
    let ctx = DispatchContext::builder("t").build();
    let run = builder.build().unwrap().executor(&ctx);
    run.call(json!({ "query": "q" })).await.outcome.map_err(|error| error.to_string())
}

#[track_caller]
fn check(output: Result<ToolOutput, String>, expected: &str) {
    match output {
        Ok(ToolOutput::Text(text)) => assert_eq!(text, expected),
        other => panic!("{other:?}"),
    }
}

async fn borrows(args: Value, ctx: &CallContext) -> Result<String, ToolFailure> {
    tokio::task::yield_now().await;
    Ok(format!("{} {}", args["query"], ctx.turn_id()))
}

async fn owns(args: Args, ctx: CallContext) -> String {
    format!("{} {}", args.root().len(), ctx.turn_id())
}

fn plain(args: Args) -> Result<String, std::num::ParseIntError> {
    let _: i32 = args.to_value()["query"].as_str().unwrap_or_default().parse()?;
    drop(args);
    Ok("a number".to_owned())
}

fn plain_with_context(_: Args, ctx: &CallContext) -> String {
    ctx.turn_id().to_owned()
}

/// A client as programs have them: cheap to clone, and used through `&self`.
#[derive(Clone)]
struct Client(&'static str);

impl Client {
    async fn get(&self, path: &str) -> Result<String, std::io::Error> {
        tokio::task::yield_now().await;
        Ok(format!("{}{path}", self.0))
    }
}

#[tokio::test]
async fn async_closures_capture_a_client_in_the_obvious_way() {
    let client = Client("/a/");
    let tool = search().handler(async move |_: Args| client.get("x").await);
    check(output(tool).await, "/a/x");
    let client = Client("/b/");
    let tool = search().handler(move |_: Args| async move { client.get("x").await });
    check(output(tool).await, "/b/x");
    let client = Client("/c/");
    let tool = search().handler(async move |_: Args, ctx: CallContext| {
        client.get(ctx.turn_id()).await.map(|it| it.to_uppercase())
    });
    check(output(tool).await, "/C/T");
    // The handler is called again and again, whatever it does with what it captured.
    let client = Client("/d/");
    let tool = search().handler(async move |_: Args| client.get("x").await).build().unwrap();
    let run = tool.executor(&DispatchContext::builder("t").build());
    for _ in 0..3 {
        assert!(run.call(json!({ "query": "q" })).await.outcome.is_ok());
    }
}

#[tokio::test]
async fn whatever_converts_to_a_boxed_error_is_an_error_of_a_handler() {
    let failed = |builder: ToolBuilder| async { output(builder).await.unwrap_err() };
    let text = |_: Args| Err::<String, _>("in words");
    assert_eq!(failed(search().handler(text)).await, "`search` failed: in words");
    let owned = |_: Args| Err::<String, _>(format!("number {}", 7));
    assert_eq!(failed(search().handler(owned)).await, "`search` failed: number 7");
    let boxed = async |_: Args| -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
        Err("boxed")?
    };
    assert_eq!(failed(search().handler(boxed)).await, "`search` failed: boxed");
    let mixed = |_: Args| -> Result<String, ToolFailure> {
        let number: i32 = "x".parse().map_err(|_| "no number")?;
        Ok(number.to_string())
    };
    assert_eq!(failed(search().handler(mixed)).await, "`search` failed: no number");
}

#[tokio::test]
async fn functions_and_closures_are_handlers() {
    check(output(search().handler(borrows)).await, "\"q\" t");
    check(output(search().handler(owns)).await, "2 t");
    check(output(search().handler(plain_with_context)).await, "t");
    check(output(search().handler(|args: Value| args["query"].to_string())).await, "\"q\"");
    let prefix = String::from("p");
    let closure = move |args: Args, ctx: CallContext| {
        let prefix = prefix.clone();
        async move { format!("{prefix} {} {}", args.root(), ctx.turn_id()) }
    };
    check(output(search().handler(closure)).await, "p {\"query\":\"q\",\"limit\":10} t");
    let error = output(search().handler(plain)).await.unwrap_err();
    assert_eq!(error, "`search` failed: invalid digit found in string");
}

#[tokio::test]
async fn a_function_without_arguments_brings_an_empty_schema() {
    let build = |builder: ToolBuilder| builder.description("d").build().unwrap();
    let ctx = DispatchContext::builder("t").build();
    let sync = build(Tool::builder("now").handler(|| "noon"));
    let later = build(Tool::builder("later").handler(async || "night"));
    assert_eq!(
        sync.input_schema().json_schema_text(),
        r#"{"type":"object","properties":{},"additionalProperties":false}"#
    );
    let call = async |tool: &Tool| tool.executor(&ctx).call("").await;
    check(call(&sync).await.outcome.map_err(|it| it.to_string()), "noon");
    check(call(&later).await.outcome.map_err(|it| it.to_string()), "night");
    let error = sync.executor(&ctx).call(r#"{"zone": "utc"}"#).await.outcome.unwrap_err();
    assert!(error.to_string().contains("`/zone`: this field does not exist; there are no fields"));
}

#[tokio::test]
async fn results_come_in_every_shape() {
    check(output(search().handler(|_: Args| ())).await, "");
    check(output(search().handler(|_: Args| Json(json!({ "a": [1] })))).await, r#"{"a":[1]}"#);
    let bytes = output(search().handler(|_: Args| vec![0_u8, 255])).await.unwrap();
    assert!(matches!(bytes, ToolOutput::Bytes(bytes) if bytes == Bytes::from_static(&[0, 255])));
    let chart = || {
        let file = MediaFile::new("chart.png", "image/png", &b"\x89PNG"[..]);
        Media::tool_generated(MediaKind::Image, file)
    };
    let one = output(search().handler(move |_: Args| chart())).await.unwrap();
    let ToolOutput::Media(list) = one else { panic!("{one:?}") };
    assert_eq!(list[0].trust_tier, TrustTier::FirstParty);
    let two = output(search().handler(move |_: Args| vec![chart(), chart()])).await.unwrap();
    assert!(matches!(two, ToolOutput::Media(list) if list.len() == 2));
    let none = output(search().handler(|_: Args| Vec::<Media>::new())).await.unwrap_err();
    assert_eq!(none, "`search` failed: the tool returned an empty list of media");
}
