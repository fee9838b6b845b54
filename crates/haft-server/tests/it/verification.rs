//! Content that was changed is noticed, and large content can be read before its hash is compared.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use haft::artifacts::{ArtifactDraft, ArtifactKind};
use haft::executors::{ProposedCall, Step, StepContext, StepError};
use haft::schema::object;
use haft::stores::{
    DirSpoolStore, LineIndex, MemoryStore, ReaderDescriptor, SpoolError, SpoolKey, SpoolPayload,
    SpoolReader, SpoolStore,
};
use haft::{Agent, Args, BoxFuture, Tool};
use haft_server::Api;
use serde_json::Value;
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use super::client::get;

/// A log of 2 MB: a verification reads it in several chunks.
fn log() -> String {
    (0..100_000).map(|n| format!("{n:06} all is well\n")).collect()
}

/// Runs a turn whose only call makes an artifact, and serves it as another process would. Returns the path of the artifact.
async fn serve_artifact<S>(spools: Arc<S>, served: Arc<S>) -> (Router, String)
where
    S: SpoolStore + 'static,
{
    let store = Arc::new(MemoryStore::new());
    let tool = Tool::builder("read_log").description("Reads.").input(object());
    let tool = tool.artifact_kinds([ArtifactKind::TEXT]);
    let tool = tool.handler(|_: Args| ArtifactDraft::new(ArtifactKind::TEXT, log()));
    let executor = |ctx: StepContext| async move {
        let is_first = ctx.dispatch().iteration() == 0;
        let call = ProposedCall::new("read_log", "{}");
        Ok::<_, StepError>(if is_first { Step::new().call(call) } else { Step::done() })
    };
    let builder = Agent::builder(executor).tool(tool.build().unwrap()).secret([7; 32]);
    let agent = builder.store(Arc::clone(&store) as _).spools(spools).build().unwrap();
    agent.turn("Read the log.").system("Read.").id("t").report().await.unwrap();
    let no_step = |_: StepContext| async { Err::<Step, _>(StepError::new("nothing runs here")) };
    let builder = Agent::builder(no_step).secret([7; 32]);
    let agent = builder.store(store).spools(served).build().unwrap();
    let router = Api::builder(agent.stored_turns().clone()).build().router();
    let rows = get(&router, "/turns/t/artifacts").await;
    let handle = rows[0]["handle"].as_str().unwrap();
    let path = format!("/turns/t/artifacts/{handle}");
    (router, path)
}

/// The largest file below a directory.
fn largest_file(dir: &Path) -> PathBuf {
    let files = std::fs::read_dir(dir).unwrap().map(|it| it.unwrap().path());
    files.filter(|it| it.is_file()).max_by_key(|it| it.metadata().unwrap().len()).unwrap()
}

async fn status(router: &Router, path: &str) -> StatusCode {
    let request = Request::get(path).body(axum::body::Body::empty()).unwrap();
    router.clone().oneshot(request).await.unwrap().status()
}

/// What the server says about the content once it is compared.
async fn content(router: &Router, path: &str) -> (Value, String) {
    let row = get(router, &format!("{path}?wait=true")).await;
    let problem = row["contentProblem"].as_str().unwrap_or_default().to_owned();
    (row["content"].clone(), problem)
}

#[tokio::test]
async fn changed_and_cut_content_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let spools = Arc::new(DirSpoolStore::open(dir.path()).unwrap());
    let (router, path) = serve_artifact(Arc::clone(&spools), Arc::clone(&spools)).await;
    assert_eq!(content(&router, &path).await, ("verified".into(), String::new()));
    assert_eq!(status(&router, &format!("{path}/lines")).await, StatusCode::OK);

    // One other byte in the middle, and the same length.
    let (router, path) = serve_artifact(Arc::clone(&spools), Arc::clone(&spools)).await;
    let file = largest_file(dir.path());
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let (state, problem) = content(&router, &path).await;
    assert_eq!(state, "changed");
    assert!(problem.contains("not the ones that were stored"), "{problem}");
    assert_ne!(status(&router, &format!("{path}/lines")).await, StatusCode::OK);

    // A part of it.
    let (router, path) = serve_artifact(Arc::clone(&spools), spools).await;
    std::fs::write(&file, &bytes[..middle]).unwrap();
    let (state, problem) = content(&router, &path).await;
    assert_eq!(state, "changed");
    assert!(problem.contains("bytes"), "{problem}");
}

#[tokio::test]
async fn the_first_lines_do_not_wait_for_the_verification() {
    let dir = tempfile::tempdir().unwrap();
    let spools = HeldSpools {
        below: DirSpoolStore::open(dir.path()).unwrap(),
        reads: Arc::new(Semaphore::new(0)),
    };
    let reads = Arc::clone(&spools.reads);
    let spools = Arc::new(spools);
    let (router, path) = serve_artifact(Arc::clone(&spools), spools).await;
    let row = get(&router, &path).await;
    assert_eq!((&row["content"], &row["lines"]), (&"unverified".into(), &100_001.into()), "{row}");
    let page = get(&router, &format!("{path}/lines?start=3&count=2")).await;
    assert_eq!(page["lines"][1]["text"], "000004 all is well");
    assert_eq!(get(&router, &path).await["content"], "unverified");
    // The rest can be read now.
    reads.add_permits(1000);
    assert_eq!(content(&router, &path).await.0, "verified");
}

/// Content whose reads behind the first bytes wait for permits.
#[derive(Debug)]
struct HeldSpools {
    below: DirSpoolStore,
    reads: Arc<Semaphore>,
}

#[derive(Debug)]
struct HeldReader {
    below: Arc<dyn SpoolReader>,
    reads: Arc<Semaphore>,
}

impl HeldSpools {
    fn hold(&self, reader: Arc<dyn SpoolReader>) -> Arc<dyn SpoolReader> {
        Arc::new(HeldReader { below: reader, reads: Arc::clone(&self.reads) })
    }
}

impl SpoolStore for HeldSpools {
    fn write(
        &self,
        key: SpoolKey,
        payload: SpoolPayload,
    ) -> BoxFuture<'_, Result<Arc<dyn SpoolReader>, SpoolError>> {
        self.below.write(key, payload)
    }

    fn read(
        &self,
        key: SpoolKey,
    ) -> BoxFuture<'_, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        Box::pin(async move { Ok(self.below.read(key).await?.map(|it| self.hold(it))) })
    }

    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        Box::pin(
            async move { Ok(SpoolStore::open(&self.below, reader).await?.map(|it| self.hold(it))) },
        )
    }

    fn delete(&self, key: SpoolKey) -> BoxFuture<'_, Result<bool, SpoolError>> {
        self.below.delete(key)
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        self.below.list()
    }
}

impl SpoolReader for HeldReader {
    fn byte_length(&self) -> u64 {
        self.below.byte_length()
    }

    fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        Box::pin(async move {
            if offset >= 1 << 20 {
                self.reads.acquire().await.unwrap().forget();
            }
            self.below.read_at(offset, len).await
        })
    }

    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        self.below.index()
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        self.below.describe()
    }
}
