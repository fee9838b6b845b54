//! Records whose content is in a store.

use std::num::NonZeroU32;
use std::sync::Arc;

use haft::artifacts::{ArtifactKind, SpooledArtifact};
use haft::media::ReaderResolvers;
use haft::records::{Record as _, Retrievable, RetrievableContent};
use haft::records::{ToolCall, ToolResults};
use haft::schema::object;
use haft::stores::{DirSpoolStore, MemorySpoolStore};
use haft::stores::{ReaderDescriptor, SpoolStore};
use haft::tools::Spooler;
use haft::trust::TrustTier;
use haft::turn::Timestamp;
use haft::{CallContext, DispatchContext, Tool};
use serde_json::json;

/// A call whose result is in the store.
async fn call(store: Arc<dyn SpoolStore>) -> ToolCall {
    let tool = Tool::builder("fetch").description("Fetches.").input(object());
    let tool = tool.handler(|_: haft::Args, _: &CallContext| async { "line\n".repeat(2000) });
    let ctx = DispatchContext::builder("turn-1").build();
    let done = tool.build().unwrap().executor(&ctx).call("{}").await;
    Spooler::new(store).complete_call("turn-1", done.to_requested(NonZeroU32::MIN), done).await
}

async fn text(artifact: &SpooledArtifact) -> String {
    let reader = artifact.reader();
    let bytes = reader.read_at(0, usize::try_from(reader.byte_length()).unwrap()).await.unwrap();
    String::from_utf8(bytes.into()).unwrap()
}

/// Calls and retrieved records find their content again.
async fn check<S: SpoolStore + 'static>(store: &Arc<S>, reopened: Arc<S>) {
    let readers = ReaderResolvers::default().with_spools(reopened);
    let call = call(Arc::clone(store) as _).await;
    let loaded = ToolCall::open_row(&call.to_row().unwrap(), &readers).await.unwrap();
    assert_eq!(loaded, call);
    let Some(ToolResults::Artifacts(artifacts)) = &loaded.results else { panic!("{loaded:?}") };
    assert_eq!(text(&artifacts[0]).await, "line\n".repeat(2000));

    let page = Retrievable::new("p", "# page", TrustTier::FirstParty, Timestamp::EPOCH)
        .with_artifact_kind(ArtifactKind::MARKDOWN)
        .checked()
        .unwrap();
    let content = page.to_spool().unwrap();
    let page = page.spooled(store.write("p".into(), content.into()).await.unwrap());
    let stored = page.to_row().unwrap();
    assert_eq!(Retrievable::open_row(&stored, &readers).await.unwrap(), page);

    store.delete("p".into()).await.unwrap();
    let lost = Retrievable::open_row(&stored, &readers).await.unwrap();
    let RetrievableContent::Artifact(artifact) = lost.content() else { panic!("{lost:?}") };
    let error = artifact.reader().read_at(0, 1).await.unwrap_err();
    assert_eq!(error.to_string(), "the stored content of `p` was changed from outside: it is gone");
}

#[tokio::test]
async fn in_a_folder_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Arc::new(DirSpoolStore::open(folder.path()).unwrap());
    check(&open(), open()).await;
}

#[tokio::test]
async fn in_memory_as_long_as_the_store_lives() {
    let store = Arc::new(MemorySpoolStore::new());
    check(&store, Arc::clone(&store)).await;
}

#[tokio::test]
async fn another_store_in_memory_is_not_asked() {
    let (store, other) = (Arc::new(MemorySpoolStore::new()), Arc::new(MemorySpoolStore::default()));
    let stored = call(Arc::clone(&store) as _).await.to_row().unwrap();
    call(Arc::clone(&other) as _).await;
    let readers = ReaderResolvers::default().with_spools(other);
    let lost = ToolCall::open_row(&stored, &readers).await.unwrap();
    let Some(ToolResults::Artifacts(artifacts)) = &lost.results else { panic!("{lost:?}") };
    assert!(artifacts[0].reader().read_at(0, 1).await.is_err());
    let readers = ReaderResolvers::default().with_spools(store);
    let found = ToolCall::open_row(&stored, &readers).await.unwrap();
    let Some(ToolResults::Artifacts(artifacts)) = &found.results else { panic!("{found:?}") };
    assert_eq!(text(&artifacts[0]).await, "line\n".repeat(2000));
}

#[tokio::test]
async fn a_locator_that_is_none_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = DirSpoolStore::open(folder.path()).unwrap();
    let memory = MemorySpoolStore::new();
    folder.write("k".into(), "x".into()).await.unwrap();
    let written = memory.write("k".into(), "x".into()).await.unwrap().describe().unwrap();
    assert!(memory.open(&written).await.unwrap().is_some());
    assert!(folder.open(&written).await.unwrap().is_none());
    let locators = [
        json!(null),
        json!("k"),
        json!({}),
        json!({ "key": 1 }),
        json!({ "key": "k", "store": "0" }),
        json!({ "key": "k", "store": written.locator["store"], "more": 1 }),
    ];
    for locator in locators {
        let of = |tag| ReaderDescriptor::new(tag, locator.clone());
        assert!(folder.open(&of("spool:folder")).await.unwrap().is_none(), "{locator}");
        assert!(memory.open(&of("spool:memory")).await.unwrap().is_none(), "{locator}");
    }
    let key_only = ReaderDescriptor::new("spool:memory", json!({ "key": "k" }));
    assert!(memory.open(&key_only).await.unwrap().is_none());
}

#[tokio::test]
async fn a_deleted_call_takes_its_artifacts_with_it() {
    let ctx = DispatchContext::builder("turn-1").build();
    let (turn, call) = (ctx.turn(), call(Arc::new(MemorySpoolStore::new())).await);
    let id = call.id();
    turn.restore_tool_call(call).unwrap();
    let handle = turn.artifacts().handles_of(id).pop().unwrap();
    assert!(turn.artifacts().get(&handle).is_some());

    assert!(turn.delete_tool_call(id).await.unwrap());
    assert!(turn.tool_calls().get(&id).is_none());
    assert!(turn.artifacts().get(&handle).is_none());
    assert!(!turn.delete_tool_call(id).await.unwrap());
}
