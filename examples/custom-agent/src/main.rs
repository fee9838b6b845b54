//! An agent of one's own: typed tools, somebody who is asked, turns that survive, a script or a model.
//!
//! ```sh
//! cargo run -p custom-agent                       # offline, by its script
//! MODEL=gpt-5-mini OPENAI_API_KEY=… cargo run -p custom-agent "A room for six, with a phone"
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

mod desk;

use std::env;

use anyhow::Result;
use haft::clock::{Clock as _, SystemClock};
use haft::event::{Event, EventKind};
use haft::executors::Scripted;
use haft::providers::Provider;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::record::Message;
use haft::stores::TurnDir;
use haft::turn::{TurnInput, TurnReport, TurnRunner};
use tokio::sync::mpsc;

use crate::desk::Desk;

const SYSTEM: &str = "You book rooms. Find one that fits before you book it.";

#[tokio::main]
async fn main() -> Result<()> {
    let prompt = env::args().nth(1);
    let prompt = prompt.as_deref().unwrap_or("A room for ten at two o'clock, with a board.");
    let folder = TurnDir::open(env::temp_dir().join("haft-room-desk"))?;
    let report = book(&folder, prompt).await?;
    for call in &report.calls {
        println!("{} {} {:?}", call.tool(), call.raw().to_text(), call.state());
    }
    println!("{}", report.text());
    Ok(())
}

/// Runs a turn. It is kept in the folder: after a crash, `TurnRunner::resume` goes on with it.
async fn book(folder: &TurnDir, prompt: &str) -> Result<TurnReport> {
    let desk = Desk::open(include_str!("../data/rooms.json"))?;
    let (gates, mut opened) = mpsc::unbounded_channel();
    let watch = move |event: &Event| {
        if let EventKind::TurnGateOpen { .. } = &event.kind {
            // Nobody listens any more once the turn is over.
            let _ = gates.send(());
        }
    };
    let builder = match variable("MODEL") {
        Some(model) => {
            let mut provider = Provider::builder(ChatCompletions::new(), model);
            if let Some(key) = variable("OPENAI_API_KEY") {
                provider = provider.key(key);
            }
            TurnRunner::builder(provider.build()?)
        }
        None => TurnRunner::builder(Scripted::parse(include_str!("../script.yaml"))?),
    };
    let runner = builder.dir(folder).tools(desk.tools()?).observer(watch).build()?;
    let now = SystemClock::new().now();
    let input = TurnInput::new(SYSTEM).message(Message::user("prompt", prompt, now)?);

    // Whoever answers can be anywhere, `haft approve` included; here it is the same program.
    let answering = async {
        while opened.recv().await.is_some() {
            for gate in runner.gates().open(None).await? {
                println!("{} {}", gate.reason, gate.payload);
                runner.gates().resolve(&gate.id, true.into(), "the example").await?;
            }
        }
        anyhow::Ok(())
    };
    tokio::select! {
        report = runner.run(input) => Ok(report?),
        Err(error) = answering => Err(error),
    }
}

fn variable(name: &str) -> Option<String> {
    env::var_os(name)?.into_string().ok().filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_room_is_found_and_booked() {
        let folder = tempfile::tempdir().unwrap();
        let folder = TurnDir::open(folder.path()).unwrap();
        let report = book(&folder, "A room for ten at two o'clock, with a board.").await.unwrap();
        assert_eq!(report.text(), "Done: Eiche is booked from 14:00 to 15:00.");
        assert_eq!(report.calls.len(), 2);
    }
}
