//! `haft submit`

use std::process::ExitCode;

use anyhow::Result;
use haft::stores::TurnStatus;

use super::run::read_prompt;
use crate::agent::AgentDir;
use crate::args::SubmitArgs;
use crate::config::UserConfig;
use crate::host::{
    AgentHost, ExecutorFinder, ExecutorUse, HostSettings, build_turn_input, new_user_message,
};
use crate::output::{SubmittedTurn, to_line};
use crate::store::open_or_create_store;
use crate::terminal::Terminal;

/// Stores a turn without running it, and prints its id. It needs no API key: the worker that runs the turn does.
pub(super) async fn submit_turn(args: &SubmitArgs, terminal: &Terminal) -> Result<ExitCode> {
    let own = args.store.own_paths();
    let agent = AgentDir::load_protected(&args.agent.agent, &own)?;
    let prompt = read_prompt(args.prompt.as_deref(), &agent, "haft submit")?;
    let config = UserConfig::read()?;
    let finder = ExecutorFinder { config: &config, purpose: ExecutorUse::Show };
    let executor = finder.of_agent(&agent, args.model.as_deref())?;
    let stores = open_or_create_store(&agent.store_address(&args.store)).await?;
    let host = AgentHost::new(stores, config, HostSettings::new(terminal));
    let mut input = build_turn_input(&agent, &args.agent.agent)?.priority(args.priority);
    if let Some(conversation) = &args.conversation {
        input = input.conversation(conversation);
    }
    if let Some(id) = &args.id {
        input = input.id(id);
    }
    let input = input.message(new_user_message("prompt", prompt)?);
    let runner = host.idle_runner(&agent, executor)?.build()?;
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
