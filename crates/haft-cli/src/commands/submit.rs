//! `haft submit`

use std::process::ExitCode;

use anyhow::Result;
use haft::stores::TurnStatus;

use super::run::{
    ExecutorUse, build_turn_input, new_user_message, read_prompt, runner_builder,
    select_executor_for,
};
use crate::agent::Agent;
use crate::args::SubmitArgs;
use crate::output::{SubmittedTurn, to_line};
use crate::store::open_or_create_store;

/// Stores a turn without running it, and prints its id. It needs no API key: the worker that runs the turn does.
pub(super) async fn submit_turn(args: &SubmitArgs) -> Result<ExitCode> {
    let own = args.store.own_paths();
    let agent = Agent::load_protected(&args.agent.agent, &own)?;
    let prompt = read_prompt(args.prompt.as_deref(), &agent, "haft submit")?;
    let executor = select_executor_for(&agent, args.model.as_deref(), ExecutorUse::Show)?;
    let stores = open_or_create_store(&agent.store_address(&args.store)).await?;
    let mut input = build_turn_input(&agent, &args.agent.agent)?.priority(args.priority);
    if let Some(conversation) = &args.conversation {
        input = input.conversation(conversation);
    }
    if let Some(id) = &args.id {
        input = input.id(id);
    }
    let input = input.message(new_user_message("prompt", prompt)?);
    let runner = runner_builder(&agent, executor).stores(&stores).build()?;
    let turn = runner.enqueue(input).await?;
    match args.json {
        true => {
            let line = SubmittedTurn {
                turn: turn.as_str(),
                status: TurnStatus::Queued,
                conversation: args.conversation.as_deref(),
                priority: args.priority,
            };
            super::print_text(&to_line(&line)?)
        }
        false => super::print_text(&format!("{turn}\n")),
    }
}
