//! Plans for turns: what the model does step by step, the limits of the turn, and its middleware.

use haft::events::Usage;
use haft::executors::{Step, StepContext, StepError};
use haft::middleware::Next;
use haft::tools::ToolEffect;
use haft::turn::GateRequest;
use haft::turn::{AgentBuilder, Limits};
use haft::{Args, CallContext, DispatchContext, Tool, ToolFailure};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::super::errand::Ledger;
use super::super::{agent, call};

#[derive(Clone, Debug)]
pub(super) struct Plan {
    steps: Vec<PlannedStep>,
    limits: PlannedLimits,
    input: Middleware,
    output: Middleware,
    asks_in_turn_output: bool,
}

#[derive(Clone, Debug)]
struct PlannedStep {
    calls: Vec<(&'static str, u32)>,
    says: bool,
    thinks: bool,
    tokens: u64,
    next: PlannedEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlannedEnd {
    Continue,
    Done,
    Fail,
    ExecutorFails,
    ExecutorNacks,
}

#[derive(Clone, Debug)]
struct PlannedLimits {
    iterations: u32,
    identical_calls: u32,
    tool_calls: u32,
    tokens: Option<u64>,
}

/// What the middleware of a dispatch does, by iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Middleware {
    Absent,
    /// Passes, and notes the iteration in the scratchpad.
    Counts,
    /// Asks a person in the first iteration.
    Asks,
    /// Acknowledges the dispatch in the third iteration.
    Acks,
    /// Refuses the dispatch in the second iteration.
    Nacks,
    /// Fails in the second iteration.
    Fails,
    /// Lets another iteration follow the second one, whatever the step wants.
    Withholds,
}

pub(super) fn plans() -> impl Strategy<Value = Plan> {
    let middleware = || {
        prop_oneof![
            4 => Just(Middleware::Absent),
            2 => Just(Middleware::Counts),
            1 => Just(Middleware::Asks),
            1 => Just(Middleware::Acks),
            1 => Just(Middleware::Nacks),
            1 => Just(Middleware::Fails),
            1 => Just(Middleware::Withholds),
        ]
    };
    (vec(step(), 1..4), limits(), middleware(), middleware(), prop::bool::weighted(0.2)).prop_map(
        |(steps, limits, input, output, asks_in_turn_output)| {
            // The journal stores the signal of an executor as what its step wants. Only a turn that was not resumed
            // knows that it was given already, so that output middleware cannot change it.
            let nacks = steps.iter().any(|it| it.next == PlannedEnd::ExecutorNacks);
            let signals = [Middleware::Acks, Middleware::Nacks, Middleware::Withholds];
            let output = match output {
                it if nacks && signals.contains(&it) => Middleware::Counts,
                it => it,
            };
            Plan { steps, limits, input, output, asks_in_turn_output }
        },
    )
}

fn step() -> impl Strategy<Value = PlannedStep> {
    let tool = prop::sample::select(vec!["read", "pay", "send", "update", "broken", "missing"]);
    let next = prop_oneof![
        6 => Just(PlannedEnd::Continue),
        3 => Just(PlannedEnd::Done),
        1 => Just(PlannedEnd::Fail),
        1 => Just(PlannedEnd::ExecutorFails),
        1 => Just(PlannedEnd::ExecutorNacks),
    ];
    (vec((tool, 0..2_u32), 0..4), any::<bool>(), any::<bool>(), 0..100_u64, next).prop_map(
        |(calls, says, thinks, tokens, next)| PlannedStep { calls, says, thinks, tokens, next },
    )
}

fn limits() -> impl Strategy<Value = PlannedLimits> {
    (1..6_u32, 1..4_u32, 1..10_u32, prop::option::weighted(0.3, 50..250_u64)).prop_map(
        |(iterations, identical_calls, tool_calls, tokens)| PlannedLimits {
            iterations,
            identical_calls,
            tool_calls,
            tokens,
        },
    )
}

impl Plan {
    pub(super) fn agent(&self, ledger: &Ledger) -> AgentBuilder {
        let PlannedLimits { iterations, identical_calls, tool_calls, tokens } = self.limits;
        let limits = Limits::new().iterations(iterations).identical_calls(identical_calls);
        let steps = self.steps.clone();
        let executor = move |cx: StepContext| {
            let planned = steps.get(cx.dispatch().iteration() as usize).cloned();
            async move { take_step(&cx, planned) }
        };
        let builder = agent(executor)
            .tools(tools(ledger))
            .limits(limits.tool_calls(tool_calls).tokens(tokens));
        let builder = match self.input {
            Middleware::Absent => builder,
            does => builder.dispatch_input("input", middleware(does)),
        };
        let builder = match self.output {
            Middleware::Absent => builder,
            does => builder.dispatch_output("output", middleware(does)),
        };
        if !self.asks_in_turn_output {
            return builder;
        }
        let asks = async |ctx: haft::turn::TurnContext, next: Next<_>| {
            ctx.ask(GateRequest::new("May it end?")).await?;
            next.run().await
        };
        builder.turn_output("asks", asks)
    }
}

fn take_step(cx: &StepContext, planned: Option<PlannedStep>) -> Result<Step, StepError> {
    let Some(planned) = planned else { return Ok(Step::done().say(cx.message("That is all.")?)) };
    let mut step = match planned.next {
        PlannedEnd::Continue => Step::new(),
        PlannedEnd::Done => Step::done(),
        PlannedEnd::Fail => Step::failed("the model gives up"),
        PlannedEnd::ExecutorFails => return Err(StepError::new("there is no model")),
        PlannedEnd::ExecutorNacks => {
            cx.nack("the executor refuses")?;
            Step::new()
        }
    };
    if planned.thinks {
        step = step.think(cx.thought("I think.")?);
    }
    if planned.says {
        step = step.say(cx.message(format!("This is {}.", cx.dispatch().iteration()))?);
    }
    for (tool, n) in planned.calls {
        step = step.call(call(tool, &json!({ "n": n }).to_string()));
    }
    Ok(step.usage(Usage::new(planned.tokens, 10)))
}

fn middleware(does: Middleware) -> impl haft::middleware::Middleware<DispatchContext> {
    move |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        match (does, ctx.iteration()) {
            (Middleware::Counts, n) => ctx.stash().set("iteration", n)?,
            (Middleware::Asks, 0) => {
                let reply = ctx.ask(GateRequest::new("May it go on?")).await?;
                ctx.stash().set("reply", reply)?;
            }
            (Middleware::Acks, 2) => {
                let _ = next.ack();
            }
            (Middleware::Nacks, 1) => {
                let _ = next.nack("the middleware refuses");
            }
            (Middleware::Fails, 1) => return Err("the middleware is broken".into()),
            (Middleware::Withholds, 1) => ctx.set_pending(None),
            _ => {}
        }
        next.run().await
    }
}

fn tools(ledger: &Ledger) -> Vec<Tool> {
    let tool = |name: &'static str, effect: ToolEffect| {
        let ledger = ledger.clone();
        let schema = haft::schema::object().field("n", haft::schema::integer().required());
        let handler = move |_: Args, ctx: CallContext| {
            let ledger = ledger.clone();
            async move {
                tokio::task::yield_now().await;
                let effect = format!("effect {name} {}", ctx.idempotency_key());
                if name == "broken" {
                    return Err(ToolFailure::new("out of paper"));
                }
                // The outside notices a repeated key; a call that must not be repeated has no such help.
                if name != "read" && (name == "send" || ledger.count(&effect) == 0) {
                    ledger.note(effect);
                }
                Ok(format!("{name} is done"))
            }
        };
        let builder = Tool::builder(name).description("Works.").effect(effect).input(schema);
        (builder, handler)
    };
    let plain = |name, effect| {
        let (builder, handler) = tool(name, effect);
        builder.handler(handler).build().unwrap()
    };
    let (update, handler) = tool("update", ToolEffect::Idempotent);
    vec![
        plain("read", ToolEffect::ReadOnly),
        plain("pay", ToolEffect::Idempotent),
        plain("send", ToolEffect::Once),
        plain("broken", ToolEffect::ReadOnly),
        update.requires_approval("May I change this?").handler(handler).build().unwrap(),
    ]
}
