//! Handlers that block, on a runtime with few threads for blocking work.

use std::sync::Mutex;
use std::time::Duration;

use haft::executors::{ProposedCall, Step, StepContext, StepError};
use haft::records::{CallState, ToolResults};
use haft::stores::TurnDir;
use haft::turn::{Deadlines, TurnReport};
use haft::{Agent, Tool};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// A runtime with one thread for blocking work.
fn runtime(mut builder: Builder) -> Runtime {
    builder.enable_all().max_blocking_threads(1).build().unwrap()
}

/// Turns at once that call a blocking handler each, whose result is written to a file.
async fn run_turns() -> Vec<TurnReport> {
    let executor = |ctx: StepContext| async move {
        Ok::<_, StepError>(match ctx.dispatch().iteration() {
            0 => Step::new().call(ProposedCall::new("log", "{}")),
            _ => Step::done(),
        })
    };
    let dir = tempfile::tempdir().unwrap();
    let store = TurnDir::open(dir.path()).unwrap();
    let log = Tool::builder("log").description("Reads the log.").handler(|| "nothing").build();
    let deadlines = Deadlines::new().call(Duration::from_secs(20));
    let builder = Agent::builder(executor).tool(log.unwrap()).inline_below(1).dir(&store);
    let agent = builder.deadlines(deadlines).build().unwrap();
    let mut running = JoinSet::new();
    for turn in 0..16 {
        let agent = agent.clone();
        let input = agent.turn([]).system("You help.").id(format!("t-{turn}"));
        running.spawn(async move { input.report().await.unwrap() });
    }
    let reports = running.join_all().await;
    store.close().await;
    reports
}

fn check_reports(reports: &[TurnReport]) {
    for call in reports.iter().flat_map(|it| &it.calls) {
        assert_eq!(call.state(), CallState::Succeeded, "{call:?}");
    }
    assert_eq!(reports.iter().map(|it| it.calls.len()).sum::<usize>(), 16);
}

/// A thread that waited for its result to be written would keep the writer from running.
#[test]
fn blocking_calls_hold_no_thread_while_they_wait() {
    check_reports(&runtime(Builder::new_current_thread()).block_on(run_turns()));
    check_reports(&runtime(Builder::new_multi_thread()).block_on(run_turns()));
}

/// The only thread of the runtime has something else to do while the handler waits for it.
#[tokio::test]
async fn a_synchronous_handler_leaves_the_workers_alone() {
    let (begun, mut has_begun) = tokio::sync::mpsc::channel(1);
    let (sender, receiver) = std::sync::mpsc::channel();
    let receiver = Mutex::new(receiver);
    let wait = Tool::builder("wait").description("Waits.").handler(move || {
        begun.try_send(()).unwrap();
        let received = receiver.lock().unwrap().recv_timeout(Duration::from_secs(20));
        received.unwrap_or("nothing came")
    });
    let executor = |ctx: StepContext| async move {
        Ok::<_, StepError>(match ctx.dispatch().iteration() {
            0 => Step::new().call(ProposedCall::new("wait", "{}")),
            _ => Step::done(),
        })
    };
    let agent = Agent::builder(executor).tool(wait.build().unwrap()).build().unwrap();
    let answer = async {
        has_begun.recv().await.unwrap();
        sender.send("it came").unwrap();
    };
    let (report, ()) = tokio::join!(agent.turn([]).system("You help.").report(), answer);
    let results = report.unwrap().calls[0].results.clone();
    assert_eq!(results, Some(ToolResults::Text("it came".to_owned())));
}
