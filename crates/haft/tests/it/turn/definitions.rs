//! Turns that are resumed after the definition of their agent was edited.

use std::sync::Arc;

use haft::executors::Step;
use haft::stores::MemoryStore;
use haft::turn::{Agent, GatePolicy, TurnHistory, TurnOutcome};

use super::gates::{SECRET, done};
use super::{agent, call, input, steps};

fn build_agent(store: &Arc<MemoryStore>, definition: &str) -> Agent {
    let deploy = haft::Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
    let deploy = deploy.handler(|| "deployed").build().unwrap();
    let built = agent(steps([|_| Ok(Step::new().call(call("deploy", "{}"))), done])).tool(deploy);
    let built = built.store(Arc::clone(store) as _).secret(SECRET).definition(definition);
    built.gate_policy(GatePolicy::Suspend).build().unwrap()
}

#[tokio::test]
async fn another_definition_is_noted_and_the_turn_goes_on() {
    for (second, third, expected) in [("a", "a", 0), ("b", "b", 1), ("b", "a", 2)] {
        let store = Arc::new(MemoryStore::new());
        let waiting = input(&build_agent(&store, "a")).report().await.unwrap();
        let resumed = build_agent(&store, second).resume(&waiting.turn).report().await.unwrap();
        assert!(matches!(resumed.outcome, TurnOutcome::Waiting { .. }));
        let last = build_agent(&store, third);
        let gates = last.stored_turns().gates().open_gates(None).await.unwrap();
        last.stored_turns().gates().resolve(&gates[0].id, true.into(), "ann").await.unwrap();
        let report = last.resume(&waiting.turn).report().await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed);
        let stored = last.stored_turns().load_turn(&waiting.turn).await.unwrap().unwrap();
        let history = TurnHistory::read(&stored).unwrap();
        assert_eq!(history.redefined_at.len(), expected, "{second} {third}");
    }
}
