//! A live stream follows turns of other processes, and continues after the last event.

use std::sync::Arc;

use haft::Tool;
use haft::executors::{ProposedCall, Step, StepContext, StepError};
use haft::stores::MemoryStore;
use haft::tools::ToolEffect;
use haft_server::Access;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::client::{EventReader, agent, get, server};

/// A turn that takes a step for each permit. The server does not observe it: it is as if another process ran it.
fn start_turn(store: &Arc<MemoryStore>, permits: &Arc<Semaphore>) -> JoinSet<()> {
    let permits = Arc::clone(permits);
    let executor = move |ctx: StepContext| async move {
        permits.acquire().await.map_err(|_| StepError::new("closed"))?.forget();
        if ctx.dispatch().iteration() == 3 {
            return Ok(Step::done().say(ctx.message("Done.")?));
        }
        Ok::<_, StepError>(Step::new().call(ProposedCall::new("look", "{}")))
    };
    let look = Tool::builder("look").description("Looks.").effect(ToolEffect::ReadOnly);
    let other = agent(store, executor, vec![look.handler(|| "fog").build().unwrap()]);
    let mut running = JoinSet::new();
    running.spawn(async move {
        other.turn("What do you see?").system("Look.").id("far").report().await.unwrap();
    });
    running
}

#[tokio::test]
async fn a_turn_of_another_process_is_followed_to_its_end() {
    let store = Arc::new(MemoryStore::new());
    let permits = Arc::new(Semaphore::new(0));
    let running = start_turn(&store, &permits);
    let router = server(&store, Access::ReadOnly);
    while get(&router, "/turns").await["turns"].as_array().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let mut events = EventReader::open(&router, "/turns/far/events", None).await;
    let (name, _, detail) = events.next().await.unwrap();
    assert_eq!((name.as_str(), &detail["turn"]["state"]), ("reset", &"running".into()));
    let mut kinds = detail["kinds"].as_str().unwrap().to_owned();
    permits.add_permits(1);
    let (name, id, change) = events.next().await.unwrap();
    assert_eq!((name.as_str(), &change["type"]), ("change", &"update".into()));
    drop(events);
    // The client was disconnected; what happens meanwhile comes when it is back.
    permits.add_permits(3);
    assert!(running.join_all().await.len() == 1);
    let mut events = EventReader::open(&router, "/turns/far/events", Some(&id)).await;
    let mut changes = vec![change];
    let mut last = "".to_owned();
    while let Some((name, _, data)) = events.next().await {
        match name.as_str() {
            "reset" => {
                kinds = data["kinds"].as_str().unwrap().to_owned();
                changes.clear();
            }
            "change" => changes.push(data),
            _ => last = name,
        }
    }
    for change in &changes {
        let Some(from) = change["kinds"]["from"].as_u64() else { continue };
        kinds.truncate(from as usize);
        kinds.push_str(change["kinds"]["kinds"].as_str().unwrap());
    }
    assert_eq!((last.as_str(), kinds.as_str()), ("end", "tscscscst"));
    let whole = get(&router, "/turns/far").await;
    assert_eq!((&whole["kinds"], &whole["turn"]["state"]), (&kinds.into(), &"completed".into()));
}

#[tokio::test]
async fn the_list_says_when_a_turn_changes() {
    let store = Arc::new(MemoryStore::new());
    let permits = Arc::new(Semaphore::new(0));
    let router = server(&store, Access::ReadOnly);
    let mut events = EventReader::open(&router, "/events", None).await;
    assert_eq!(events.next().await.unwrap().2["openGates"], 0);
    let running = start_turn(&store, &permits);
    let mut states = Vec::new();
    while states.last().is_none_or(|state| state != "completed") {
        let (_, _, change) = events.next().await.unwrap();
        for row in change["turns"].as_array().unwrap() {
            states.push(row["state"].as_str().unwrap().to_owned());
        }
        permits.add_permits(4);
    }
    assert_eq!(states.first().map(String::as_str), Some("running"));
    assert!(running.join_all().await.len() == 1);
}
