//! How much is stored, for how long, and by whom it is found again.

use std::sync::Arc;
use std::time::Duration;

use haft::stores::{DirSpoolStore, MemorySpoolStore, SpoolStore as _};
use haft::turn::{ManualClock, Timestamp};
use haft_mcp::McpProxy;
use serde_json::json;

use crate::peer::{Chain, handles, text_result};

async fn store(chain: &mut Chain, size: usize) -> String {
    let answer = chain.call(text_result(&"some text ".repeat(size / 10))).await;
    handles(&answer["result"]).remove(0)
}

async fn is_found(chain: &mut Chain, handle: &str) -> bool {
    !chain.query("artifact_info", json!({"callId": handle})).await.1
}

#[tokio::test]
async fn a_handle_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let open = || McpProxy::builder(Arc::new(DirSpoolStore::open(dir.path()).unwrap()));
    let mut chain = Chain::new(open());
    let handle = store(&mut chain, 100_000).await;
    drop(chain);
    let mut chain = Chain::new(open());
    let (text, is_error) = chain.query("artifact_info", json!({"callId": handle})).await;
    assert!(text.contains("100000") && !is_error, "{text}");
}

#[tokio::test]
async fn the_oldest_results_go_when_there_are_too_many_bytes_or_days() {
    let spools = Arc::new(MemorySpoolStore::new());
    let clock =
        Arc::new(ManualClock::new("2026-11-17T09:00:00.000000Z".parse::<Timestamp>().unwrap()));
    let builder = McpProxy::builder(Arc::clone(&spools) as _).clock(Arc::clone(&clock) as _);
    let mut chain = Chain::new(builder.max_bytes(250_000).lifetime(Duration::from_secs(3_600)));
    let mut all = Vec::new();
    for _ in 0..4 {
        clock.advance(Duration::from_secs(1));
        all.push(store(&mut chain, 100_000).await);
    }
    // The clean-up runs next to the session.
    while is_found(&mut chain, &all[1]).await {
        tokio::task::yield_now().await;
    }
    assert!(!is_found(&mut chain, &all[0]).await);
    assert!(is_found(&mut chain, &all[2]).await && is_found(&mut chain, &all[3]).await);
    clock.advance(Duration::from_secs(3_600));
    assert!(!is_found(&mut chain, &all[3]).await);
    let last = store(&mut chain, 100_000).await;
    while spools.list().await.unwrap().len() > 2 {
        tokio::task::yield_now().await;
    }
    assert!(is_found(&mut chain, &last).await);
}

#[tokio::test]
async fn content_of_a_dead_process_is_removed_after_a_lifetime() {
    let spools = Arc::new(MemorySpoolStore::new());
    spools.write("mcp/dead/0".into(), "left over".into()).await.unwrap();
    spools.write("other/key".into(), "not ours".into()).await.unwrap();
    let clock =
        Arc::new(ManualClock::new("2026-11-17T09:00:00.000000Z".parse::<Timestamp>().unwrap()));
    let builder = McpProxy::builder(Arc::clone(&spools) as _).clock(Arc::clone(&clock) as _);
    let mut chain = Chain::new(builder.lifetime(Duration::from_secs(3_600)));
    store(&mut chain, 100_000).await;
    let has = async |key: &str| spools.read(key.into()).await.unwrap().is_some();
    while !has("mcp-proxy/orphan/mcp/dead/0").await {
        tokio::task::yield_now().await;
    }
    assert!(has("mcp/dead/0").await);
    clock.advance(Duration::from_secs(3_601));
    store(&mut chain, 100_000).await;
    while has("mcp/dead/0").await {
        tokio::task::yield_now().await;
    }
    assert!(has("other/key").await);
}
