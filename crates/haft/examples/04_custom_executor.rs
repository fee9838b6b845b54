//! An executor of your own: anything that can say what comes next. Here it is a few rules.
#![expect(clippy::print_stdout, reason = "an example prints")]

use haft::executors::{DispatchExecutor, ProposedCall, Step, StepContext, StepError};
use haft::schema::json::ValueRef;
use haft::{Agent, Args, BoxFuture, Error, Tool};
use serde_json::json;

/// Calls `add` for every message of the form `1 + 2`, and then says what came of it.
struct Rules;

impl DispatchExecutor for Rules {
    fn step(&self, ctx: StepContext) -> BoxFuture<'_, Result<Step, StepError>> {
        Box::pin(async move {
            // The second time: the result is there, as part of the turn.
            if let Some(call) = ctx.dispatch().turn().tool_calls().all().last() {
                let sum = call.text().unwrap_or("nothing");
                return Ok(Step::done().say(ctx.message(format!("The sum is {sum}."))?));
            }
            let messages = ctx.dispatch().turn().messages().all();
            let said = messages.last().and_then(|it| it.content()).map_or("", |it| it.as_str());
            let numbers: Option<Vec<i64>> =
                said.split('+').map(|it| it.trim().parse().ok()).collect();
            match numbers.as_deref() {
                Some([a, b]) => {
                    let call = ProposedCall::new("add", json!({"a": a, "b": b}));
                    Ok(Step::new().think(ctx.thought("I can add.")?).call(call))
                }
                _ => Err(StepError::new(format!("no rule for {said:?}"))),
            }
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = || haft::schema::integer().required();
    let add = Tool::builder("add")
        .description("Adds two numbers.")
        .input(haft::schema::object().field("a", number()).field("b", number()))
        .handler(|args: Args| {
            let number =
                |name| args.root().get(name).and_then(ValueRef::as_i64).unwrap_or_default();
            (number("a") + number("b")).to_string()
        })
        .build()?;
    let agent = Agent::builder(Rules).system("You add.").tool(add).build()?;

    for said in ["19 + 23", "hello"] {
        match agent.turn(said).await {
            Ok(answer) => println!("{said}: {answer}"),
            Err(Error::Stopped(stop)) => println!("{said}: {}", stop.report.outcome),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
