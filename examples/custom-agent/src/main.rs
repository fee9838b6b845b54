//! A custom agent: typed tools, approvals, turns that survive a crash, and a script or a model.
//!
//! ```sh
//! cargo run -p custom-agent                       # offline, with its script
//! MODEL=gpt-5-mini OPENAI_API_KEY=… cargo run -p custom-agent "A room for six, with a phone"
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

mod desk;

use std::env;

use anyhow::Result;
use haft::executors::ScriptExecutor;
use haft::providers::Provider;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::stores::TurnDir;
use haft::turn::{Agent, Gate, TurnReport};

use crate::desk::Desk;

const SYSTEM: &str = "You book rooms. Find one that fits before you book it.";

#[tokio::main]
async fn main() -> Result<()> {
    let prompt = env::args().nth(1);
    let prompt = prompt.as_deref().unwrap_or("A room for ten at two o'clock, with a board.");
    let store_dir = TurnDir::open(env::temp_dir().join("haft-room-desk"))?;
    let report = run_booking(&store_dir, prompt).await?;
    for call in &report.calls {
        println!("{} {}: {}", call.tool(), call.raw().to_text(), call.state());
    }
    println!("{}", report.into_result()?);
    Ok(())
}

/// Runs a turn that is stored in a directory. After a crash, `Agent::resume` continues it.
async fn run_booking(store_dir: &TurnDir, prompt: &str) -> Result<TurnReport> {
    let desk = Desk::parse(include_str!("../data/rooms.json"))?;
    let builder = match read_variable("MODEL") {
        Some(model) => {
            let mut provider = Provider::builder(ChatCompletions::new(), model);
            if let Some(key) = read_variable("OPENAI_API_KEY") {
                provider = provider.key(key);
            }
            Agent::builder(provider.build()?)
        }
        None => Agent::builder(ScriptExecutor::parse(include_str!("../script.yaml"))?),
    };
    // Any process can approve a call, for example `haft approve`. Here it is the same program.
    let approve_calls = async |gate: Gate| {
        println!("{} {}", gate.reason, gate.payload);
        true
    };
    let builder = builder.dir(store_dir).tools(desk.tools()).approver(approve_calls);
    Ok(builder.build()?.turn(prompt).system(SYSTEM).report().await?)
}

fn read_variable(name: &str) -> Option<String> {
    env::var_os(name)?.into_string().ok().filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_room_is_found_and_booked() {
        let dir = tempfile::tempdir().unwrap();
        let store_dir = TurnDir::open(dir.path()).unwrap();
        let report =
            run_booking(&store_dir, "A room for ten at two o'clock, with a board.").await.unwrap();
        assert_eq!(report.text(), "Done: Eiche is booked from 14:00 to 15:00.");
        assert_eq!(report.calls.len(), 2);
    }
}
