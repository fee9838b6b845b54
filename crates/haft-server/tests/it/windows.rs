//! A timeline is a layout of all rows, and windows of them.

use std::sync::Arc;

use axum::Router;
use haft::executors::{ProposedCall, Step, StepContext, StepError};
use haft::schema::{integer, object};
use haft::stores::MemoryStore;
use haft::turn::Limits;
use haft::{Agent, Args, Tool, ToolFailure};
use haft_server::Access;
use serde_json::Value;

use super::client::{escape, get, server};

const STEPS: u32 = 60;
const CALLS: u32 = 9;

/// A turn of 60 steps with a message and nine calls each; every tenth call of a step fails.
async fn long_turn() -> (Router, Value) {
    let router = server(&run_turn(STEPS).await, Access::ReadOnly);
    let detail = get(&router, "/turns/long").await;
    (router, detail)
}

/// Runs a turn of so many steps.
async fn run_turn(steps: u32) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    let tool = Tool::builder("read").description("Reads.").input(object().field("n", integer()));
    let tool = tool.handler(|args: Args| match args.to_value()["n"].as_u64() {
        Some(n) if n % 10 == 3 => Err(ToolFailure::new("the sensor is broken")),
        _ => Ok("21 degrees"),
    });
    let executor = move |ctx: StepContext| async move {
        let step = ctx.dispatch().iteration();
        if step == steps {
            return Ok(Step::done().say(ctx.message("Done.")?));
        }
        let calls = (0..CALLS).map(|n| {
            let args = format!("{{\"n\": {}}}", step * CALLS + n);
            ProposedCall::new("read", args.as_str())
        });
        let next = calls.fold(Step::new(), Step::call);
        Ok::<_, StepError>(next.say(ctx.message(format!("Step {step}"))?))
    };
    let agent = Agent::builder(executor)
        .tool(tool.build().unwrap())
        .store(Arc::clone(&store) as _)
        .limits(Limits::new().iterations(1000).tool_calls(10_000))
        .build()
        .unwrap();
    agent.turn("Read all sensors.").system("Read.").id("long").report().await.unwrap();
    store
}

fn key(row: &Value) -> String {
    match row["row"].as_str() {
        Some("step") => format!("step/{}", row["number"]),
        _ => row["key"].as_str().unwrap().to_owned(),
    }
}

#[tokio::test]
async fn windows_join_to_the_whole_timeline() {
    let (router, detail) = long_turn().await;
    let kinds = detail["kinds"].as_str().unwrap();
    let expected = 1 + STEPS * (2 + CALLS) + 2;
    assert_eq!(kinds.len(), expected as usize);
    assert!(kinds.starts_with("tst"), "the input, then the first step: {kinds}");
    assert_eq!(kinds.matches('r').count(), 54);
    assert_eq!(detail["rows"]["rows"].as_array().unwrap().len(), 200, "the first window");
    let mut rows = Vec::new();
    for start in (0..kinds.len()).step_by(150) {
        let page = get(&router, &format!("/turns/long/rows?start={start}&count=150")).await;
        assert_eq!((&page["start"], &page["total"]), (&start.into(), &kinds.len().into()));
        rows.extend(page["rows"].as_array().unwrap().iter().cloned());
    }
    assert_eq!(rows.len(), kinds.len());
    for (row, kind) in rows.iter().zip(kinds.chars()) {
        let found = match (row["row"].as_str(), row["kind"].as_str()) {
            (Some("step"), _) => 's',
            (_, Some("call")) if row.get("error").is_some() => 'r',
            (_, Some("call")) => 'c',
            _ => 't',
        };
        assert_eq!(found, kind, "{row}");
    }
    let mut keys: Vec<String> = rows.iter().map(key).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), rows.len(), "every row has a key of its own");
}

#[tokio::test]
async fn a_window_is_found_by_the_key_of_a_row() {
    let (router, _) = long_turn().await;
    let page = get(&router, "/turns/long/rows?at=step/50&count=20").await;
    let rows = page["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| key(row) == "step/50"), "{page}");
    let item = key(&rows[3]);
    let at = escape(&item);
    let page = get(&router, &format!("/turns/long?at={at}&count=5")).await;
    assert!(page["rows"]["rows"].as_array().unwrap().iter().any(|row| key(row) == item));
    let steps = get(&router, "/turns/long/steps?start=58&count=10").await;
    let numbers: Vec<u64> = steps["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["number"].as_u64().unwrap())
        .collect();
    assert_eq!((numbers, &steps["total"]), (vec![59, 60, 61], &61.into()));
    let calls = get(&router, "/turns/long/calls?start=538").await;
    assert_eq!((calls["calls"].as_array().unwrap().len(), &calls["total"]), (2, &540.into()));
}

#[tokio::test]
async fn rows_are_found_by_words_tools_and_keys() {
    let (router, _) = long_turn().await;
    let found = get(&router, "/turns/long/matches?search=SENSOR%20is%20broken").await;
    assert_eq!(found["total"], 54, "{found}");
    let first = found["places"][0].as_u64().unwrap();
    let page = get(&router, &format!("/turns/long/rows?start={first}&count=1")).await;
    let row = &page["rows"][0];
    assert!(row["error"]["message"].as_str().unwrap().contains("broken"), "{row}");
    let path = format!("/turns/long/matches?search={}", row["callKey"].as_str().unwrap());
    let by_key = get(&router, &path).await;
    assert_eq!((&by_key["total"], &by_key["places"][0]), (&1.into(), &first.into()));
    let all = get(&router, "/turns/long/matches?search=read").await;
    assert_eq!(all["total"], 541, "all calls of the tool, and the words of the user");
    assert_eq!(get(&router, "/turns/long/matches?search=%20").await["total"], 0);
}
