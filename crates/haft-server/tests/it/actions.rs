//! Actions: cancelling turns of other processes, and standing approvals.

use std::sync::Arc;

use haft::executors::{ProposedCall, Step, StepContext, StepError};
use haft::stores::{DirApprovals, MemoryStore};
use haft::turn::{Deadlines, GatePolicy, TurnOutcome};
use haft::{Agent, Tool};
use haft_server::{Access, Api};
use serde_json::json;

use super::client::{escape, get, post, server};

#[tokio::test]
async fn cancelling_reaches_a_turn_that_another_process_runs() {
    let store = Arc::new(MemoryStore::new());
    let never = |_: StepContext| async {
        std::future::pending::<()>().await;
        Err::<Step, _>(StepError::new("not reached"))
    };
    let other = Agent::builder(never).store(Arc::clone(&store) as _).secret([7; 32]);
    let deadlines = Deadlines::new().lease(std::time::Duration::from_millis(300));
    let other = other.deadlines(deadlines).build().unwrap();
    let mut running = tokio::task::JoinSet::new();
    running.spawn(
        async move { other.turn("Go!").system("Wait.").id("stuck").report().await.unwrap() },
    );
    let router = server(&store, Access::Act);
    while get(&router, "/turns").await["turns"].as_array().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let (status, held) = post(&router, "/turns/stuck/resume", &json!({})).await;
    assert_eq!((status.as_u16(), &held["message"]), (409, &"a process runs the turn".into()));
    let (status, _) = post(&router, "/turns/stuck/cancel", &json!({"reason": "too slow"})).await;
    assert_eq!(status, 200);
    let report = running.join_next().await.unwrap().unwrap();
    assert!(matches!(&report.outcome, TurnOutcome::Cancelled { .. }), "{:?}", report.outcome);
    let detail = get(&router, "/turns/stuck").await;
    assert_eq!(detail["turn"]["state"], "cancelled");
    let (status, problem) =
        post(&server(&store, Access::ReadOnly), "/turns/stuck/cancel", &json!({})).await;
    assert_eq!((status.as_u16(), &problem["code"]), (403, &"E_API_READ_ONLY".into()));
}

#[tokio::test]
async fn a_standing_approval_is_given_listed_and_revoked() {
    let (store, dir) = (Arc::new(MemoryStore::new()), tempfile::tempdir().unwrap());
    let deploy = || {
        let tool = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
        tool.handler(|| "deployed").build().unwrap()
    };
    let executor = |ctx: StepContext| async move {
        Ok::<_, StepError>(match ctx.dispatch().iteration() {
            0 => Step::new().call(ProposedCall::new("deploy", "{}")),
            _ => Step::done().say(ctx.message("Done.")?),
        })
    };
    let agent = Agent::builder(executor)
        .tool(deploy())
        .store(Arc::clone(&store) as _)
        .approvals(Arc::new(DirApprovals::new(dir.path())))
        .identity("/agents/shop")
        .secret([7; 32])
        .gate_policy(GatePolicy::Suspend)
        .build()
        .unwrap();
    let api = Api::builder(agent.stored_turns().clone()).agent(agent.clone());
    let router = api.access(Access::Act).actor("Ada").build().router();
    let first = agent.turn("Go!").system("You deploy.").report().await.unwrap();
    assert_eq!(get(&router, "/turns?state=waiting").await["turns"][0]["question"], "May I?");
    let gates = get(&router, "/gates").await;
    let gate = escape(gates[0]["id"].as_str().unwrap());
    let decision = json!({"choice": "approve", "always": {"scope": "agent", "anyArguments": true}});
    let (status, decided) = post(&router, &format!("/gates/{gate}/decision"), &decision).await;
    assert_eq!((status.as_u16(), &decided["decision"]), (200, &"resolved".into()), "{decided}");
    while get(&router, &format!("/turns/{}", first.turn)).await["turn"]["state"] != "completed" {
        tokio::task::yield_now().await;
    }
    // The next turn does not ask.
    let second = agent.turn("Again!").system("You deploy.").report().await.unwrap();
    assert_eq!(second.outcome, TurnOutcome::Completed);
    let grants = get(&router, "/grants").await;
    assert_eq!(
        (&grants[0]["tool"], &grants[0]["agent"]),
        (&"deploy".into(), &"/agents/shop".into())
    );
    assert!(grants[0].get("refusal").is_none() && grants[0].get("expiresAt").is_some());
    let id = escape(grants[0]["id"].as_str().unwrap());
    let (status, left) = post(&router, &format!("/grants/{id}/revoke"), &json!({})).await;
    assert_eq!(status, 200);
    assert!(left.as_array().unwrap().iter().all(|it| it.get("refusal").is_some()), "{left}");
    let third = agent.turn("Once more!").system("You deploy.").report().await.unwrap();
    assert!(matches!(third.outcome, TurnOutcome::Waiting { .. }), "it asks again");
}

#[tokio::test]
async fn a_turn_whose_gate_was_decided_elsewhere_is_resumed() {
    let store = Arc::new(MemoryStore::new());
    let tool = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
    let executor = |ctx: StepContext| async move {
        Ok::<_, StepError>(match ctx.dispatch().iteration() {
            0 => Step::new().call(ProposedCall::new("deploy", "{}")),
            _ => Step::done().say(ctx.message("Done.")?),
        })
    };
    let agent = Agent::builder(executor)
        .tool(tool.handler(|| "deployed").build().unwrap())
        .store(Arc::clone(&store) as _)
        .secret([7; 32])
        .gate_policy(GatePolicy::Suspend)
        .build()
        .unwrap();
    let turn = agent.turn("Go!").system("You deploy.").report().await.unwrap().turn;
    let api = Api::builder(agent.stored_turns().clone()).agent(agent.clone());
    let router = api.access(Access::Act).build().router();
    let path = format!("/turns/{turn}");
    assert_eq!(get(&router, &path).await["actions"]["resume"], false, "its gate is open");
    let gate = agent.gates().open_gates(None).await.unwrap().remove(0);
    agent.gates().resolve(&gate.id, true.into(), "Bob").await.unwrap();
    let detail = get(&router, &path).await;
    assert_eq!(
        (&detail["turn"]["state"], &detail["actions"]["resume"]),
        (&"waiting".into(), &true.into())
    );
    let (status, started) = post(&router, &format!("{path}/resume"), &json!({})).await;
    assert_eq!(status, 200, "{started}");
    while get(&router, &path).await["turn"]["state"] != "completed" {
        tokio::task::yield_now().await;
    }
    let (status, problem) = post(&router, &format!("{path}/resume"), &json!({})).await;
    assert_eq!((status.as_u16(), &problem["code"]), (409, &"E_API_NOT_AVAILABLE".into()));
}
