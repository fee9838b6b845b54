//! Lists come from the summaries of the store.

use std::sync::Arc;

use haft::Agent;
use haft::executors::{Step, StepContext, StepError};
use haft::stores::{MemoryStore, NewTurn, TurnStore as _, TurnStoreExt as _};
use haft_server::Access;
use serde_json::Value;

use super::client::{agent, get, server};

fn ids(page: &Value) -> Vec<&str> {
    page["turns"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect()
}

/// Turns without any record: reading one of them would fail, so that a list that shows them has read none.
async fn store_of_summaries() -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    for n in 0..420 {
        let agent = if n % 10 == 0 { "shop" } else { "garden" };
        let words = format!("Question {n} about {}", if n % 7 == 0 { "apples" } else { "pears" });
        let new = NewTurn::new(format!("turn-{n:04}").parse().unwrap());
        let new = new.agent(agent).said(&words).model(if n < 200 { "small" } else { "large" });
        let new = if n % 3 == 0 { new.conversation(format!("talk-{}", n / 60)) } else { new };
        store.enqueue(new).await.unwrap();
    }
    store
}

#[tokio::test]
async fn turns_are_searched_filtered_and_paged_without_reading_them() {
    let router = server(&store_of_summaries().await, Access::ReadOnly);
    let page = get(&router, "/turns?limit=3").await;
    assert_eq!(ids(&page), ["turn-0419", "turn-0418", "turn-0417"]);
    assert_eq!((&page["scanned"], &page["turns"][0]["state"]), (&3.into(), &"queued".into()));
    assert!(page["turns"][0].get("facts").is_none());
    let next = page["next"].as_str().unwrap();
    let page = get(&router, &format!("/turns?limit=2&before={next}")).await;
    assert_eq!(ids(&page), ["turn-0416", "turn-0415"]);
    let page = get(&router, "/turns?search=APPL&agent=shop&model=small").await;
    assert_eq!(ids(&page), ["turn-0140", "turn-0070", "turn-0000"]);
    let page = get(&router, "/turns?search=turn-0007").await;
    assert_eq!(ids(&page), ["turn-0007"], "an id finds its turn");
    assert!(ids(&get(&router, "/turns?state=failed").await).is_empty());
    assert!(ids(&get(&router, "/turns?minTokens=1").await).is_empty());
    assert_eq!(ids(&get(&router, "/turns?state=queued&limit=200").await).len(), 200);
    for (since, count) in [
        ("1999-12-31T23:59:59Z", 50),
        ("1999-12-31T23:59:59.125%2B01:00", 50),
        ("9999-01-01T00:00:00.000Z", 0),
    ] {
        let page = get(&router, &format!("/turns?limit=50&since={since}")).await;
        assert_eq!(ids(&page).len(), count, "{since}");
    }
}

#[tokio::test]
async fn turns_are_counted_by_their_states() {
    let router = server(&store_of_summaries().await, Access::ReadOnly);
    let counts = get(&router, "/counts?state=failed").await;
    assert_eq!((&counts["total"], &counts["states"]["queued"]), (&420.into(), &420.into()));
    assert_eq!(counts["hasMore"], false);
    assert_eq!(get(&router, "/counts?search=apples").await["total"], 60);
}

#[tokio::test]
async fn every_page_of_a_filter_continues_the_one_before() {
    let router = server(&store_of_summaries().await, Access::ReadOnly);
    let (mut found, mut before) = (Vec::new(), String::new());
    loop {
        let page = get(&router, &format!("/turns?search=apples&limit=7{before}")).await;
        found.extend(ids(&page).into_iter().map(str::to_owned));
        match page["next"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => break,
        }
    }
    let wanted: Vec<String> =
        (0..420).rev().filter(|n| n % 7 == 0).map(|n| format!("turn-{n:04}")).collect();
    assert_eq!(found, wanted);
}

#[tokio::test]
async fn conversations_have_their_titles() {
    let store = store_of_summaries().await;
    let title = Some("All about apples".to_owned());
    store.set_title(String::new(), "talk-5".to_owned(), title).await.unwrap();
    let router = server(&store, Access::ReadOnly);
    let page = get(&router, "/conversations?limit=2").await;
    assert_eq!(page["conversations"][0]["title"], "Question 360 about pears");
    assert_eq!(page["conversations"][1]["title"], "All about apples");
    let thread = get(&router, "/turns?conversation=talk-5&limit=1").await;
    assert_eq!(thread["conversationTitle"], "All about apples");
    assert!(get(&router, "/turns?limit=1").await.get("conversationTitle").is_none());
}

#[tokio::test]
async fn conversations_are_threads_with_the_newest_first() {
    let router = server(&store_of_summaries().await, Access::ReadOnly);
    let page = get(&router, "/conversations?limit=2").await;
    let rows = page["conversations"].as_array().unwrap();
    assert_eq!((rows[0]["id"].as_str(), rows[1]["id"].as_str()), (Some("talk-6"), Some("talk-5")));
    assert_eq!(rows[0]["turns"].as_array().unwrap().len(), 20);
    assert_eq!(rows[0]["title"], "Question 360 about pears");
    let thread = get(&router, "/turns?conversation=talk-6").await;
    assert_eq!((ids(&thread).len(), ids(&thread)[0]), (20, "turn-0417"));
    let next = page["next"].as_str().unwrap();
    let page = get(&router, &format!("/conversations?before={next}")).await;
    assert_eq!(page["conversations"][0]["id"], "talk-5", "its oldest turns are on the next page");
}

#[tokio::test]
async fn facts_are_read_for_one_turn() {
    let store = Arc::new(MemoryStore::new());
    let say = |ctx: StepContext| async move {
        Ok::<_, StepError>(Step::done().say(ctx.message("It is late.")?))
    };
    let other: Agent = agent(&store, say, Vec::new());
    let turn = other.turn("What time is it?").system("Be brief.").report().await.unwrap().turn;
    let router = server(&store, Access::ReadOnly);
    assert!(get(&router, "/turns").await["turns"][0].get("facts").is_none());
    let facts = get(&router, &format!("/turns/{turn}/facts")).await;
    assert_eq!((&facts["steps"], &facts["reply"]), (&1.into(), &"It is late.".into()));
}
