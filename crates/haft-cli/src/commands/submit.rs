//! `haft submit`

use std::process::ExitCode;

use anyhow::Result;
use haft::stores::TurnStatus;

use super::run::read_prompt;
use crate::agent::AgentDir;
use crate::args::SubmitArgs;
use crate::config::UserConfig;
use crate::host::{
    AgentHost, ExecutorFinder, ExecutorUse, HostSettings, new_user_message, prepare_turn,
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
    let idle = host.idle_runner(&agent, executor)?.build()?;
    let turn = idle.turn(new_user_message("prompt", prompt)?).priority(args.priority);
    let mut turn = prepare_turn(turn, &agent, &args.agent.agent)?;
    if let Some(conversation) = &args.conversation {
        turn = turn.conversation(conversation);
    }
    if let Some(id) = &args.id {
        turn = turn.id(id);
    }
    let turn = turn.submit().await?;
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
