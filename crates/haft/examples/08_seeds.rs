//! The sketches of the reference documentation, in Rust: tools, an executor that does everything itself, and middleware
//! that fetches tools. The chapter "From the seeds to Haft" of the book shows them.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::num::NonZeroU32;
use std::sync::Arc;

use haft::artifacts::standard_formats;
use haft::executors::{Step, StepContext, StepError};
use haft::media::{MediaFile, MediaKind};
use haft::middleware::{BoxError, Next};
use haft::tools::OnCollision;
use haft::turn::{Agent, TurnContext};
use haft::{Media, Tool, ToolArgs, ToolFailure, ToolRegistry, tool};
use serde_json::json;

// ANCHOR: tool
#[derive(ToolArgs)]
struct GetWeather {
    /// The city name
    city: String,
    #[arg(default = "celsius")]
    units: Units,
}

#[derive(Clone, Copy, Debug, ToolArgs)]
enum Units {
    Celsius,
    Fahrenheit,
}

/// Returns the current weather for a given city.
#[tool(read_only)]
async fn get_weather(args: GetWeather) -> Result<String, ToolFailure> {
    let degrees = match args.units {
        Units::Celsius => 21,
        Units::Fahrenheit => 70,
    };
    Ok(format!("{degrees}° {:?} in {}. Conditions: sunny.", args.units, args.city))
}
// ANCHOR_END: tool

// ANCHOR: media
#[derive(ToolArgs)]
struct RenderChart {
    /// The numbers to show
    data: Vec<f64>,
}

/// Renders the supplied data as a PNG.
#[tool]
fn render_chart(args: RenderChart) -> Media {
    let png = format!("a chart of {} numbers", args.data.len());
    Media::tool_generated(MediaKind::Image, MediaFile::new("chart.png", "image/png", png))
}
// ANCHOR_END: media

// ANCHOR: executor
async fn executor(ctx: StepContext) -> Result<Step, StepError> {
    let dispatch = ctx.dispatch();
    let forged = standard_formats().forge(dispatch.artifacts())?;
    let merged = ToolRegistry::merge([&**dispatch.tools(), &forged], OnCollision::Throw)?;
    let merged = Arc::new(merged);
    // Ephemeral tools leave the merged registry when the dispatch is acknowledged.
    let _bound = merged.bind_context(dispatch);

    // Here an executor asks its model, with the definitions of `merged.all()`.
    let calls = dispatch.turn().tool_calls().all();
    let Some(call) = calls.first() else {
        let tool = merged.find("get_weather")?;
        let done = tool.executor(dispatch).call(json!({"city": "Paris"})).await;
        let requested = done.to_requested(NonZeroU32::MIN);
        let spooler = dispatch.turn().spooler().ok_or_else(|| StepError::new("no spool"))?;
        let call = spooler.complete_call(dispatch.turn_id(), requested, done).await;
        dispatch.turn().store_tool_call(call).await?;
        // The next iteration sees the result.
        return Ok(Step::new());
    };
    match call.text() {
        Some(text) => {
            ctx.ack()?;
            Ok(Step::new().say(ctx.message(text)?))
        }
        None => {
            ctx.nack("the tool failed")?;
            Ok(Step::new())
        }
    }
}
// ANCHOR_END: executor

// ANCHOR: middleware
async fn fetch_and_register(ctx: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
    // Haft does not call the source for you.
    for tool in ctx.fetch_tools().await? {
        ctx.tools().register(tool)?;
    }
    next.run().await
}
// ANCHOR_END: middleware

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), haft::Error> {
    let agent = Agent::builder(executor)
        .system("You help.")
        .tools([render_chart()])
        .fetch_tools(async |_: TurnContext| Ok::<Vec<Tool>, BoxError>(vec![get_weather().build()?]))
        .turn_input("fetch-tools", fetch_and_register)
        .build()?;
    let answer = agent.turn("How is the weather?").await?;
    println!("{}: {answer}", answer.report.outcome);
    Ok(())
}
