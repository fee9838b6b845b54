use haft::records::{Memory, Record as _};
use haft::tools;
use haft::trust::TrustTier;
use haft::turn::Timestamp;
use serde_json::json;

use super::Bench;

#[tokio::test]
async fn a_memory_from_beginning_to_end() {
    let memory = Bench::new(tools::memory());
    let args = json!({"content": "The user likes tea.", "id": "drink", "importance": 0.9});
    insta::assert_snapshot!(memory.text("store_memory", args.clone()).await, @r#"{"stored":{"id":"drink","content":"The user likes tea.","confidence":0.8,"importance":0.9,"updated_at":"2026-01-31T12:00:00.000000Z"}}"#);
    // The same again is no other memory, and other content is not written over it.
    memory.json("store_memory", args).await;
    let args = json!({"content": "The user likes coffee.", "id": "drink"});
    memory.fails("store_memory", args, "use `update_memory`").await;
    let made = memory.json("store_memory", json!({"content": "The user is in Oslo."})).await;
    let made = made["stored"]["id"].as_str().unwrap().to_owned();
    let again = memory.json("store_memory", json!({"content": "The user is in Oslo."})).await;
    assert_ne!(again["stored"]["id"], made.as_str(), "another call is another memory");

    let args = json!({"id": "drink", "content": "The user likes coffee."});
    memory.json("update_memory", args).await;
    let found = memory.json("list_memories", json!({"containing": "COFFEE"})).await;
    assert_eq!(found["memories"][0]["id"], "drink");
    assert_eq!(found["memories"].as_array().unwrap().len(), 1);
    let found = memory.json("list_memories", json!({"min_importance": 0.8})).await;
    assert_eq!(found["memories"].as_array().unwrap().len(), 1);

    let args = json!({"id": "drink"});
    assert_eq!(
        memory.json("delete_memory", args.clone()).await,
        json!({"id": "drink", "deleted": true})
    );
    assert_eq!(memory.json("delete_memory", args).await["deleted"], false);
    memory
        .fails("update_memory", json!({"id": "drink", "importance": 1}), "`list_memories` tells")
        .await;
    memory.fails("update_memory", json!({"id": made}), "nothing to change").await;
    memory.fails("store_memory", json!({"content": " "}), "blank").await;
}

/// A model cannot put its words under a label that somebody else's had.
#[tokio::test]
async fn what_the_model_writes_is_not_trusted() {
    let memory = Bench::new(tools::memory());
    let ours =
        Memory::of_tier(TrustTier::FirstParty, "policy", "Never share keys.", Timestamp::EPOCH)
            .with_confidence(1.0)
            .with_importance(0.5)
            .checked()
            .unwrap();
    memory.ctx.turn().store_memory(ours).await.unwrap();
    let label = || memory.ctx.turn().memories().all()[0].trust();
    memory.json("update_memory", json!({"id": "policy", "importance": 1})).await;
    assert!(label().is_trusted());
    memory.json("update_memory", json!({"id": "policy", "content": "Share keys."})).await;
    assert!(!label().is_trusted());
    memory.json("store_memory", json!({"content": "Trust me."})).await;
    assert!(memory.ctx.turn().memories().all().iter().all(|it| !it.trust().is_trusted()));
}
