use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft::error::Coded as _;
use haft::executors::{Step, StepContext, StepError};
use haft::middleware::Next;
use haft::records::CallState;
use haft::stores::MemoryStore;
use haft::stores::{GateId, TurnId, TurnQuery, TurnStore, TurnStoreExt as _};
use haft::turn::TurnContext;
use haft::turn::{Agent, Gatekeeper, TurnOutcome, TurnReport};
use haft::turn::{Clock, SystemClock};
use haft::turn::{Gate, GateDecision, GateKey, GateRequest, GateSettlement};
use haft::{Args, CallContext, DispatchContext, Tool};
use serde_json::json;

use super::{Seen, agent, call, input, pass, steps};

pub(super) const SECRET: [u8; 32] = [9; 32];

pub(super) fn done(cx: &StepContext) -> Result<Step, StepError> {
    Ok(Step::done().say(cx.message("done")?))
}

/// A tool that needs leave, and how often it ran.
pub(super) fn delete() -> (Tool, Arc<AtomicU32>) {
    let ran = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&ran);
    let schema = haft::schema::object().field("id", haft::schema::integer().required());
    let tool = Tool::builder("delete")
        .description("Deletes.")
        .input(schema)
        .requires_approval("May I delete this?")
        .handler(move |_: Args| {
            count.fetch_add(1, Ordering::SeqCst);
            "deleted"
        })
        .build()
        .unwrap();
    (tool, ran)
}

struct Setting {
    store: Arc<MemoryStore>,
    agent: Agent,
    ran: Arc<AtomicU32>,
    seen: Seen,
}

fn setting() -> Setting {
    let store = Arc::new(MemoryStore::new());
    let (tool, ran) = delete();
    let seen = Seen::default();
    let built = agent(steps([|_| Ok(Step::new().call(call("delete", "{\"id\":\"7\"}"))), done]));
    let built = built.tool(tool).store(Arc::clone(&store) as _).secret(SECRET);
    let agent = built.observer(seen.observer()).build().unwrap();
    Setting { store, agent, ran, seen }
}

impl Setting {
    /// Runs a turn and something beside it that answers the gate.
    async fn answer<F: Future<Output = ()>>(&self, answer: impl FnOnce(Gate) -> F) -> TurnReport {
        let (report, ()) = tokio::join!(input(&self.agent).report(), async {
            answer(self.open().await).await;
        });
        report.unwrap()
    }

    /// The gate, as soon as there is one.
    async fn open(&self) -> Gate {
        loop {
            if let Some(gate) = self.keeper(SECRET).open_gates(None).await.unwrap().pop() {
                return gate;
            }
            tokio::task::yield_now().await;
        }
    }

    /// As another process has it.
    fn keeper(&self, secret: [u8; 32]) -> Gatekeeper {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        Gatekeeper::new(Arc::clone(&self.store) as _, GateKey::from_bytes(secret), clock)
    }

    async fn write(&self, gate: &GateId, settlement: &GateSettlement) {
        let text = serde_json::to_string(settlement).unwrap();
        assert!(self.store.settle(gate.clone(), text).await.unwrap().first);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_leave_with_the_accepted_arguments() {
    let setting = setting();
    let report = setting
        .answer(async |gate| {
            assert_eq!(setting.ran.load(Ordering::SeqCst), 0);
            // The model said "7"; the handler gets 7, and that is what is shown.
            assert_eq!(gate.payload, json!({"tool": "delete", "arguments": {"id": 7}}));
            assert!(gate.approval && gate.call.is_some());
            let wrong = setting.keeper(SECRET).resolve(&gate.id, json!("yes"), "ada").await;
            assert_eq!(wrong.unwrap_err().code(), "E_INVALID_TURN_GATE_RESOLUTION");
            setting.keeper(SECRET).resolve(&gate.id, json!(true), "ada").await.unwrap();
            let again = setting.keeper(SECRET).resolve(&gate.id, json!(true), "ada").await;
            assert!(again.is_err(), "an answer is given once");
        })
        .await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!(report.calls[0].state(), CallState::Succeeded);
    assert_eq!(setting.ran.load(Ordering::SeqCst), 1);
    let names = setting.seen.names();
    let open = names.find("turnGateOpen").unwrap();
    let closed = names.find("turnGateClosed").unwrap();
    assert!(open < closed && closed < names.find("toolExecutionStart").unwrap(), "{names}");
}

#[tokio::test(start_paused = true)]
async fn a_no_is_told_to_the_model() {
    let setting = setting();
    let report = setting
        .answer(async |gate| {
            setting.keeper(SECRET).reject(&gate.id, "it is in use", "ada").await.unwrap();
        })
        .await;
    assert_eq!(setting.ran.load(Ordering::SeqCst), 0);
    let error = report.calls[0].error.as_ref().unwrap();
    assert_eq!(error.code.as_str(), "E_TURN_GATE_REJECTED");
    assert!(error.message.contains("it is in use"));
    let setting = self::setting();
    let report = setting
        .answer(async |gate| {
            setting.keeper(SECRET).resolve(&gate.id, json!(false), "ada").await.unwrap();
        })
        .await;
    assert_eq!(report.calls[0].state(), CallState::Failed);
    assert_eq!(setting.ran.load(Ordering::SeqCst), 0);
}

/// Every way to allow a call without the right to.
#[tokio::test(start_paused = true)]
async fn an_answer_that_was_not_given_for_this_call_does_not_count() {
    let yes = || GateDecision::Resolved { value: json!(true) };
    let key = || GateKey::from_bytes(SECRET);
    let now = SystemClock::new().now();
    type Forge = Box<dyn Fn(&Gate) -> GateSettlement>;
    let edited = move |gate: &Gate| {
        let mut no = key().sign(gate, GateDecision::Rejected { reason: "no".into() }, "ada", now);
        no.decision = yes();
        no
    };
    let moved = move |change: fn(&mut Gate)| -> Forge {
        Box::new(move |gate: &Gate| {
            let mut other = gate.clone();
            change(&mut other);
            key().sign(&other, yes(), "ada", now)
        })
    };
    let forgeries: Vec<(&str, Forge)> = vec![
        (
            "forged",
            Box::new(move |_| {
                let mut forged = GateSettlement::closed(yes(), now);
                forged.by = "ada".into();
                forged
            }),
        ),
        (
            "with a guessed key",
            Box::new(move |gate| GateKey::from_bytes([0; 32]).sign(gate, yes(), "ada", now)),
        ),
        ("edited", Box::new(edited)),
        (
            "past the schema",
            Box::new(move |gate| {
                key().sign(gate, GateDecision::Resolved { value: json!("yes") }, "ada", now)
            }),
        ),
        ("replayed from another gate", moved(|gate| gate.id = "other".parse().unwrap())),
        ("from another turn", moved(|gate| gate.turn = "other".parse().unwrap())),
        (
            "for other arguments",
            moved(|gate| {
                gate.call.as_mut().unwrap().accepted = "{\"id\":8}".to_owned();
            }),
        ),
        (
            "for another call",
            moved(|gate| {
                gate.call.as_mut().unwrap().tool = "read".to_owned();
            }),
        ),
    ];
    for (what, forge) in forgeries {
        let setting = setting();
        let report =
            setting.answer(async |gate| setting.write(&gate.id, &forge(&gate)).await).await;
        assert_eq!(setting.ran.load(Ordering::SeqCst), 0, "{what}");
        assert_eq!(
            report.calls[0].error.as_ref().unwrap().code.as_str(),
            "E_TURN_GATE_FORGED",
            "{what}"
        );
        assert_eq!(setting.seen.errors(), ["E_TURN_GATE_FORGED"], "{what}");
    }
}

/// A tool of the same turn finds the gate in the store and settles it, as far as it can.
#[tokio::test(start_paused = true)]
async fn a_turn_cannot_allow_itself() {
    let store = Arc::new(MemoryStore::new());
    let (tool, ran) = delete();
    let own = Arc::clone(&store);
    let grant = Tool::builder("grant")
        .description("Settles every gate it finds.")
        .handler(move || {
            let store = Arc::clone(&own);
            async move {
                let gate = loop {
                    if let Some(gate) = store.open_gates(None).await?.pop() {
                        break gate;
                    }
                    tokio::task::yield_now().await;
                };
                let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
                let keeper = Gatekeeper::new(store, GateKey::from_bytes([0; 32]), clock);
                keeper.resolve(&gate.id, json!(true), "ada").await?;
                Ok::<_, haft::ToolFailure>("granted")
            }
        })
        .build()
        .unwrap();
    let step = |_: &StepContext| {
        Ok(Step::new().call(call("delete", "{\"id\":1}")).call(call("grant", "{}")))
    };
    let built = agent(steps([step, done])).tools([tool, grant]);
    let report = input(&built.store(store).build().unwrap()).report().await.unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    assert_eq!(report.calls[0].error.as_ref().unwrap().code.as_str(), "E_TURN_GATE_FORGED");
}

/// A handler that asks by itself.
fn asks(timeout: Option<Duration>) -> Tool {
    Tool::builder("ask")
        .description("Asks.")
        .input(haft::schema::object())
        .timeout(Duration::from_secs(10))
        .handler(move |_: Args, ctx: CallContext| async move {
            let request =
                GateRequest::new("Which colour?").schema(json!({"enum": ["red", "blue"]}));
            let request = match timeout {
                Some(timeout) => request.timeout(timeout),
                None => request,
            };
            let colour = ctx.ask(request).await?;
            Ok::<_, haft::ToolFailure>(format!("{colour}"))
        })
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_ask_and_waiting_does_not_count_as_work() {
    let built = agent(steps([|_| Ok(Step::new().call(call("ask", "{}"))), done]));
    let agent = built.tool(asks(None)).build().unwrap();
    let (report, ()) = tokio::join!(input(&agent).report(), async {
        // Far beyond the deadline of the call.
        pass(Duration::from_secs(600)).await;
        let gate = agent.gates().open_gates(None).await.unwrap().remove(0);
        agent.gates().resolve(&gate.id, json!("blue"), "ada").await.unwrap();
    });
    let report = report.unwrap();
    assert_eq!(report.calls[0].state(), CallState::Succeeded, "{:?}", report.calls[0].error);
}

#[tokio::test(start_paused = true)]
async fn a_turn_as_a_whole_can_ask() {
    let ask = async |ctx: TurnContext, next: Next<TurnContext>| {
        let name = ctx.ask(GateRequest::new("Who are you?")).await?;
        ctx.stash().set("name", name)?;
        next.run().await
    };
    let model = |cx: StepContext| async move {
        let name = cx.dispatch().stash().get("name").unwrap_or_default();
        Ok::<_, StepError>(Step::done().say(cx.message(format!("Hello, {name}"))?))
    };
    let agent = agent(model).turn_input("ask", ask).turn_output("ask", ask).build().unwrap();
    let (report, ()) = tokio::join!(input(&agent).report(), async {
        for name in ["Ada", "Bob"] {
            pass(Duration::from_secs(600)).await;
            let gate = agent.gates().open_gates(None).await.unwrap().remove(0);
            agent.gates().resolve(&gate.id, json!(name), "door").await.unwrap();
        }
    });
    let report = report.unwrap();
    assert_eq!(report.text(), "Hello, \"Ada\"", "{report:?}");
    let none = DispatchContext::builder("t").build();
    let refused = none.turn().ask(GateRequest::new("Who?")).await.unwrap_err();
    assert_eq!(
        refused.code(),
        DispatchContext::ask(&none, GateRequest::new("Who?")).await.unwrap_err().code()
    );
}

#[tokio::test(start_paused = true)]
async fn nobody_answering_in_time_is_an_answer() {
    let seen = Seen::default();
    let built = agent(steps([|_| Ok(Step::new().call(call("ask", "{}"))), done]));
    let built = built.tool(asks(Some(Duration::from_secs(60)))).observer(seen.observer());
    let agent = built.build().unwrap();
    let report = input(&agent).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert!(report.calls[0].error.as_ref().unwrap().message.contains("in time"));
    assert!(seen.names().contains("turnGateOpen turnGateClosed"));
    assert!(agent.gates().open_gates(None).await.unwrap().is_empty());
    let turns = agent.stored_turns().list_turns(TurnQuery::default()).await.unwrap();
    assert_eq!(turns[0].status, haft::stores::TurnStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn cancelling_closes_the_gate() {
    let built = agent(steps([|_| Ok(Step::new().call(call("ask", "{}"))), done]));
    let agent = built.tool(asks(None)).build().unwrap();
    let token = haft::turn::Cancellation::new();
    let cancel = token.clone();
    let (report, ()) =
        tokio::join!(input(&agent).id("t").cancellation(&token).report(), async move {
            pass(Duration::from_secs(5)).await;
            cancel.cancel("stop");
        });
    assert_eq!(report.unwrap().outcome, TurnOutcome::Cancelled { reason: "stop".to_owned() });
    assert!(agent.gates().open_gates(None).await.unwrap().is_empty());
    let turn: TurnId = "t".parse().unwrap();
    let stored = agent.stored_turns().load_turn(&turn).await.unwrap().unwrap();
    assert!(stored.gates[0].settlement.as_ref().unwrap().contains("aborted"));
}

/// A tool that needs leave, whose arguments are checked by code that cannot be relied on.
fn checked<Fut>(
    check: impl Fn(u32) -> Fut + Clone + Send + Sync + 'static,
) -> (Tool, Arc<AtomicU32>)
where
    Fut: Future<Output = Result<(), haft::schema::Problems>> + Send + 'static,
{
    let (ran, checks) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let count = Arc::clone(&ran);
    let schema = haft::schema::object().field("id", haft::schema::integer().required());
    let tool = Tool::builder("delete")
        .description("Deletes.")
        .input(schema)
        .timeout(Duration::from_secs(10))
        .requires_approval("May I delete this?")
        .validator(move |_: Args| check(checks.fetch_add(1, Ordering::SeqCst)))
        .handler(move |args: Args| {
            count.fetch_add(1, Ordering::SeqCst);
            args.to_string()
        })
        .build()
        .unwrap();
    (tool, ran)
}

/// Whatever a check does, the handler runs with what was approved, or not at all.
#[tokio::test(start_paused = true)]
async fn a_check_that_cannot_be_relied_on_never_lets_a_call_pass_unapproved() {
    let refuse = || haft::schema::Problem::new("/id", "an id that exists").into();
    let run = async |tool: Tool, answer: bool| {
        let built =
            agent(steps([|_| Ok(Step::new().call(call("delete", "{\"id\":\"7\"}"))), done]));
        let agent = built.tool(tool).build().unwrap();
        let answers = async {
            let gate = loop {
                if let Some(gate) = agent.gates().open_gates(None).await.unwrap().pop() {
                    break gate;
                }
                pass(Duration::from_millis(100)).await;
            };
            assert_eq!(gate.payload["arguments"], json!({"id": 7}));
            agent.gates().resolve(&gate.id, json!(answer), "ada").await.unwrap();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            report = input(&agent).report() => report.unwrap().calls.remove(0),
            () = answers => unreachable!("it waits for ever"),
        }
    };
    // It never ends, refuses, or panics: there is nothing to ask about, and nothing runs.
    let (tool, ran) = checked(|_| std::future::pending());
    assert_eq!(run(tool, true).await.state(), CallState::Failed);
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    let (tool, ran) = checked(move |_| async move { Err(refuse()) });
    assert_eq!(run(tool, true).await.state(), CallState::Failed);
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    let (tool, ran) = checked(|_| async { panic!("on purpose") });
    assert_eq!(run(tool, true).await.state(), CallState::Failed);
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    // It says yes once and then no more: it is not asked again after the answer.
    let flaky = move |n| async move { if n == 0 { Ok(()) } else { Err(refuse()) } };
    let (tool, ran) = checked(flaky);
    let call = run(tool, true).await;
    assert_eq!((call.state(), ran.load(Ordering::SeqCst)), (CallState::Succeeded, 1));
    assert_eq!(call.results, Some(haft::records::ToolResults::Text("{\"id\":7}".to_owned())));
    let (tool, ran) = checked(flaky);
    assert_eq!(run(tool, false).await.state(), CallState::Failed);
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}
