mod journal;
mod limits;
mod simulation;
mod table;

use std::sync::Arc;

use haft_core::clock::Timestamp;
use haft_core::context::Hydration;
use haft_core::event::ErrorReport;
use haft_core::step::NextAction;
use haft_core::usage::Usage;
use serde_json::json;

use super::super::journal::JournalEntry;
use super::super::limits::{Limit, Limits};
use super::super::report::TurnOutcome;
use super::{TurnMachine, TurnRules};

fn machine(limits: Limits, has_output: bool) -> TurnMachine {
    TurnMachine::new(TurnRules { limits, has_output })
}

fn started() -> JournalEntry {
    let system_prompt = Arc::from("You help.");
    let (stash, at) = (json!({}), Timestamp::EPOCH);
    let (executor, nonce, memory_scope) = (None, None, None);
    JournalEntry::Started { version: 1, system_prompt, stash, at, executor, nonce, memory_scope }
}

fn resumed() -> JournalEntry {
    let (by, at) = ("a test".to_owned(), Timestamp::EPOCH);
    JournalEntry::Resumed { version: 1, by, at, executor: None }
}

fn step(iteration: u32, next: NextAction, calls: usize, limit: Option<Limit>) -> JournalEntry {
    let call = "0".repeat(64).parse();
    let calls = call.into_iter().cycle().take(calls).collect();
    let messages = vec![format!("m-{iteration}").parse().unwrap()];
    JournalEntry::Step {
        iteration,
        thoughts: Box::default(),
        messages,
        calls,
        then: next,
        usage: Usage::new(8, 2),
        limit,
        request: None,
        model: None,
        options: None,
        tools: None,
        milliseconds: None,
    }
}

fn iterated(iteration: u32, done: bool) -> JournalEntry {
    JournalEntry::Iterated { iteration, done, unchecked: false }
}

fn ended(outcome: TurnOutcome, error: Option<ErrorReport>, iterations: u32) -> JournalEntry {
    let usage = Usage::new(8, 2);
    JournalEntry::Ended { outcome, error, iterations, usage, at: Timestamp::EPOCH }
}
