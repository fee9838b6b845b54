//! A turn with a model and a tool.
#![expect(clippy::print_stdout, reason = "an example prints")]
#![expect(clippy::disallowed_methods, reason = "a program reads its own environment")]

use std::env::var;

use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::{Agent, Provider, ToolArgs, ToolFailure, tool};

/// Returns the current weather for a given city.
#[tool(read_only)]
async fn get_weather(args: Weather) -> Result<String, ToolFailure> {
    Ok(format!("21 degrees {:?} in {}", args.units, args.city))
}

#[derive(ToolArgs)]
struct Weather {
    /// The city name
    #[arg(min_len = 1)]
    city: String,
    /// Unit of the answer
    #[arg(default = "celsius")]
    units: Units,
}

#[derive(Debug, ToolArgs)]
enum Units {
    Celsius,
    Fahrenheit,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut model = Provider::builder(ChatCompletions::new(), "gpt-5-mini");
    if let Ok(url) = var("OPENAI_BASE_URL") {
        model = model.base_url(url);
    }
    let key = var("OPENAI_API_KEY").map_err(|_| "set OPENAI_API_KEY to your key")?;
    let agent = Agent::builder(model.key(key).build()?).system("You are a weather service.");
    let agent = agent.tool(get_weather()).build()?;
    // An error with the reason unless the turn completes.
    let answer = agent.turn("Is it warm in Paris?").await?;
    println!("{answer} ({} calls)", answer.report.calls.len());
    Ok(())
}
