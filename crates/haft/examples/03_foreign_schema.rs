//! A tool whose schema comes from elsewhere: it is shown as it is and enforced all the same.
#![expect(clippy::print_stdout, reason = "an example prints")]

use haft::Tool;
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), haft::Error> {
    let schema = json!({
        "type": "object",
        "properties": {
            "account": { "type": "string", "pattern": "^[0-9]{4}$" },
            "amount": { "type": "number", "exclusiveMinimum": 0 },
            "currency": { "enum": ["EUR", "USD"] },
        },
        "required": ["account", "amount"],
        "additionalProperties": false,
    });
    let transfer = Tool::builder("transfer")
        .description("Moves money to an account.")
        .json_schema(schema)
        .handler(|args: Value| format!("moved: {args}"))
        .build()?;

    let args = r#"{"account": "4711", "amount": "12.5", "currency": "eur"}"#;
    let done = transfer.call(args).await;
    println!("{}", done.text().unwrap_or_default());
    for change in &done.changes {
        println!("- {change}");
    }
    println!();

    if let Err(error) = transfer.call(r#"{"account": "47", "amount": -1}"#).await.outcome {
        println!("{error}");
    }
    Ok(())
}
