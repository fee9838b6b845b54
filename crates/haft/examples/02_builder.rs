//! The same tool without macros: a schema written by hand and a closure as the handler.
#![expect(clippy::print_stdout, reason = "an example prints")]

use haft::schema::json::ValueRef;
use haft::schema::{object, one_of, string};
use haft::tools::ToolEffect;
use haft::{Args, DispatchContext, Tool, ToolRegistry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), haft::Error> {
    let get_weather = Tool::builder("get_weather")
        .description("Returns the current weather for a given city.")
        .input(
            object()
                .field("city", string().description("The city name").non_empty().required())
                .field(
                    "units",
                    one_of(["celsius", "fahrenheit"])
                        .description("Unit of the answer")
                        .default("celsius"),
                ),
        )
        .effect(ToolEffect::ReadOnly)
        .handler(async |args: Args| {
            let city = args.root().get("city").and_then(ValueRef::as_str).unwrap_or_default();
            format!("21 degrees in {city}")
        })
        .build()?;

    let tools = ToolRegistry::new([get_weather])?;
    let ctx = DispatchContext::builder("turn-1").build();
    let done = tools.find("get_weather")?.executor(&ctx).call(r#"{"city": "Paris"}"#).await;
    let accepted = done.accepted.clone().unwrap_or_else(Args::empty);
    println!("{accepted}: {}", done.text().unwrap_or_default());

    // A name that does not exist is an answer for the model, with the name it may have meant.
    if let Err(error) = tools.find("get_wether") {
        println!("{error}");
    }
    Ok(())
}
