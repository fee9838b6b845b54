//! A conversation: each turn begins with what the turns before it said and did.
#![expect(clippy::print_stdout, reason = "an example prints")]

use haft::executors::{Step, StepContext, StepError};
use haft::middleware::hydrate_conversation;
use haft::stores::{MemoryScope, TurnQuery};
use haft::turn::Agent;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A closure in place of a model. It says what it sees.
    let executor = async |ctx: StepContext| {
        let seen = ctx.dispatch().turn().messages().len();
        Ok::<_, StepError>(Step::done().say(ctx.message(format!("I see {seen} messages."))?))
    };
    let agent = Agent::builder(executor)
        .system("Be brief.")
        .turn_input("history", hydrate_conversation().last_messages(40).max_tokens(8_000))
        .build()?;
    for text in ["My name is Ada.", "What is my name?"] {
        // Memories outlive the conversation, because they belong to the user.
        let turn = agent.turn(text).conversation("support-7").memories(MemoryScope::user("ada"));
        println!("> {text}\n{}", turn.await?);
    }
    let turns =
        agent.stored_turns().list_turns(TurnQuery::default().conversation("support-7")).await?;
    println!("{} turns", turns.len());
    Ok(())
}
