//! Standing approvals, and attacks on them by a process that can write to the store, or to the grants, without the key.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft::executors::{Step, StepContext, StepError};
use haft::records::CallState;
use haft::stores::{DirApprovals, MemoryStore, RowKind, TurnStore};
use haft::tools::ToolEffect;
use haft::turn::{
    Agent, Clock as _, GateKey, GrantRefusal, GrantScope, ManualClock, StandingApproval, Timestamp,
    TurnReport,
};
use haft::{Args, Tool};
use serde_json::{Value, json};

use super::gates::SECRET;
use super::points::{Fate, Guarded, Judge};
use super::{Seen, agent, call, input, pass};

const WAIT: Duration = Duration::from_secs(60);

/// A store, its grants and what runs with them.
struct Bench {
    dir: tempfile::TempDir,
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
    ran: Arc<AtomicU32>,
    seen: Seen,
    agent: &'static str,
    program: &'static str,
    secret: [u8; 32],
}

impl Bench {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            store: Arc::new(MemoryStore::new()),
            clock: Arc::new(ManualClock::new(Timestamp::EPOCH)),
            ran: Arc::default(),
            seen: Seen::default(),
            agent: "/agents/shop",
            program: "wipe",
            secret: SECRET,
        }
    }

    fn tool(&self) -> Tool {
        let count = Arc::clone(&self.ran);
        let schema = haft::schema::object().field("id", haft::schema::integer().required());
        let tool = Tool::builder("wipe")
            .description("Wipes.")
            .effect(ToolEffect::Once)
            .input(schema)
            .requires_approval("May I wipe this?")
            .definition_part("argv", self.program)
            .handler(move |args: Args| {
                count.fetch_add(1, Ordering::SeqCst);
                format!("wiped {args}")
            });
        tool.build().unwrap()
    }

    /// An agent of turns that call `wipe` with these ids, one per step.
    fn agent(&self, ids: &'static [u32]) -> Agent {
        self.runner_on(Arc::clone(&self.store) as _, ids)
    }

    /// The same on another store.
    fn runner_on(&self, store: Arc<dyn TurnStore>, ids: &'static [u32]) -> Agent {
        let executor = move |ctx: StepContext| async move {
            let next = ids.get(ctx.dispatch().iteration() as usize);
            let args = next.map(|id| format!("{{\"id\":{id}}}"));
            Ok::<_, StepError>(
                args.map_or_else(Step::done, |it| Step::new().call(call("wipe", &it))),
            )
        };
        let built = agent(executor).tool(self.tool()).store(store);
        let built = built.secret(self.secret).clock(Arc::clone(&self.clock) as _);
        let built = built.approvals(Arc::new(self.approvals())).identity(self.agent);
        built.observer(self.seen.observer()).build().unwrap()
    }

    fn approvals(&self) -> DirApprovals {
        DirApprovals::new(self.dir.path())
    }

    /// Runs a turn until it ends or waits. Returns its report if it ended, and how often the tool ran.
    async fn run(&self, turn: &str, ids: &'static [u32]) -> (Option<TurnReport>, u32) {
        self.ran.store(0, Ordering::SeqCst);
        let agent = self.agent(ids);
        let report = tokio::select! {
            report = input(&agent).id(turn).report() => Some(report.unwrap()),
            () = pass(WAIT) => None,
        };
        (report, self.ran.load(Ordering::SeqCst))
    }

    /// Resumes a turn whose process died.
    async fn resume(&self, turn: &str, ids: &'static [u32]) -> (Option<TurnReport>, u32) {
        self.clock.advance(Duration::from_secs(3600));
        self.ran.store(0, Ordering::SeqCst);
        let agent = self.agent(ids);
        let report = tokio::select! {
            report = agent.resume(turn).report() => Some(report.unwrap()),
            () = pass(WAIT) => None,
        };
        (report, self.ran.load(Ordering::SeqCst))
    }

    /// Approves the open gate and later calls like its call.
    async fn approve_always(&self, always: StandingApproval) {
        let keeper = self.agent(&[]).gates();
        let gate = keeper.open_gates(None).await.unwrap().remove(0);
        keeper.approve_always(&gate.id, always, "ada").await.unwrap();
    }

    /// Runs a first turn, whose only call is approved for good, and returns the file of the grant.
    async fn give(&self, always: StandingApproval) -> PathBuf {
        let (report, ran) = self.run("first", &[7]).await;
        assert_eq!((report.is_none(), ran), (true, 0), "the first call is asked for");
        self.approve_always(always).await;
        let (report, ran) = self.resume("first", &[7]).await;
        assert_eq!((report.unwrap().calls[0].state(), ran), (CallState::Succeeded, 1));
        let listed = self.agent(&[]).gates().grants().await.unwrap();
        assert_eq!((listed.len(), listed[0].refusal), (1, None));
        self.dir.path().join(format!("grants/{}.json", listed[0].id))
    }

    fn edit(&self, file: &PathBuf, edit: impl FnOnce(&mut Value)) {
        let mut grant = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        edit(&mut grant);
        std::fs::write(file, grant.to_string()).unwrap();
    }

    fn warnings(&self) -> String {
        let events = self.seen.events();
        let all = events.iter().map(|event| serde_json::to_string(event).unwrap());
        all.filter(|it| it.contains("standing-approval")).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_grant_approves_later_calls_of_its_agent() {
    let bench = Bench::new();
    bench.give(StandingApproval::for_agent()).await;
    let (report, ran) = bench.run("second", &[7, 7]).await;
    assert_eq!(ran, 2, "calls of one turn have gates of their own");
    let report = report.unwrap();
    let grant = bench.agent(&[]).gates().grants().await.unwrap().remove(0).grant.unwrap();
    assert_eq!((grant.by.as_str(), grant.tool.as_str()), ("ada", "wipe"));
    assert_eq!((grant.scope, grant.holder.as_str()), (GrantScope::Agent, "/agents/shop"));
    assert_eq!(grant.arguments.as_deref(), Some("{\"id\":7}"));
    // The record, its stored form and the events say which grant it was.
    assert!(report.calls.iter().all(|call| call.grant == Some(grant.id)));
    let stored = bench.store.load(report.turn.clone()).await.unwrap().unwrap();
    let rows = stored.rows.iter().filter(|row| row.kind == RowKind::ToolCall);
    for row in rows {
        let json: Value = serde_json::from_str(&row.json).unwrap();
        assert_eq!(json["grant"], grant.id.to_string());
    }
    let events = bench.seen.events();
    let events = events.iter().map(|event| serde_json::to_value(event).unwrap());
    let granted = events.filter(|event| event["grant"] == grant.id.to_string());
    let granted: Vec<Value> = granted.map(|event| event["event"].clone()).collect();
    let of_call = ["turnGateClosed", "toolCall"];
    assert_eq!(granted, [of_call, of_call].concat(), "of the two calls, and not of the first turn");
    // Other arguments are asked for.
    let (report, ran) = bench.run("third", &[8]).await;
    assert_eq!((report.is_none(), ran), (true, 0));
}

#[tokio::test(start_paused = true)]
async fn a_grant_for_any_arguments_of_a_turn_ends_with_the_turn() {
    let bench = Bench::new();
    let (report, ran) = bench.run("first", &[7, 8, 9]).await;
    assert_eq!((report.is_none(), ran), (true, 0));
    let always = StandingApproval::in_turn().any_arguments();
    assert_eq!(always.scope, GrantScope::Turn);
    bench.approve_always(always).await;
    let (report, ran) = bench.resume("first", &[7, 8, 9]).await;
    let grants: Vec<bool> = report.unwrap().calls.iter().map(|it| it.grant.is_some()).collect();
    assert_eq!((ran, grants), (3, vec![false, true, true]));
    let (report, ran) = bench.run("second", &[7]).await;
    assert_eq!((report.is_none(), ran), (true, 0), "another turn is asked for");
}

/// What makes a grant approve nothing, and the reason that is logged.
struct Attack {
    name: &'static str,
    apply: fn(&mut Bench, &PathBuf),
    logged: Option<GrantRefusal>,
}

const ATTACKS: [Attack; 13] = [
    Attack {
        name: "forged without a signature",
        apply: |bench, file| bench.edit(file, |it| *it.get_mut("signature").unwrap() = Value::Null),
        logged: Some(GrantRefusal::Forged),
    },
    Attack {
        name: "signed with another key",
        apply: |bench, file| {
            let text = std::fs::read(file).unwrap();
            let grant = serde_json::from_slice(&text).unwrap();
            let forged = GateKey::from_bytes([77; 32]).sign_grant(grant);
            std::fs::write(file, serde_json::to_vec(&forged).unwrap()).unwrap();
            let _ = bench;
        },
        logged: Some(GrantRefusal::Forged),
    },
    Attack {
        name: "edited to cover any arguments",
        apply: |bench, file| {
            bench.edit(file, |it| {
                it.as_object_mut().unwrap().remove("arguments");
            });
        },
        logged: Some(GrantRefusal::Forged),
    },
    Attack {
        name: "edited to last longer",
        apply: |bench, file| bench.edit(file, |it| it["expiresAt"] = Value::Null),
        logged: Some(GrantRefusal::Forged),
    },
    Attack {
        name: "edited to hold for another agent",
        apply: |bench, file| {
            bench.agent = "/agents/other";
            bench.edit(file, |it| it["holder"] = "/agents/other".into());
        },
        logged: Some(GrantRefusal::Forged),
    },
    Attack {
        name: "put under another name",
        apply: |_, file| {
            std::fs::rename(file, file.with_file_name("0123456789abcdef.json")).unwrap();
        },
        logged: Some(GrantRefusal::Forged),
    },
    Attack {
        name: "replaced by rubbish",
        apply: |_, file| std::fs::write(file, "{").unwrap(),
        logged: Some(GrantRefusal::Forged),
    },
    Attack {
        name: "expired",
        apply: |bench, _| bench.clock.advance(Duration::from_secs(31 * 24 * 3600)),
        logged: Some(GrantRefusal::Expired),
    },
    Attack {
        name: "of another agent",
        apply: |bench, _| bench.agent = "/agents/other",
        logged: None,
    },
    Attack {
        name: "of another definition",
        apply: |bench, _| bench.program = "format-the-disk",
        logged: Some(GrantRefusal::OtherDefinition),
    },
    Attack {
        name: "of an agent with another key",
        apply: |bench, _| bench.secret = [78; 32],
        logged: Some(GrantRefusal::Forged),
    },
    Attack { name: "removed", apply: |_, file| std::fs::remove_file(file).unwrap(), logged: None },
    Attack {
        name: "replaced by a directory",
        apply: |_, file| {
            std::fs::remove_file(file).unwrap();
            std::fs::create_dir(file).unwrap();
        },
        logged: Some(GrantRefusal::Forged),
    },
];

#[tokio::test(start_paused = true)]
async fn grants_that_are_not_valid_approve_nothing_and_the_call_is_asked_for() {
    for Attack { name, apply, logged } in ATTACKS {
        let mut bench = Bench::new();
        let month = bench.clock.now().saturating_add(Duration::from_secs(30 * 24 * 3600));
        let file = bench.give(StandingApproval::for_agent().until(month)).await;
        apply(&mut bench, &file);
        let (report, ran) = bench.run("second", &[7]).await;
        assert_eq!((report.is_none(), ran), (true, 0), "{name}: the call is asked for");
        let warnings = bench.warnings();
        match logged {
            Some(reason) => assert!(warnings.contains(&reason.to_string()), "{name}: {warnings}"),
            None => assert_eq!(warnings, "", "{name}"),
        }
        let keeper = bench.agent(&[]).gates();
        let gate = keeper.open_gates(None).await.unwrap().remove(0);
        keeper.resolve(&gate.id, json!(true), "ada").await.unwrap();
        let (report, ran) = bench.resume("second", &[7]).await;
        let call = Arc::clone(&report.unwrap().calls[0]);
        assert_eq!((call.state(), call.grant, ran), (CallState::Succeeded, None, 1), "{name}");
    }
}

/// The file of a revoked grant is put back, and so is a store in which the grant had approved a call.
#[tokio::test(start_paused = true)]
async fn a_revoked_grant_approves_nothing_also_after_backups_are_restored() {
    let bench = Bench::new();
    let file = bench.give(StandingApproval::for_agent()).await;
    let copy = std::fs::read(&file).unwrap();
    let keeper = bench.agent(&[]).gates();
    let grant = keeper.grants().await.unwrap().remove(0).id;
    assert!(keeper.revoke_grant(grant).await.unwrap());
    for is_restored in [false, true] {
        if is_restored {
            std::fs::write(&file, &copy).unwrap();
        }
        let turn = format!("second-{is_restored}");
        let (report, ran) = bench.run(&turn, &[7]).await;
        assert_eq!((report.is_none(), ran), (true, 0), "restored: {is_restored}");
    }
    assert!(bench.warnings().contains("it was revoked"));
    // A turn that is resumed reads its decision again, and must not give the grant again.
    let (report, _) = bench.resume("first", &[7]).await;
    assert!(report.is_some());
    std::fs::remove_file(&file).unwrap();
    assert!(keeper.grants().await.unwrap().is_empty());
}

/// The grant approved the call, the process died before the handler started, and the grant was revoked meanwhile.
#[tokio::test(start_paused = true)]
async fn a_call_that_a_revoked_grant_had_approved_is_asked_for_again() {
    let mut bench = Bench::new();
    bench.give(StandingApproval::for_agent()).await;
    // The turn waits, because its agent is another one, and its gate is settled as the agent of the agent would.
    bench.agent = "/agents/other";
    let (report, ran) = bench.run("second", &[7]).await;
    assert_eq!((report.is_none(), ran), (true, 0));
    bench.agent = "/agents/shop";
    let keeper = bench.agent(&[]).gates();
    let gate = keeper.open_gates(None).await.unwrap().remove(0);
    let grant = keeper.grants().await.unwrap().remove(0).grant.unwrap();
    let granted = GateKey::from_bytes(SECRET).sign_granted(&gate, &grant, bench.clock.now());
    bench.store.settle(gate.id, serde_json::to_string(&granted).unwrap()).await.unwrap();
    let grant = keeper.grants().await.unwrap().remove(0).id;
    assert!(keeper.revoke_grant(grant).await.unwrap());
    for _ in 0..2 {
        let (report, ran) = bench.resume("second", &[7]).await;
        assert_eq!((report.is_none(), ran), (true, 0), "the call is asked for again");
        assert_eq!(keeper.open_gates(None).await.unwrap().len(), 1);
    }
    let gate = keeper.open_gates(None).await.unwrap().remove(0);
    keeper.resolve(&gate.id, json!(true), "bea").await.unwrap();
    let (report, ran) = bench.resume("second", &[7]).await;
    let call = Arc::clone(&report.unwrap().calls[0]);
    assert_eq!((call.state(), call.grant, ran), (CallState::Succeeded, None, 1));
}

/// A gate that was changed in the store is refused, and gives no grant.
#[tokio::test(start_paused = true)]
async fn a_decision_at_a_changed_gate_grants_nothing() {
    let bench = Bench::new();
    let agent = bench.agent(&[7]);
    let keeper = agent.gates();
    let ran = tokio::select! {
        report = input(&agent).id("first").report() => Some(report),
        () = pass(WAIT) => None,
    };
    assert!(ran.is_none());
    let gate = keeper.open_gates(None).await.unwrap().remove(0);
    // Somebody with write access shows another tool to the person who decides.
    let mut changed = serde_json::to_value(&gate).unwrap();
    changed["call"]["tool"] = json!("read");
    let changed: haft::turn::Gate = serde_json::from_value(changed).unwrap();
    let now = bench.clock.now();
    let always = StandingApproval::for_agent().any_arguments();
    let signed = GateKey::from_bytes(SECRET).sign_always(&changed, always, "ada", now);
    let signed = serde_json::to_string(&signed).unwrap();
    assert!(bench.store.settle(gate.id.clone(), signed).await.unwrap().first);
    let (report, ran) = bench.resume("first", &[7]).await;
    let report = report.unwrap();
    let error = report.calls[0].error.as_ref().unwrap();
    assert_eq!((error.code.as_str(), ran), ("E_TURN_GATE_FORGED", 0));
    assert!(keeper.grants().await.unwrap().is_empty());
}

/// The signature of a decision covers how far it reaches.
#[tokio::test(start_paused = true)]
async fn a_decision_cannot_be_widened() {
    for edit in ["scope", "always", "grant"] {
        let bench = Bench::new();
        let (report, _) = bench.run("first", &[7]).await;
        assert!(report.is_none());
        let keeper = bench.agent(&[]).gates();
        let gate = keeper.open_gates(None).await.unwrap().remove(0);
        let (key, now) = (GateKey::from_bytes(SECRET), bench.clock.now());
        let signed = key.sign_always(&gate, StandingApproval::in_turn(), "ada", now);
        let mut signed = serde_json::to_value(&signed).unwrap();
        match edit {
            "scope" => signed["always"]["scope"] = json!("agent"),
            "always" => signed["always"]["anyArguments"] = json!(true),
            _ => signed["grant"] = json!("0123456789abcdef"),
        }
        bench.store.settle(gate.id.clone(), signed.to_string()).await.unwrap();
        let (report, ran) = bench.resume("first", &[7]).await;
        let report = report.unwrap();
        let error = report.calls[0].error.as_ref().unwrap();
        assert_eq!((error.code.as_str(), ran), ("E_TURN_GATE_FORGED", 0), "{edit}");
        assert!(keeper.grants().await.unwrap().is_empty(), "{edit}");
    }
}

/// A rolled-back store cannot use an approval of a grant twice: each call is in the ledger.
#[tokio::test(start_paused = true)]
async fn a_call_that_a_grant_approved_runs_once() {
    let bench = Bench::new();
    bench.give(StandingApproval::for_agent()).await;
    let (report, ran) = bench.run("second", &[7]).await;
    assert_eq!((report.is_some(), ran), (true, 1));
    // The store forgets the turn; the same turn begins anew.
    let bench = Bench { store: Arc::new(MemoryStore::new()), ..bench };
    let (report, ran) = bench.run("second", &[7]).await;
    assert_eq!((report.unwrap().calls[0].state(), ran), (CallState::Unknown, 0));
}

#[tokio::test(start_paused = true)]
async fn a_runner_without_an_agent_or_without_grants_approves_one_call() {
    let bench = Bench::new();
    let build = |with_approvals: bool| {
        let executor = |ctx: StepContext| async move {
            let is_first = ctx.dispatch().iteration() == 0;
            let step = Step::new().call(call("wipe", "{\"id\":7}"));
            Ok::<_, StepError>(if is_first { step } else { Step::done() })
        };
        let built = agent(executor).tool(bench.tool()).observer(bench.seen.observer());
        let built =
            if with_approvals { built.approvals(Arc::new(bench.approvals())) } else { built };
        built.build().unwrap()
    };
    for (with_approvals, reason) in [(true, "the agent has no name"), (false, "no store for them")]
    {
        let agent = build(with_approvals);
        let decide = async {
            pass(WAIT).await;
            let gate = agent.gates().open_gates(None).await.unwrap().remove(0);
            let always = StandingApproval::for_agent();
            agent.gates().approve_always(&gate.id, always, "ada").await.unwrap();
        };
        let (report, ()) = tokio::join!(input(&agent).report(), decide);
        assert_eq!(report.unwrap().calls[0].state(), CallState::Succeeded);
        assert!(bench.warnings().contains(reason), "{}", bench.warnings());
        assert!(agent.gates().grants().await.unwrap().is_empty());
    }
}

/// A store that fails while a standing approval settles a gate leaves the turn resumable.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_does_not_end_a_turn_with_a_standing_approval() {
    let bench = Bench::new();
    bench.give(StandingApproval::for_agent()).await;
    bench.ran.store(0, Ordering::SeqCst);
    let judge: Judge =
        Arc::new(|moment| if moment.what == "settle" { Fate::Fail } else { Fate::Pass });
    let failing = bench.runner_on(Guarded::new(Arc::clone(&bench.store), judge), &[7]);
    let report = input(&failing).id("second").report().await.unwrap();
    assert!(report.is_resumable, "{:?}", report.error);
    assert_eq!(bench.ran.load(Ordering::SeqCst), 0);
    let (report, ran) = bench.resume("second", &[7]).await;
    assert_eq!((report.unwrap().calls[0].state(), ran), (CallState::Succeeded, 1));
}
