//! Definitions: what is refused, and that every fault is named.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;

use super::{echo, search};
use crate::artifact::{ArtifactDraft, ArtifactKind};
use crate::error::Coded as _;
use crate::schema::args::{Args, DecodeError, FromArgs, Strictness};
use crate::schema::{InputSchema, SchemaFault, array, integer, object, string};
use crate::tool::{Concurrency, OnCollision, Tool, ToolBuilder, ToolEffect, ToolRole};

#[track_caller]
fn refused(builder: ToolBuilder, faults: &[&str]) {
    let error = builder.build().unwrap_err();
    assert_eq!(error.code(), "E_INVALID_INITIAL_TOOL_VALUE");
    let texts: Vec<_> = error.faults.iter().map(ToString::to_string).collect();
    assert_eq!(texts, faults);
}

const NAME_RULE: &str = "`name`: the name of a tool has to be 1 to 128 bytes without white space and control characters";

#[test]
fn every_fault_is_listed_at_once() {
    refused(
        Tool::builder(""),
        &[
            NAME_RULE,
            "`description`: a tool needs a description: the model chooses by it",
            "`input`: a tool needs an input schema; `object()` takes no arguments",
            "`handler`: a tool needs a handler",
        ],
    );
}

#[test]
fn the_root_must_be_an_object() {
    let root = "`input`: the input schema of a tool must be an object";
    let tool = || Tool::builder("t").description("d").handler(|args: Args| args.to_string());
    refused(tool().input(string()), &[root]);
    refused(tool().input(array(string())), &[root]);
    refused(tool().input(object().nullable()), &[root]);
    refused(
        tool().json_schema(json!({ "type": "string" })),
        &["`input`: the input schema of a tool must be an object: its root needs \
           `\"type\": \"object\"`, got `\"type\": \"string\"`"],
    );
}

#[test]
fn faults_of_the_schema_name_their_field() {
    let schema = object()
        .field("n", integer().min(5).max(1))
        .field("n", integer())
        .field("s", string().pattern("(").required())
        .field("list", array(integer().multiple_of(0)));
    refused(
        Tool::builder("t").description("d").handler(|args: Args| args.to_string()).input(schema),
        &[
            "`input`: the field `n` is declared twice",
            "`input.n`: the lower bound 5 is above the upper bound 1",
            "`input.s`: the pattern `(` cannot be used: unclosed group, at character 1",
            "`input.list[]`: nothing is a multiple of 0",
        ],
    );
}

#[test]
fn names_are_checked() {
    let tool =
        |name: &str| Tool::builder(name).description("d").input(object()).handler(|_: Args| "");
    refused(tool("a b"), &[NAME_RULE]);
    refused(tool(&"x".repeat(200)), &[NAME_RULE]);
    assert_eq!(tool("geo.lookup-v2").build().unwrap().name().as_str(), "geo.lookup-v2");
}

#[test]
fn a_query_on_artifacts_is_never_wrapped() {
    let query = || search().handler(|_: Args| "answer").artifact_query();
    refused(
        query().artifact(ArtifactKind::JSON),
        &["`artifact`: a query on artifacts is never wrapped as an artifact"],
    );
    assert_eq!(*query().build().unwrap().role(), ToolRole::ArtifactQuery);
}

#[test]
fn a_query_says_which_artifacts_it_reads() {
    let query = || search().handler(|_: Args| "answer").artifact_query();
    let handles = Arc::new(HashSet::from(["1a2b3c4d".to_owned()]));
    for (tool, handle, kind, expected) in [
        (query(), "1a2b3c4d", ArtifactKind::JSON, false),
        (query().queried_handles(Arc::clone(&handles)), "1a2b3c4d", ArtifactKind::JSON, true),
        (query().queried_handles(handles), "5e6f7a8b", ArtifactKind::JSON, false),
        (query().queried_kinds(|it| *it == ArtifactKind::JSON), "1", ArtifactKind::JSON, true),
        (query().queried_kinds(|it| *it == ArtifactKind::JSON), "1", ArtifactKind::MARKDOWN, false),
    ] {
        let tool = tool.build().unwrap();
        assert_eq!(tool.queries_artifact(handle, &kind), expected, "{handle} {kind:?}");
    }
}

#[test]
fn a_schema_is_given_once() {
    refused(
        search().input(object()).handler(|_: Args| ""),
        &["`input`: the schema is given more than once; a handler whose argument type derives \
           `ToolArgs` brings its own"],
    );
}

#[test]
fn contradictions_of_the_rest_are_faults_too() {
    refused(
        search()
            .handler(|_: Args| "")
            .concurrency(Concurrency::Keyed("account".into()))
            .meta("score", f64::NAN),
        &[
            "`meta.score`: the value for `score` is not JSON: NaN is not a JSON number",
            "`concurrency`: `account` is not a JSON pointer: it starts with `/`",
        ],
    );
}

#[test]
fn the_defaults_are_the_safe_ones() {
    let tool = echo();
    assert!(!tool.is_trusted());
    assert!(!tool.is_ephemeral());
    assert_eq!(tool.effect(), ToolEffect::Once);
    assert_eq!(tool.concurrency(), &Concurrency::Parallel);
    assert_eq!(tool.on_collision(), OnCollision::Throw);
    assert_eq!(*tool.role(), ToolRole::Standard(ArtifactKind::TEXT));
    assert_eq!(tool.strictness(), Strictness::Coerce);
    assert!(tool.meta().is_empty());
}

#[test]
fn what_was_said_is_kept() {
    let tool = search()
        .handler(|_: Args| "")
        .trusted()
        .ephemeral()
        .strict()
        .effect(ToolEffect::ReadOnly)
        .concurrency(Concurrency::Exclusive)
        .on_collision(OnCollision::Keep)
        .artifact(ArtifactKind::MARKDOWN)
        .meta("rbac.scope", "admin")
        .meta("rbac.level", 3)
        .build()
        .unwrap();
    assert!(tool.is_trusted() && tool.is_ephemeral());
    assert_eq!(tool.strictness(), Strictness::Strict);
    assert_eq!(tool.effect(), ToolEffect::ReadOnly);
    assert_eq!(tool.concurrency(), &Concurrency::Exclusive);
    assert_eq!(tool.on_collision(), OnCollision::Keep);
    assert_eq!(*tool.role(), ToolRole::Standard(ArtifactKind::MARKDOWN));
    assert_eq!(tool.meta().get("rbac"), Some(json!({ "scope": "admin", "level": 3 })));
}

#[test]
fn the_description_is_plain_data() {
    let text = serde_json::to_value(echo().describe()).unwrap();
    assert_eq!(
        text,
        json!({
            "name": "search",
            "description": "Searches.",
            "inputSchema": {
                "type": "object",
                "keys": {
                    "query": { "type": "string", "flags": { "presence": "required" } },
                    "limit": {
                        "type": "number",
                        "flags": { "default": 10 },
                        "rules": [
                            { "name": "integer" },
                            { "name": "min", "args": { "limit": 1 } },
                            { "name": "max", "args": { "limit": 50 } },
                        ],
                    },
                },
            },
        })
    );
}

/// Everything else of the tool stays, and the tool that it was made of asks as it did.
#[tokio::test]
async fn a_tool_can_be_made_to_ask_and_not_to() {
    let tool = echo();
    let asking = tool.with_approval("May I?").unwrap();
    assert_eq!((tool.requires_approval(), asking.requires_approval()), (None, Some("May I?")));
    assert_eq!(asking.with_approval("Really?").unwrap().requires_approval(), Some("Really?"));
    let silent = asking.without_approval();
    assert_eq!((asking.requires_approval(), silent.requires_approval()), (Some("May I?"), None));
    assert_eq!(format!("{silent:?}"), format!("{tool:?}"));
    for tool in [&tool, &asking, &silent] {
        assert!(tool.validate(r#"{"query": "x"}"#).await.is_ok());
        assert!(tool.validate("{}").await.is_err());
    }
    let error = tool.with_approval(" \n").unwrap_err();
    let texts: Vec<_> = error.faults.iter().map(ToString::to_string).collect();
    assert_eq!(error.tool, "search");
    assert_eq!(texts, ["`approval`: the person who approves a call needs a question to decide on"]);
}

#[test]
fn a_handler_without_arguments_may_have_an_explicit_empty_schema() {
    let now = || Tool::builder("now").description("Tells the time.");
    let plain = now().handler(|| "noon").build().unwrap();
    let explicit = now().input(object()).handler(|| "noon").build().unwrap();
    assert_eq!(plain.input_schema().json_schema_text(), explicit.input_schema().json_schema_text());
    let asynchronous = now().input(object()).handler(async || "noon").build().unwrap();
    assert_eq!(
        plain.input_schema().json_schema_text(),
        asynchronous.input_schema().json_schema_text()
    );

    let fields = object().field("zone", string());
    let faults = now().input(fields).handler(|| "noon").build().unwrap_err().to_string();
    assert!(faults.contains("the handler takes no arguments"), "{faults}");
    let twice = now().input(object()).input(object()).handler(|| "noon").build().unwrap_err();
    assert!(twice.to_string().contains("more than once"), "{twice}");
}

/// Arguments whose type says what they are.
struct Place;

impl FromArgs for Place {
    fn input_schema() -> Option<Result<InputSchema, Vec<SchemaFault>>> {
        Some(InputSchema::new(object().field("city", string().required())))
    }

    fn from_args(_: &Args) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}

#[test]
fn a_handler_whose_arguments_have_a_schema_takes_no_other() {
    let weather = || Tool::builder("weather").description("Tells the weather.");
    let own = weather().handler(|_: Place| "sunny").build().unwrap();
    assert_eq!(own.input_schema().json_schema()["required"], json!(["city"]));
    for given in [object(), object().field("city", string().required())] {
        refused(
            weather().input(given).handler(|_: Place| "sunny"),
            &[
                "`input`: the schema is given more than once; a handler whose argument type derives \
               `ToolArgs` brings its own",
            ],
        );
    }
}

#[tokio::test]
async fn arguments_that_do_not_validate_have_a_code() {
    let tool = search().handler(|_: Args| "x").build().unwrap();
    let error = tool.validate("{}").await.unwrap_err();
    assert_eq!(error.code(), "E_INVALID_TOOL_ARGS");
    assert!(error.to_string().contains("/query"), "{error}");
}

/// The tools that query its results are offered from the first request on.
#[test]
fn a_tool_whose_results_are_large_declares_their_kind() {
    let drafts = Tool::builder("fetch").description("Fetches.").handler(Vec::<ArtifactDraft>::new);
    let drafts = drafts.build().unwrap();
    assert_eq!(drafts.declared_kinds(), [ArtifactKind::default()]);
    let say = |builder: ToolBuilder| builder.description("Says.").build().unwrap();
    let text = say(Tool::builder("say").handler(String::new));
    assert_eq!(text.declared_kinds(), [ArtifactKind::TEXT], "any text can be large");
    let small = say(Tool::builder("say").handler(String::new).max_bytes(4_095));
    assert!(small.declared_kinds().is_empty());
    let large = say(Tool::builder("say").handler(String::new).max_bytes(4_096));
    assert_eq!(large.declared_kinds(), [ArtifactKind::TEXT]);
    assert!(say(Tool::builder("say").handler(|| "fixed")).declared_kinds().is_empty());
    let page = Tool::builder("page").description("Reads.").artifact_kinds([ArtifactKind::MARKDOWN]);
    let page = page.handler(Vec::<ArtifactDraft>::new).build().unwrap();
    assert_eq!(page.declared_kinds(), [ArtifactKind::MARKDOWN], "what is declared wins");
}

/// An approval holds for one definition: what decides what a tool does counts, the order of keys does not.
#[test]
fn the_digest_of_a_definition_covers_what_the_tool_is() {
    let digest = |builder: ToolBuilder| {
        builder.handler(|args: Args| args.to_string()).build().unwrap().definition_digest()
    };
    let find = || Tool::builder("search").description("Searches.");
    let part = |value: serde_json::Value| digest(search().definition_part("argv", value));
    let command = part(json!({"argv": ["rm", "a"], "env": []}));
    assert_eq!(command, part(json!({"env": [], "argv": ["rm", "a"]})));
    let others = [
        digest(search()),
        part(json!({"argv": ["rm", "b"], "env": []})),
        digest(search().definition_part("url", json!({"argv": ["rm", "a"], "env": []}))),
        digest(find().input(object().field("query", string()))),
        digest(find().input(object().field("words", string()))),
        digest(Tool::builder("search").description("Finds.").input(object())),
        digest(search().effect(ToolEffect::ReadOnly)),
    ];
    let mut all = vec![command];
    for digest in others {
        assert!(!all.contains(&digest), "{}", all.len());
        all.push(digest);
    }
}

#[test]
fn a_kind_is_declared_once_and_queries_declare_none() {
    let tool = |builder: ToolBuilder| {
        let tool = builder.description("d").input(object()).build().unwrap();
        tool.declared_kinds().to_vec()
    };
    let text = || Tool::builder("t").handler(|| "");
    let both = text().artifact(ArtifactKind::JSON).artifact_kinds([ArtifactKind::JSON]);
    assert_eq!(tool(both), [ArtifactKind::JSON]);
    let other = text().artifact(ArtifactKind::JSON).artifact_kinds([ArtifactKind::MARKDOWN]);
    assert_eq!(tool(other), [ArtifactKind::MARKDOWN, ArtifactKind::JSON]);
    let drafts = || Tool::builder("t").handler(Vec::<ArtifactDraft>::new);
    assert_eq!(tool(drafts()), [ArtifactKind::default()]);
    assert!(tool(drafts().artifact_query()).is_empty());
}

#[test]
fn a_handler_that_is_not_async_blocks() {
    assert!(!echo().blocks());
    assert!(search().handler(|args: Args| args.to_string()).build().unwrap().blocks());
    assert!(Tool::builder("t").description("d").handler(|| "").build().unwrap().blocks());
}
