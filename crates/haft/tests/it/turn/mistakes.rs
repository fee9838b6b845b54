//! Programs and inputs that are wrong: a clear error each, and nothing is lost.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use haft::error::Coded as _;
use haft::executors::{Step, StepContext, StepError};
use haft::middleware::Next;
use haft::records::{Memory, Message, Record as _, Retrievable, Thought};
use haft::stores::{DirSpoolStore, MemoryStore};
use haft::stores::{SpoolKey, SpoolStore as _};
use haft::tools::{ByteStream, ToolEffect};
use haft::trust::TrustTier;
use haft::turn::Instruction;
use haft::turn::Timestamp;
use haft::turn::{Deadlines, Gate, GatePolicy, Limit, Limits, TurnOutcome};
use haft::{DispatchContext, Tool, ToolFailure};
use serde_json::json;

use super::{agent, call, input, pass, say, steps};

/// A tool that would give ten gigabytes.
#[tokio::test]
async fn a_result_without_an_end_meets_the_limit_of_the_spool() {
    struct Endless(u64);
    impl Stream for Endless {
        type Item = Result<Bytes, ToolFailure>;
        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            static PIECE: [u8; 65_536] = [b'x'; 65_536];
            self.0 += 65_536;
            assert!(self.0 < 8 << 20, "nobody stopped it");
            Poll::Ready((self.0 < 10 << 30).then(|| Ok(Bytes::from_static(&PIECE))))
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let spools = Arc::new(DirSpoolStore::open(folder.path()).unwrap().max_bytes(1 << 20));
    let tool = Tool::builder("all").description("Gives all.").effect(ToolEffect::ReadOnly);
    let tool = tool.handler(async || ByteStream::new(Endless(0))).build().unwrap();
    let built = agent(steps([
        |_| Ok(Step::new().call(call("all", "{}"))),
        |cx| Ok(Step::done().say(cx.message("done")?)),
    ]));
    let agent = built.tool(tool).spools(Arc::clone(&spools) as _).build().unwrap();
    let report = input(&agent).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let error = report.calls[0].error.as_ref().unwrap();
    assert!(error.message.contains("1048576 bytes; ask for less"), "{error:?}");
    assert_eq!(spools.list().await.unwrap(), Vec::<SpoolKey>::new());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn an_executor_that_never_signals_comes_to_the_limit_of_iterations() {
    let report = agent(|_: StepContext| async { Ok::<_, StepError>(Step::new()) });
    let report = input(&report.build().unwrap()).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::LimitReached { limit: Limit::Iterations });
    assert_eq!(report.iterations, 50);
    assert_eq!(report.error.unwrap().code.unwrap().as_str(), "E_LIMIT_REACHED");
}

#[tokio::test]
async fn middleware_that_calls_nothing_is_named() {
    let lazy = async |_: DispatchContext, _: Next<DispatchContext>| Ok(());
    for stage in ["dispatch-input", "dispatch-output"] {
        let built = agent(say("x"));
        let built = match stage {
            "dispatch-input" => built.dispatch_input("lazy", lazy),
            _ => built.dispatch_output("lazy", lazy),
        };
        let report = input(&built.build().unwrap()).report().await.unwrap();
        assert!(matches!(report.outcome, TurnOutcome::Failed { .. }));
        let error = report.error.unwrap();
        assert_eq!(error.code.as_ref().unwrap().as_str(), "E_PIPELINE_SHORT_CIRCUITED");
        assert!(error.message.as_str().contains("`lazy`"), "{error:?}");
        assert_eq!(error.stage.unwrap().as_str(), stage);
    }
}

#[tokio::test]
async fn two_records_of_the_input_with_one_id_are_refused() {
    let at = Timestamp::EPOCH;
    let message = || Message::user_at("x", "hello", at).unwrap();
    let memory =
        || Memory::new("x", "m", at).with_confidence(1.0).with_importance(1.0).checked().unwrap();
    let thought = || Thought::new("x", "t", at).checked().unwrap();
    let found = || {
        let found = Retrievable::new("x", "r", TrustTier::ThirdPartyPublic, at);
        found.checked().unwrap()
    };
    let instruction = || Instruction::from_developer("x", "i").unwrap();
    let store = Arc::new(MemoryStore::new());
    let agent = agent(say("x")).store(Arc::clone(&store) as _).build().unwrap();
    for (field, turn) in [
        ("messages", input(&agent).message(message()).message(message())),
        ("memories", input(&agent).memory(memory()).memory(memory())),
        ("thoughts", input(&agent).thought(thought()).thought(thought())),
        ("retrievables", input(&agent).retrieved(found()).retrieved(found())),
        ("instructions", input(&agent).instruction(instruction()).instruction(instruction())),
    ] {
        let error = turn.report().await.unwrap_err();
        assert_eq!(error.code(), "E_INVALID_TURN_CONTEXT");
        let text = error.to_string();
        assert!(text.contains(field) && text.contains("`x`"), "{text}");
        assert!(store.is_empty());
    }
}

/// A store that another process has locked.
#[cfg(all(unix, feature = "sqlite"))]
#[test]
fn a_locked_store_is_an_error_in_time() {
    use haft::stores::{SqliteOptions, SqliteStore};
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions::default().busy_timeout(Duration::from_millis(20));
    super::block_on(async {
        let store = Arc::new(SqliteStore::open_with(folder.path(), options).unwrap());
        let agent = agent(say("x")).store(Arc::clone(&store) as _).build().unwrap();
        let locked = locked_by_another(store.file());
        let error = input(&agent).id("t").report().await.unwrap_err();
        assert_eq!(error.code(), "E_STORE");
        assert!(error.retryable(), "{error:?}");
        drop(locked);
        assert_eq!(input(&agent).id("t").report().await.unwrap().outcome, TurnOutcome::Completed);
    });
}

/// A store that may not be written to.
#[cfg(all(unix, feature = "sqlite"))]
#[test]
fn a_read_only_store_is_an_error() {
    use haft::stores::SqliteStore;
    use haft::stores::StoreError;
    use std::os::unix::fs::PermissionsExt as _;
    haft_testkit::run_unprivileged("turn::mistakes::a_read_only_store_is_an_error", || {
        let mode = |mode| std::fs::Permissions::from_mode(mode);
        let empty = tempfile::tempdir().unwrap();
        std::fs::set_permissions(empty.path(), mode(0o555)).unwrap();
        let error = SqliteStore::open(empty.path()).unwrap_err();
        assert!(matches!(error, StoreError::Backend { .. }), "{error}");
        std::fs::set_permissions(empty.path(), mode(0o755)).unwrap();
    });
}

/// Holds the lock of a file, as another process does that writes and does not come to its end.
#[cfg(all(unix, feature = "sqlite"))]
fn locked_by_another(file: &std::path::Path) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(file).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

/// Time at a gate is not the time of a pipeline.
#[tokio::test(start_paused = true)]
async fn middleware_that_waits_at_a_gate_is_not_cut_off() {
    let ask = async |ctx: DispatchContext, next: Next<DispatchContext>| {
        ctx.ask(haft::turn::GateRequest::new("may I?")).await?;
        next.run().await
    };
    let deadlines = Deadlines::new().pipeline(Duration::from_secs(10));
    let limits = Limits::new().wall_time(Duration::from_secs(60));
    for stage in ["in", "out"] {
        let built = agent(say("x")).deadlines(deadlines).limits(limits);
        let built = match stage {
            "in" => built.dispatch_input("ask", ask),
            _ => built.dispatch_output("ask", ask),
        };
        let agent = built.build().unwrap();
        let (report, ()) = tokio::join!(input(&agent).report(), async {
            pass(Duration::from_secs(7200)).await;
            let gate = agent.gates().open_gates(None).await.unwrap().remove(0);
            agent.gates().resolve(&gate.id, json!(true), "ada").await.unwrap();
        });
        assert_eq!(report.unwrap().outcome, TurnOutcome::Completed, "{stage}");
    }
}

/// An executor and an approver may panic before they return a future.
#[tokio::test]
async fn panics_before_the_first_await_are_errors() {
    let executor = |ctx: StepContext| {
        assert!(ctx.dispatch().iteration() > 7, "too early");
        async move { Ok::<_, StepError>(Step::done()) }
    };
    let report = input(&agent(executor).build().unwrap()).report().await.unwrap();
    let error = report.error.unwrap();
    assert!(error.message.contains("the executor panicked: too early"), "{error:?}");

    let tool = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
    let built = agent(steps([|_| Ok(Step::new().call(call("deploy", "{}")))]));
    let built = built.tool(tool.handler(|| "done").build().unwrap());
    let built = built.approver(|gate: Gate| {
        assert!(gate.reason.is_empty(), "too early");
        async move { true }
    });
    let built = built.gate_policy(GatePolicy::Suspend).build().unwrap();
    let report = input(&built).report().await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Waiting { .. }), "{report:?}");
}
