//! Requests of turns with a long history.

use std::sync::Arc;

use bytes::Bytes;
use haft::Message;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::{Options, Provider};
use haft::turn::{Timestamp, TurnInput, TurnOutcome, TurnRunner};
use serde_json::{Value, json};

use super::{cpu_time, runtime, text};
use crate::stream::ours::{BRIEF, Canned};

/// Everything is sent.
pub(super) fn whole(exchanges: usize) -> Result<f64, String> {
    measure(exchanges, json!({}))
}

/// Most of it has to be left out.
pub(super) fn shed(exchanges: usize) -> Result<f64, String> {
    let window = json!({"contextWindow": 3000, "tokenEncoding": "claude", "contextShedding": true});
    measure(exchanges, window)
}

fn measure(exchanges: usize, options: Value) -> Result<f64, String> {
    let transport = Arc::new(Canned(vec![Bytes::from_static(BRIEF.as_bytes())]));
    let model = Provider::builder(ChatCompletions::new(), "m").base_url("http://localhost");
    let model = model.transport(transport).options(Options::from(options)).build().map_err(text)?;
    let (runner, runtime) = (TurnRunner::builder(model).build().map_err(text)?, runtime()?);
    cpu_time(|| {
        let report = runtime.block_on(runner.run(input(exchanges)?)).map_err(text)?;
        match report.outcome {
            TurnOutcome::Completed => Ok(()),
            outcome => Err(format!("the turn ended as {outcome:?}: {:?}", report.error)),
        }
    })
}

fn input(exchanges: usize) -> Result<TurnInput, String> {
    let at = Timestamp::EPOCH;
    let mut input = TurnInput::new("You help.");
    for n in 0..exchanges {
        let asked = format!("Question {n}: is there anything wrong in the log of this day?");
        input = input.message(Message::user_at(format!("q-{n}"), asked, at).map_err(text)?);
        let said = "The log has a hundred lines, and nothing in it is wrong.";
        input = input.message(Message::assistant_at(format!("a-{n}"), said, at).map_err(text)?);
    }
    Ok(input.message(Message::user_at("last", "And now?", at).map_err(text)?))
}
