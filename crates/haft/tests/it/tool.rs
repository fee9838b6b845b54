//! `#[tool]` from the definition to the result.

use anyhow::Context as _;
use haft::artifacts::ArtifactKind;
use haft::tool;
use haft::tools::{Concurrency, OnCollision, ToolEffect, ToolError, ToolRole};
use haft::{
    Args, CallContext, DispatchContext, Json, State, Tool, ToolArgs, ToolFailure, ToolOutput,
};

#[derive(ToolArgs)]
struct Weather {
    /// The city name
    city: String,
    #[arg(default = "celsius")]
    units: Units,
}

#[derive(Debug, ToolArgs)]
enum Units {
    Celsius,
    Fahrenheit,
}

/// Returns the current weather
/// for a given city.
#[tool]
async fn get_weather(args: Weather, ctx: &CallContext) -> Result<String, ToolFailure> {
    if args.city == "Atlantis" {
        return Err(ToolFailure::new("there is no such city"));
    }
    let calls = ctx.stash().get_as::<u32>("calls")?.unwrap_or_default() + 1;
    ctx.stash().set("calls", calls)?;
    tokio::task::yield_now().await;
    Ok(format!("{} {:?} {calls}", args.city, args.units))
}

/// Owns its context.
#[tool]
async fn owns(Weather { city, .. }: Weather, ctx: CallContext) -> String {
    format!("{city} {}", ctx.turn_id())
}

/// Takes no context.
#[tool]
async fn no_context(args: Weather) -> Json<Vec<String>> {
    Json(vec![args.city])
}

/// Takes only the context.
#[tool]
async fn only_context(ctx: &CallContext) -> String {
    ctx.turn_id().to_owned()
}

/// Owns only the context.
#[tool]
async fn only_owned_context(ctx: CallContext) -> String {
    ctx.turn_id().to_owned()
}

#[derive(Clone)]
struct Client {
    base: &'static str,
}

impl Client {
    async fn get(&self, path: &str) -> anyhow::Result<String> {
        tokio::task::yield_now().await;
        anyhow::ensure!(path != "Atlantis", "there is no such city");
        Ok(format!("{}/{path}", self.base))
    }
}

/// Takes arguments and shared state, and fails as applications do.
#[tool]
async fn fetch(args: Weather, State(client): State<Client>) -> anyhow::Result<String> {
    client.get(&args.city).await.context("the weather could not be fetched")
}

/// Takes everything, in another order.
#[tool]
async fn takes_all(
    State(client): State<Client>,
    args: Weather,
    ctx: &CallContext,
    suffix: State<String>,
) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    Ok(format!("{} {} {}", client.get(&args.city).await?, ctx.turn_id(), *suffix))
}

/// Takes only state, and is not async.
#[tool]
fn only_state(State(client): State<Client>) -> &'static str {
    client.base
}

#[tokio::test]
async fn functions_take_shared_state() {
    let client = Client { base: "https://example.org" };
    let ctx = DispatchContext::builder("t").build();
    let text = async |tool: Tool, args: &str| match tool.executor(&ctx).call(args).await.outcome {
        Ok(ToolOutput::Text(text)) => text,
        other => panic!("{other:?}"),
    };
    let args = r#"{"city": "Paris"}"#;
    let fetch = fetch(client.clone()).build().unwrap();
    assert_eq!(text(fetch.clone(), args).await, "https://example.org/Paris");
    assert_eq!(text(fetch.clone(), args).await, "https://example.org/Paris", "again");
    let all = takes_all(client.clone(), "now".to_owned()).build().unwrap();
    assert_eq!(text(all, args).await, "https://example.org/Paris t now");
    assert_eq!(text(only_state(client).build().unwrap(), "{}").await, "https://example.org");

    let failed = fetch.executor(&ctx).call(r#"{"city": "Atlantis"}"#).await.outcome.unwrap_err();
    assert_eq!(failed.to_string(), "`fetch` failed: the weather could not be fetched");
    let cause = failed.operator_cause().unwrap();
    assert_eq!(cause, "the weather could not be fetched: there is no such city");
    let chain: Vec<String> = anyhow::Error::from(failed).chain().map(ToString::to_string).collect();
    assert_eq!(chain.last().map(String::as_str), Some("there is no such city"));
}

/// Takes nothing.
#[tool]
async fn nothing() -> &'static str {
    "nothing"
}

/// Is not async.
#[tool]
fn plain(args: Weather, ctx: &CallContext) -> Result<String, std::num::ParseIntError> {
    let number: u32 = args.city.parse()?;
    Ok(format!("{number} {}", ctx.turn_id()))
}

/// Is not async and owns its context.
#[tool]
fn plain_owns(args: Args, ctx: CallContext) -> impl haft::tools::IntoToolOutput {
    format!("{args} {}", ctx.turn_id())
}

/// Is not async and takes only the context.
#[tool]
fn plain_only_context(ctx: &CallContext) -> String {
    ctx.turn_id().to_owned()
}

/// Is not async and takes nothing.
#[tool]
fn plain_nothing() {}

#[track_caller]
fn text(outcome: Result<ToolOutput, ToolError>) -> String {
    match outcome {
        Ok(ToolOutput::Text(text)) => text,
        Ok(other) => panic!("not text: {other:?}"),
        Err(error) => format!("failed: {error}"),
    }
}

async fn call(tool: &Tool, args: &str) -> String {
    let ctx = DispatchContext::builder("turn-1").build();
    text(tool.executor(&ctx).call(args).await.outcome)
}

#[tokio::test]
async fn a_function_becomes_a_tool() {
    let tool = get_weather().build().unwrap();
    assert_eq!(tool.name().as_str(), "get_weather");
    assert_eq!(tool.description(), "Returns the current weather for a given city.");
    insta::assert_snapshot!(tool.input_schema().json_schema_text(), @r#"{"type":"object","properties":{"city":{"type":"string","description":"The city name"},"units":{"type":"string","enum":["celsius","fahrenheit"],"default":"celsius"}},"required":["city"],"additionalProperties":false}"#);

    let ctx = DispatchContext::builder("turn-1").build();
    let weather = tool.executor(&ctx);
    assert_eq!(text(weather.call(r#"{"city":"Paris"}"#).await.outcome), "Paris Celsius 1");
    let args = r#"{"city":"Oslo","units":"Fahrenheit"}"#;
    assert_eq!(text(weather.call(args).await.outcome), "Oslo Fahrenheit 2");
    let failed = text(weather.call(r#"{"city":"Atlantis"}"#).await.outcome);
    assert!(failed.contains("there is no such city"), "{failed}");
    let refused = text(weather.call(r#"{"town":"Paris"}"#).await.outcome);
    assert!(refused.contains("/city"), "{refused}");
    assert_eq!(ctx.stash().get_as::<u32>("calls").unwrap(), Some(2));
}

#[tokio::test]
async fn every_signature_works() {
    let paris = r#"{"city":"Paris"}"#;
    for (tool, args, expect) in [
        (owns(), paris, "Paris turn-1"),
        (no_context(), paris, r#"["Paris"]"#),
        (only_context(), "{}", "turn-1"),
        (only_owned_context(), "", "turn-1"),
        (nothing(), "{}", "nothing"),
        (plain(), r#"{"city":"5"}"#, "5 turn-1"),
        (plain_only_context(), "", "turn-1"),
        (plain_nothing(), "", ""),
    ] {
        let tool = tool.build().unwrap();
        assert_eq!(call(&tool, args).await, expect, "{tool:?}");
    }
    let failed = call(&plain().build().unwrap(), paris).await;
    assert!(failed.contains("invalid digit"), "{failed}");
    // Extra arguments are refused where there are none.
    let refused = call(&only_context().build().unwrap(), paris).await;
    assert!(refused.contains("/city"), "{refused}");
}

#[test]
fn arguments_without_a_schema_need_one() {
    let error = plain_owns().build().unwrap_err().to_string();
    assert!(error.contains("a tool needs an input schema"), "{error}");
}

const WORDS: &str = "Does it all.";

/// Documentation for people.
#[tool(
    name = "all.of-it",
    description = WORDS,
    idempotent,
    concurrency = Keyed("/city"),
    artifact = Json,
    on_collision = Replace,
    requires_approval = "May I?",
    timeout = std::time::Duration::from_secs(5),
    trusted,
    ephemeral,
    strict
)]
#[expect(clippy::unused_async, reason = "attributes stay with the function")]
async fn everything(args: Weather) -> String {
    args.city
}

#[tokio::test]
async fn every_option_reaches_the_tool() {
    let tool = everything().build().unwrap();
    assert_eq!(tool.name().as_str(), "all.of-it");
    assert_eq!(tool.description(), WORDS);
    assert_eq!(tool.effect(), ToolEffect::Idempotent);
    assert_eq!(tool.concurrency(), &Concurrency::Keyed("/city".into()));
    assert_eq!(*tool.role(), ToolRole::Standard(ArtifactKind::JSON));
    assert_eq!(tool.on_collision(), OnCollision::Replace);
    assert!(tool.is_trusted() && tool.is_ephemeral());
    assert_eq!(tool.requires_approval(), Some("May I?"));
    assert_eq!(tool.timeout(), Some(std::time::Duration::from_secs(5)));
    let refused = call(&tool, r#"{"city":"Paris","units":"CELSIUS"}"#).await;
    assert!(refused.contains("/units"), "{refused}");
}

#[test]
fn nothing_is_set_that_was_not_asked_for() {
    let tool = nothing().build().unwrap();
    assert_eq!(tool.effect(), ToolEffect::Once);
    assert_eq!(tool.concurrency(), &Concurrency::Parallel);
    assert_eq!(*tool.role(), ToolRole::Standard(ArtifactKind::TEXT));
    assert_eq!(tool.on_collision(), OnCollision::Throw);
    assert!(!tool.is_trusted() && !tool.is_ephemeral());
    assert_eq!((tool.requires_approval(), tool.timeout()), (None, None));
}

/// The macros work without the facade: `crate` says where everything is.
mod elsewhere {
    use haft::ToolArgs;
    use haft::tool;

    mod renamed {
        pub(super) use haft::*;
    }

    #[derive(ToolArgs)]
    #[arg(crate = renamed)]
    pub(super) struct Empty {}

    /// Is defined elsewhere.
    #[tool(crate = "self::renamed")]
    pub(super) fn empty(_args: Empty) {}
}

#[test]
fn another_path_to_the_crate_can_be_given() {
    assert_eq!(elsewhere::empty().build().unwrap().name().as_str(), "empty");
}
