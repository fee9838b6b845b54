//! The shortest ways to do what every program does, and what they promise.

use std::sync::{Arc, Mutex};

use haft::error::Coded as _;
use haft::executors::Step;
use haft::media::{MediaFile, MediaKind};
use haft::middleware::Next;
use haft::tools::ToolEffect;
use haft::turn::{Gate, GatePolicy, GateRequest, ManualClock, Signal, Timestamp, TurnOutcome};
use haft::{CallContext, DispatchContext, Media, Tool, ToolArgs, ToolFailure};

use super::{Seen, agent, call, input, say, steps};

#[derive(ToolArgs)]
struct OfImage {
    /// The id of an image
    image: String,
}

#[tokio::test]
async fn a_tool_takes_the_medium_that_another_returned() {
    let draw = |bytes: &'static str| {
        move || {
            let file = MediaFile::new("chart.png", "image/png", bytes);
            Media::tool_generated(MediaKind::Image, file)
        }
    };
    let red = Tool::builder("red").description("Draws.").handler(draw("red")).build().unwrap();
    let blue = Tool::builder("blue").description("Draws.").handler(draw("blue")).build().unwrap();
    let describe = Tool::builder("describe").description("Describes an image.").handler(
        async |args: OfImage, ctx: CallContext| {
            let bytes = ctx.media(&args.image)?.bytes(1024).await?;
            Ok::<_, ToolFailure>(String::from_utf8_lossy(&bytes).into_owned())
        },
    );
    let executor = steps([
        |_| Ok(Step::new().call(call("red", "{}")).call(call("blue", "{}"))),
        |ctx| {
            // What the model reads in the marker.
            let turn = ctx.dispatch().turn();
            let calls = turn.tool_calls().all();
            let Some(haft::records::ToolResults::Media(media)) = &calls[1].results else {
                panic!()
            };
            let image = turn.shown_media_id(&media[0]).unwrap();
            assert_eq!(
                image,
                format!("{}/media/0", ctx.dispatch().artifacts().handle(calls[1].id()))
            );
            Ok(Step::new().call(call("describe", &format!(r#"{{"image": "{image}"}}"#))))
        },
        |ctx| {
            let calls = ctx.dispatch().turn().tool_calls().all();
            Ok(Step::done().say(ctx.message(calls[2].text().unwrap())?))
        },
    ]);
    let agent = agent(executor).tools([red, blue, describe.build().unwrap()]).build().unwrap();
    assert_eq!(input(&agent).report().await.unwrap().text(), "blue");
}

#[tokio::test]
async fn a_handler_ends_its_dispatch_after_its_record_is_stored() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let (noted, seen) = (Arc::clone(&order), Seen::default());
    let finish = Tool::builder("finish").description("Ends the work.").handler(
        move |_: haft::Args, ctx: &CallContext| {
            let noted = Arc::clone(&noted);
            let (turn, record) = (ctx.turn().clone(), ctx.record_id());
            let _waits = ctx.on_ack(move || {
                let call = turn.tool_calls().get(&record).unwrap();
                noted.lock().unwrap().push(call.state().is_final());
            });
            ctx.end_dispatch(Signal::Ack);
            "done"
        },
    );
    let finish = finish.input(haft::schema::object()).build().unwrap();
    let executor = steps([|_| Ok(Step::new().call(call("finish", "{}")))]);
    let built = agent(executor).tool(finish).observer(seen.observer()).build().unwrap();
    let report = input(&built).report().await.unwrap();
    assert_eq!((report.outcome, report.iterations), (TurnOutcome::Completed, 1));
    assert_eq!(*order.lock().unwrap(), [true], "the record is stored before the ack");
}

fn deploy() -> Tool {
    let deploy = Tool::builder("deploy").description("Deploys.").effect(ToolEffect::Once);
    deploy.requires_approval("May I deploy?").handler(|| "deployed").build().unwrap()
}

fn asks() -> impl haft::executors::DispatchExecutor {
    steps([
        |_| Ok(Step::new().call(call("deploy", "{}")).call(call("look", "{}"))),
        |ctx| {
            let calls = ctx.dispatch().turn().tool_calls().all();
            let said = calls[0].text().map(str::to_owned);
            let said = said.or_else(|| Some(calls[0].error.clone()?.message)).unwrap();
            Ok(Step::done().say(ctx.message(said)?))
        },
    ])
}

fn looks() -> Tool {
    Tool::builder("look").description("Looks.").handler(|| "seen").build().unwrap()
}

#[tokio::test]
async fn an_approver_decides_by_gate() {
    for (approves, expected) in [
        (Some(true), "deployed"),
        (Some(false), "the call of `deploy` was not allowed: it was not approved"),
    ] {
        let built = agent(asks())
            .tools([deploy(), looks()])
            .approver(move |gate: Gate| async move {
                assert_eq!(gate.reason, "May I deploy?");
                approves
            })
            .build()
            .unwrap();
        assert_eq!(input(&built).report().await.unwrap().text(), expected);
    }
}

#[tokio::test]
async fn an_approver_that_cannot_decide_leaves_the_gate_open() {
    let wrong = async |_: Gate| serde_json::json!("yes");
    let panics = async |gate: Gate| -> bool { panic!("{}", gate.reason) };
    let abstains = async |_: Gate| None::<bool>;
    let seen = Seen::default();
    let suspending = || {
        let built = agent(asks()).tools([deploy(), looks()]).observer(seen.observer());
        built.gate_policy(GatePolicy::Suspend)
    };
    for built in [
        suspending().approver(wrong),
        suspending().approver(panics),
        suspending().approver(abstains),
    ] {
        let report = input(&built.build().unwrap()).report().await.unwrap();
        assert!(matches!(report.outcome, TurnOutcome::Waiting { .. }), "{report:?}");
        assert!(report.error.is_none());
    }
    assert!(
        seen.errors().iter().any(|it| it == "E_INVALID_TURN_GATE_RESOLUTION"),
        "{:?}",
        seen.errors()
    );
}

#[tokio::test]
async fn a_turn_that_waits_returns_and_is_resumed() {
    let built = agent(asks()).tools([deploy(), looks()]).gate_policy(GatePolicy::Suspend);
    let built = built.build().unwrap();
    let report = input(&built).report().await.unwrap();
    let TurnOutcome::Waiting { gates } = &report.outcome else { panic!("{report:?}") };
    assert_eq!((gates.len(), report.text()), (1, ""));
    assert_eq!(report.calls[1].text(), Some("seen"), "what can run has run");

    // Nothing has changed: it waits again.
    let again = built.resume(&report.turn).report().await.unwrap();
    assert_eq!(again.outcome, report.outcome);

    let refused = built.gates().resolve(&gates[0], "yes".into(), "Ada").await.unwrap_err();
    assert_eq!(refused.code(), "E_INVALID_TURN_GATE_RESOLUTION");
    let words = refused.to_string();
    assert!(words.contains("- the decision: ") && words.contains("stays open"), "{words}");
    built.gates().resolve(&gates[0], true.into(), "Ada").await.unwrap();
    let twice = built.gates().reject(&gates[0], "no", "Bob").await.unwrap_err();
    assert_eq!(twice.code(), "E_TURN_GATE_ALREADY_SETTLED");
    assert_eq!(twice.to_string(), "the gate was settled before: resolved by Ada");

    let report = built.resume(&report.turn).report().await.unwrap();
    assert_eq!((report.outcome.clone(), report.text()), (TurnOutcome::Completed, "deployed"));
}

#[tokio::test]
async fn gates_of_middleware_and_handlers_wait_too() {
    let middleware = async |ctx: DispatchContext, next: Next<DispatchContext>| {
        if ctx.iteration() == 0 {
            ctx.ask(GateRequest::new("May it begin?")).await?;
        }
        next.run().await
    };
    let ask = |effect: ToolEffect| {
        let ask = Tool::builder("deploy").description("Asks.").effect(effect);
        let ask = ask.input(haft::schema::object());
        ask.handler(async |_: haft::Args, ctx: CallContext| {
            let color = ctx.ask(GateRequest::new("Which color?")).await?;
            Ok::<_, ToolFailure>(color.to_string())
        })
        .build()
        .unwrap()
    };
    for (effect, expected) in
        [(ToolEffect::Idempotent, "\"blue\""), (ToolEffect::Once, "the turn stopped waiting")]
    {
        let built = agent(asks()).tools([ask(effect), looks()]).gate_policy(GatePolicy::Suspend);
        let built = built.dispatch_input("begin", middleware).build().unwrap();
        let mut report = input(&built).report().await.unwrap();
        for value in ["go", "blue"] {
            let TurnOutcome::Waiting { gates } = &report.outcome else { break };
            built.gates().resolve(&gates[0], value.into(), "Ada").await.unwrap();
            report = built.resume(&report.turn).report().await.unwrap();
        }
        assert_eq!(report.outcome, TurnOutcome::Completed, "{effect:?}");
        assert!(report.text().contains(expected), "{effect:?}: {}", report.text());
    }
}

#[tokio::test]
async fn a_text_of_the_user_needs_neither_id_nor_clock() {
    let clock = Arc::new(ManualClock::new(Timestamp::MAX));
    let built = agent(say("Hello!")).clock(clock).build().unwrap();
    let input = built.turn("Hi").system("Be brief.").id("t-1").message("Are you there?");
    assert_eq!(input.report().await.unwrap().text(), "Hello!");
    let stored = built.stored_turns().load_turn(&"t-1".parse().unwrap()).await.unwrap().unwrap();
    let all = format!("{stored:?}");
    assert!(all.contains("t-1/input/message-0") && all.contains("t-1/input/message-1"), "{all}");
    let empty = built.turn("").system("Be brief.").report().await.unwrap_err();
    assert!(empty.to_string().contains("`messages`"), "{empty}");
}
