//! An answer that is a value of a Rust type. What does not fit goes back to the model with its problems.
#![expect(clippy::print_stdout, reason = "an example prints")]

use haft::executors::ScriptExecutor;
use haft::{Agent, ToolArgs};

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
    let agent = Agent::builder(ScriptExecutor::parse(SCRIPT)?).system("You read invoices.");
    let agent = agent.build()?;
    // An error if the turn ends without an answer that fits.
    let answer = agent.turn("Ada wants 12 euros.").typed().await?;
    let invoice: Invoice = answer.value;
    println!("{} after {} steps", answer.report.outcome, answer.report.iterations);
    assert_eq!(invoice, Invoice { sender: "Ada".to_owned(), cents: 1200 });
    println!("{invoice:?}");
    Ok(())
}
