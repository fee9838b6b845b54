//! An answer that is a value of a Rust type. What does not fit goes back to the model with its problems.
#![expect(clippy::print_stdout, reason = "an example prints")]

use haft::executors::ScriptExecutor;
use haft::{Agent, ToolArgs, TurnInput};

/// What stands on an invoice.
#[derive(Debug, PartialEq, ToolArgs)]
struct Invoice {
    /// Who sent it
    sender: String,
    /// The sum in cents
    #[arg(min = 0)]
    cents: i64,
}

// The script takes the place of a model, which gets it right at the second attempt.
const SCRIPT: &str = r#"
steps:
  - say: "It is from Ada, and costs 12 euros."
    then: done
  - say: '{"sender": "Ada", "cents": "1200"}'
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder(ScriptExecutor::parse(SCRIPT)?).build()?;
    let input = TurnInput::new("You read invoices.").user("Ada wants 12 euros.");
    let typed = agent.run_typed::<Invoice>(input).await?;
    println!("{} after {} steps", typed.report.outcome, typed.report.iterations);
    // A turn that ends without an answer that fits has an error in its place.
    let invoice = typed.answer?;
    assert_eq!(invoice, Invoice { sender: "Ada".to_owned(), cents: 1200 });
    println!("{invoice:?}");
    Ok(())
}
