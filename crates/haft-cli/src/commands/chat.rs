//! `haft chat`

use std::process::ExitCode;

use anyhow::Result;
use haft::records::{Message, Record as _, RecordLoader};
use haft::stores::TurnDir;
use haft::stores::{RowKind, TurnQuery, TurnStore as _};
use haft::turn::TurnRunner;
use tokio::signal::unix::{SignalKind, signal};
use uuid::Uuid;

use super::run::{CANCELLED, TurnSession, build_runner, build_turn_input, new_user_message};
use crate::agent::Agent;
use crate::args::ChatArgs;
use crate::keyboard::{Keyboard, KeyboardInput};
use crate::terminal::{Terminal, TextRole, sanitize};
use crate::user_error::{FailureCode, UserError, print_error};

pub(super) async fn run_chat(args: ChatArgs, terminal: &Terminal) -> Result<ExitCode> {
    let path = &args.agent.agent;
    let agent = Agent::load(path)?;
    agent.prepare_files(terminal)?;
    let store_dir = TurnDir::open(agent.store_path(args.options.store.store.as_deref()))?;
    let (conversation, mut history) = match args.conversation {
        Some(id) => (id.clone(), load_history(&store_dir, &id).await?),
        None => (format!("chat-{}", Uuid::new_v4()), Vec::new()),
    };
    let builder = build_runner(&agent, &args.options)?;
    let mut session = TurnSession::new(builder, &agent, store_dir, &args.options, terminal)?;
    // The runtime's handler of Ctrl-C is installed before the line editor installs its own: the editor restores the
    // handler that it has found, and without this one Ctrl-C would end the program instead of the turn.
    let _interrupts = signal(SignalKind::interrupt())?;
    print_greeting(&agent, &conversation, terminal);
    loop {
        let text = match read_message(session.keyboard(), terminal).await {
            KeyboardInput::Line(text) => text,
            KeyboardInput::Interrupted => return Ok(ExitCode::from(CANCELLED)),
            KeyboardInput::End => return Ok(ExitCode::SUCCESS),
        };
        let prompt = new_user_message(format!("prompt-{}", Uuid::new_v4()), text)?;
        let turn = build_turn_input(&agent, path, Some(session.store_dir())).await?;
        let mut turn = turn.conversation(conversation.as_str());
        for message in &history {
            turn = turn.message(message.clone());
        }
        let turn = turn.message(prompt.clone());
        history.push(prompt);
        let work = |runner: TurnRunner, token| async move { runner.run_until(turn, token).await };
        match session.run_turn(work).await {
            Ok(report) => history.extend(report.messages.iter().map(|it| it.as_ref().clone())),
            // The output cannot be written any more.
            Err(error) if error.downcast_ref::<std::io::Error>().is_some() => return Err(error),
            Err(error) => {
                print_error(terminal, &error);
            }
        }
    }
}

/// Reads the next message. Empty lines are skipped, and `/quit` and `/exit` end the conversation. At a terminal,
/// Ctrl-C only prints how to end it.
async fn read_message(keyboard: &mut Keyboard, terminal: &Terminal) -> KeyboardInput {
    loop {
        let input = tokio::select! {
            input = keyboard.read_prompt("> ") => input,
            // The line editor reports Ctrl-C as a key; without it, Ctrl-C is a signal.
            Ok(()) = tokio::signal::ctrl_c() => KeyboardInput::Interrupted,
        };
        match input {
            KeyboardInput::Line(text) if matches!(text.trim(), "/quit" | "/exit") => {
                return KeyboardInput::End;
            }
            KeyboardInput::Line(text) if text.trim().is_empty() => {}
            KeyboardInput::Interrupted if Keyboard::is_interactive() => {
                let text = "press Ctrl-D or type /quit to end the conversation";
                eprintln!("{}", terminal.style_stderr(TextRole::Muted, text));
            }
            other => return other,
        }
    }
}

fn print_greeting(agent: &Agent, conversation: &str, terminal: &Terminal) {
    if Keyboard::is_interactive() {
        let text = format!(
            "{}: Ctrl-C cancels a turn, Ctrl-D ends the conversation; continue it with --conversation {conversation}",
            agent.name()
        );
        eprintln!("{}", terminal.style_stderr(TextRole::Muted, sanitize(&text)));
    }
}

/// Loads the messages of a conversation. Its newest turn contains all of them.
async fn load_history(store_dir: &TurnDir, conversation: &str) -> Result<Vec<Message>> {
    let mut query = TurnQuery::default();
    query.conversation = Some(conversation.to_owned());
    query.limit = Some(1);
    let newest = store_dir.store().turns(query).await?.into_iter().next();
    let Some(newest) = newest else {
        let error = UserError::new(format!("there is no conversation `{conversation}`"));
        let error = error.hint("`haft turns` shows the conversation of every turn");
        return Err(error.code(FailureCode::NotFound).into());
    };
    let stored = store_dir.store().load(newest.id).await?;
    let loader = RecordLoader::new();
    let mut messages = Vec::new();
    for row in stored.iter().flat_map(|turn| &turn.rows) {
        if row.kind == RowKind::Message {
            messages.push(Message::from_row(row, &loader).await?);
        }
    }
    Ok(messages)
}
