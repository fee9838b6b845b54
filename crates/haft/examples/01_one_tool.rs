//! One tool: defined once, shown to a model, called with near misses, refused with reasons.
#![expect(clippy::print_stdout, reason = "an example prints")]

use haft::{CallContext, ToolArgs, ToolFailure, tool};

/// Returns the current weather for a given city.
#[tool(read_only)]
async fn get_weather(args: Weather, ctx: &CallContext) -> Result<String, ToolFailure> {
    ctx.stash().set("weather.last_city", &args.city)?;
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

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), haft::Error> {
    let tool = get_weather().build()?;
    println!("the model sees {}\n", tool.input_schema().json_schema_text());

    // Near misses of a model are coerced, and the record lists the changes.
    let done = tool.call("```json\n{\"city\": \"Paris\", \"units\": \"CELSIUS\",}\n```").await;
    println!("call {:.8}: {}", done.call_id.to_string(), done.text().unwrap_or_default());
    for change in &done.changes {
        println!("- {change}");
    }
    println!();

    // A call that cannot be coerced is data for the model; it does not end the run.
    if let Err(error) = tool.call(r#"{"town": "Paris"}"#).await.outcome {
        println!("{error}");
    }
    Ok(())
}
