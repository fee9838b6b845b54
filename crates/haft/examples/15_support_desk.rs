//! A support desk whose refunds a person approves. Each command is a process of its own, on one directory of turns:
//! `run`, then `approve` or `deny`, then `resume`.
//!
//! A process may die at any moment: `resume` continues the turn, and a refund that had begun is not made again.
#![expect(clippy::print_stdout, reason = "an example prints")]
#![expect(clippy::disallowed_methods, reason = "a program reads its own environment")]

use std::env::{args, var};
use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::stores::TurnDir;
use haft::turn::{Deadlines, GatePolicy, Gatekeeper};
use haft::{Agent, Provider, ToolArgs, tool};

#[derive(ToolArgs)]
struct Order {
    /// The number of the order
    #[arg(min = 1)]
    id: u32,
    #[arg(default = "eur")]
    units: Currency,
}

#[derive(Debug, ToolArgs)]
enum Currency {
    Eur,
    Usd,
}

/// Finds an order by its number.
#[tool(read_only)]
async fn find_order(order: Order) -> String {
    format!("order {}: one mug, 500 cents, in {:?}", order.id, order.units)
}

/// Returns the refund policy.
#[tool(read_only, artifact = Text)]
async fn search_policy() -> String {
    let rule =
        |n| format!("{n:05} Rule: a mug that breaks is refunded within 30 days of its sale.\n");
    (1..=4_127).map(rule).collect()
}

#[derive(ToolArgs)]
struct Refund {
    order: u32,
    #[arg(min = 1)]
    cents: u32,
}

/// Pays money back.
#[tool(requires_approval = "Refund {cents} cents of order {order}?")]
async fn refund(refund: Refund) -> std::io::Result<String> {
    let mut ledger = OpenOptions::new().create(true).append(true).open("refunds.txt")?;
    writeln!(ledger, "{} {}", refund.order, refund.cents)?;
    if var("DIE_IN_REFUND").is_ok() {
        std::process::abort();
    }
    Ok(format!("refunded {} cents of order {}", refund.cents, refund.order))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let state = TurnDir::open("state")?;
    match args().nth(1).as_deref() {
        Some("run") => {
            println!(
                "{}",
                build_agent(&state)?.turn("My mug of order 2 broke.").id("desk-1").await?
            );
        }
        Some("resume") => {
            let answer = build_agent(&state)?.resume("desk-1").await?;
            let (calls, unknown) =
                (answer.report.calls.len(), answer.report.unknown_calls().count());
            println!("{answer} ({calls} calls, {unknown} of unknown outcome)");
        }
        Some(word @ ("approve" | "deny")) => decide_gates(&state, word).await?,
        _ => return Err("one of: run, approve, deny, resume".into()),
    }
    Ok(())
}

fn build_agent(state: &TurnDir) -> Result<Agent, Box<dyn Error>> {
    let mut model = Provider::builder(ChatCompletions::new(), "gpt-5-mini");
    if let Ok(url) = var("OPENAI_BASE_URL") {
        model = model.base_url(url);
    }
    let key = var("OPENAI_API_KEY").map_err(|_| "set OPENAI_API_KEY to your key")?;
    // The turn of a process that died can be resumed after the time of the lease.
    let mut deadlines = Deadlines::new().lease(Duration::from_secs(2));
    if let Ok(seconds) = var("STEP_SECONDS") {
        deadlines = deadlines.step(Duration::from_secs(seconds.parse()?));
    }
    let builder = Agent::builder(model.key(key).build()?)
        .tools([find_order(), search_policy(), refund()])
        .dir(state)
        .deadlines(deadlines)
        .gate_policy(GatePolicy::Suspend);
    Ok(builder.build()?)
}

async fn decide_gates(state: &TurnDir, word: &str) -> Result<(), Box<dyn Error>> {
    let gates = Gatekeeper::of_dir(state);
    for gate in gates.open_gates(None).await? {
        match word {
            "approve" => gates.resolve(&gate.id, true.into(), "ada").await?,
            _ => gates.reject(&gate.id, "the mug was used as a hammer", "ada").await?,
        }
        println!("{} {word}", gate.reason);
    }
    Ok(())
}
