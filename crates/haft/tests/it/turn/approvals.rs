//! Attacks on approvals by a process that can write to the store but does not have the key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft::error::Coded as _;
use haft::executors::Step;
use haft::records::CallState;
use haft::stores::{
    DirApprovals, GateRow, LeaseRequest, MemoryStore, NewTurn, Row, RowKind, StoreWrite,
    StoredTurn, TurnId, TurnStore, TurnStoreExt as _,
};
use haft::tools::ToolEffect;
use haft::turn::{Agent, GateKey, Gatekeeper, SystemClock, TurnReport};
use haft::{Args, Tool};
use serde_json::{Value, json};

use super::gates::{SECRET, done};
use super::{agent, call, input, pass, steps};

const WAIT: Duration = Duration::from_secs(60);

/// A tool that requires approval, and how often it ran.
fn wipe(effect: ToolEffect, program: &str) -> (Tool, Arc<AtomicU32>) {
    let ran = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&ran);
    let schema = haft::schema::object().field("id", haft::schema::integer().required());
    let tool = Tool::builder("wipe")
        .description("Wipes.")
        .effect(effect)
        .input(schema)
        .requires_approval("May I wipe this?")
        .definition_part("argv", program)
        .handler(move |args: Args| {
            count.fetch_add(1, Ordering::SeqCst);
            format!("wiped {args}")
        });
    (tool.build().unwrap(), ran)
}

struct Attacked {
    program: &'static str,
    store: Arc<MemoryStore>,
    ledger: Arc<DirApprovals>,
    _dir: tempfile::TempDir,
}

impl Attacked {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Arc::new(DirApprovals::new(dir.path()));
        Self { program: "wipe", store: Arc::new(MemoryStore::new()), ledger, _dir: dir }
    }

    fn agent(&self, effect: ToolEffect) -> (Agent, Arc<AtomicU32>) {
        let (tool, ran) = wipe(effect, self.program);
        let built = agent(steps([|_| Ok(Step::new().call(call("wipe", "{\"id\":7}"))), done]));
        let built = built.tool(tool).store(Arc::clone(&self.store) as _).secret(SECRET);
        (built.approvals(Arc::clone(&self.ledger) as _).build().unwrap(), ran)
    }

    /// A turn whose process died while it waited at its gate.
    async fn waiting(&self) -> StoredTurn {
        self.waiting_with(ToolEffect::Once).await
    }

    async fn waiting_with(&self, effect: ToolEffect) -> StoredTurn {
        let (agent, ran) = self.agent(effect);
        tokio::select! {
            _ = input(&agent).id("t").report() => unreachable!("no decision arrives"),
            () = pass(WAIT) => {}
        }
        assert_eq!(ran.load(Ordering::SeqCst), 0);
        self.stored().await
    }

    async fn stored(&self) -> StoredTurn {
        self.store.load(turn()).await.unwrap().unwrap()
    }

    /// Replaces the store by one with other rows and gates.
    async fn rewrite(&mut self, stored: &StoredTurn, rows: Vec<Row>, gates: &[GateRow]) {
        let mut writes: Vec<_> = stored.journal.iter().cloned().map(StoreWrite::Journal).collect();
        writes.extend(rows.into_iter().map(StoreWrite::Put));
        for gate in gates {
            let (id, json) = (gate.id.clone(), gate.json.to_string());
            writes.push(StoreWrite::open_gate(id, json));
        }
        writes.push(StoreWrite::Status(stored.summary.status));
        let holder = LeaseRequest::new("attacker", Duration::ZERO);
        self.store = Arc::new(MemoryStore::new());
        self.store.create(NewTurn::new(turn()).writes(writes), holder).await.unwrap();
        for gate in gates {
            if let Some(settlement) = &gate.settlement {
                let settled = self.store.settle(gate.id.clone(), settlement.to_string()).await;
                assert!(settled.unwrap().first);
            }
        }
    }

    /// Resumes the turn with a tool of this effect. No decision arrives for a while; then the process dies.
    async fn resume(&mut self, effect: ToolEffect) -> (Option<TurnReport>, u32) {
        // The lease of the process that died has expired.
        let stored = self.stored().await;
        self.rewrite(&stored, stored.rows.clone(), &stored.gates).await;
        let ((agent, ran), turn) = (self.agent(effect), turn());
        let report = tokio::select! {
            report = agent.resume(&turn).report() => Some(report.unwrap()),
            () = pass(WAIT) => None,
        };
        (report, ran.load(Ordering::SeqCst))
    }

    fn keeper(&self) -> Gatekeeper {
        let key = GateKey::from_bytes(SECRET);
        Gatekeeper::new(Arc::clone(&self.store) as _, key, Arc::new(SystemClock::new()))
    }

    async fn approve(&self) {
        let gate = self.keeper().open_gates(None).await.unwrap().remove(0);
        self.keeper().resolve(&gate.id, json!(true), "ada").await.unwrap();
    }
}

fn turn() -> TurnId {
    "t".parse().unwrap()
}

/// The rows with the state of the call changed.
fn with_state(stored: &StoredTurn, state: &str) -> Vec<Row> {
    let edit = |row: &Row| {
        let mut row = row.clone();
        if row.kind == RowKind::ToolCall {
            let mut json: Value = serde_json::from_str(&row.json).unwrap();
            json["state"] = json!(state);
            row.json = json.to_string();
        }
        row
    };
    stored.rows.iter().map(edit).collect()
}

#[tokio::test(start_paused = true)]
async fn a_stored_state_approves_nothing() {
    for keeps_gate in [true, false] {
        let mut attacked = Attacked::new();
        let stored = attacked.waiting().await;
        let gates = if keeps_gate { stored.gates.clone() } else { Vec::new() };
        attacked.rewrite(&stored, with_state(&stored, "approved"), &gates).await;
        let (report, ran) = attacked.resume(ToolEffect::Once).await;
        assert!(report.is_none(), "the turn waits for its approval (gate kept: {keeps_gate})");
        assert_eq!(ran, 0);
        let open = attacked.keeper().open_gates(None).await.unwrap();
        assert_eq!(open.len(), 1);
        attacked.approve().await;
        let (report, ran) = attacked.resume(ToolEffect::Once).await;
        assert_eq!((report.unwrap().calls[0].state(), ran), (CallState::Succeeded, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_restored_backup_does_not_approve_again() {
    for state in ["requested", "approved"] {
        let mut attacked = Attacked::new();
        attacked.waiting().await;
        attacked.approve().await;
        let backup = attacked.stored().await;
        let (report, ran) = attacked.resume(ToolEffect::Once).await;
        assert_eq!((report.unwrap().calls[0].state(), ran), (CallState::Succeeded, 1));

        attacked.rewrite(&backup, with_state(&backup, state), &backup.gates).await;
        let (report, ran) = attacked.resume(ToolEffect::Once).await;
        let report = report.unwrap();
        assert_eq!((report.calls[0].state(), ran), (CallState::Unknown, 0), "{state}");
        let error = report.calls[0].error.as_ref().unwrap();
        assert_eq!(error.code.as_str(), "E_TOOL_OUTCOME_UNKNOWN");
        assert!(!error.retryable);
    }
}

/// A crash between the approval and the end of a call that can be repeated does not ask again.
#[tokio::test(start_paused = true)]
async fn a_repeatable_call_runs_again_with_its_approval() {
    let mut attacked = Attacked::new();
    attacked.waiting_with(ToolEffect::Idempotent).await;
    attacked.approve().await;
    let crashed = attacked.stored().await;
    for _ in 0..2 {
        attacked.rewrite(&crashed, crashed.rows.clone(), &crashed.gates).await;
        let (report, ran) = attacked.resume(ToolEffect::Idempotent).await;
        assert_eq!((report.unwrap().calls[0].state(), ran), (CallState::Succeeded, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_started_is_not_repeated_because_its_tool_has_another_effect_now() {
    for effect in [ToolEffect::Once, ToolEffect::Idempotent, ToolEffect::ReadOnly] {
        let mut attacked = Attacked::new();
        let stored = attacked.waiting().await;
        attacked.rewrite(&stored, with_state(&stored, "running"), &stored.gates).await;
        let (report, ran) = attacked.resume(effect).await;
        assert_eq!((report.unwrap().calls[0].state(), ran), (CallState::Unknown, 0), "{effect:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_tool_asks_again() {
    for is_approved in [true, false] {
        let mut attacked = Attacked::new();
        attacked.waiting().await;
        if is_approved {
            attacked.approve().await;
        }
        attacked.program = "format-the-disk";
        let (report, ran) = attacked.resume(ToolEffect::Once).await;
        assert!(report.is_none(), "the turn waits for another approval");
        assert_eq!(ran, 0);
        let open = attacked.keeper().open_gates(None).await.unwrap();
        assert_eq!(open.len(), 1, "the gate of the old definition is closed");
        attacked.approve().await;
        let (report, ran) = attacked.resume(ToolEffect::Once).await;
        assert_eq!((report.unwrap().calls[0].state(), ran), (CallState::Succeeded, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_effect_asks_again() {
    let mut attacked = Attacked::new();
    attacked.waiting().await;
    attacked.approve().await;
    let (report, ran) = attacked.resume(ToolEffect::Idempotent).await;
    assert_eq!((report.is_none(), ran), (true, 0));
}

#[tokio::test(start_paused = true)]
async fn edited_arguments_are_checked_and_kept_beside_the_proposed_ones() {
    let mut attacked = Attacked::new();
    attacked.waiting().await;
    let keeper = attacked.keeper();
    let gate = keeper.open_gates(None).await.unwrap().remove(0);
    for wrong in [json!({"id": "eight"}), json!({}), json!(8)] {
        let refused = keeper.approve_edited(&gate.id, &wrong, "ada").await.unwrap_err();
        assert_eq!(refused.code(), "E_INVALID_TURN_GATE_RESOLUTION", "{wrong}");
    }
    keeper.approve_edited(&gate.id, &json!({"id": 8}), "ada").await.unwrap();
    let (report, ran) = attacked.resume(ToolEffect::Once).await;
    let call = Arc::clone(&report.unwrap().calls[0]);
    assert_eq!((call.state(), ran), (CallState::Succeeded, 1));
    assert_eq!(call.raw().to_text(), "{\"id\":7}");
    assert_eq!(call.edited.as_ref().unwrap().to_text(), "{\"id\":8}");
    assert_eq!(call.accepted.as_ref().unwrap().to_string(), "{\"id\":8}");
    // The record that another process loads says the same.
    let stored = attacked.stored().await;
    let row = stored.rows.iter().find(|row| row.kind == RowKind::ToolCall).unwrap();
    let json: Value = serde_json::from_str(&row.json).unwrap();
    assert_eq!(json["edited"], "{\"id\":8}");
}

/// The signature covers the edited arguments.
#[tokio::test(start_paused = true)]
async fn edited_arguments_cannot_be_edited_by_another() {
    for edited in [json!("{\"id\":9}"), Value::Null] {
        let mut attacked = Attacked::new();
        attacked.waiting().await;
        let gate = attacked.keeper().open_gates(None).await.unwrap().remove(0);
        attacked.keeper().approve_edited(&gate.id, &json!({"id": 8}), "ada").await.unwrap();
        let mut stored = attacked.stored().await;
        let mut settlement: Value =
            serde_json::from_str(stored.gates[0].settlement.as_ref().unwrap()).unwrap();
        settlement["edited"] = edited;
        stored.gates[0].settlement = Some(settlement.to_string());
        attacked.rewrite(&stored, stored.rows.clone(), &stored.gates).await;
        let (report, ran) = attacked.resume(ToolEffect::Once).await;
        let report = report.unwrap();
        let error = report.calls[0].error.as_ref().unwrap();
        assert_eq!((error.code.as_str(), ran), ("E_TURN_GATE_FORGED", 0));
    }
}
