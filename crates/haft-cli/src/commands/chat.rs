//! `haft chat`

use std::process::ExitCode;

use anyhow::Result;
use haft::stores::TurnDir;
use haft::stores::{TurnQuery, TurnStore as _, TurnSummary};
use haft::turn::TurnRunner;
use tokio::signal::unix::{SignalKind, signal};
use uuid::Uuid;

use super::run::{
    CANCELLED, TurnSession, build_runner, build_turn_input, new_user_message, resume_when_released,
};
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
    let (conversation, newest) = match args.conversation {
        Some(id) => (id.clone(), Some(find_newest_turn(&store_dir, &id).await?)),
        None => (format!("chat-{}", Uuid::new_v4()), None),
    };
    let builder = build_runner(&agent, &args.options)?;
    let mut session = TurnSession::new(builder, &agent, store_dir, &args.options, terminal)?;
    // The runtime's handler of Ctrl-C is installed before the line editor installs its own: the editor restores the
    // handler that it has found, and without this one Ctrl-C would end the program instead of the turn.
    let _interrupts = signal(SignalKind::interrupt())?;
    print_greeting(&agent, &conversation, terminal);
    if let Some(newest) = newest {
        resume_interrupted_turn(&mut session, newest, terminal).await?;
    }
    loop {
        let text = match read_message(session.keyboard(), terminal).await {
            KeyboardInput::Line(text) => text,
            KeyboardInput::Interrupted => return Ok(ExitCode::from(CANCELLED)),
            KeyboardInput::End => return Ok(ExitCode::SUCCESS),
        };
        let prompt = new_user_message(format!("prompt-{}", Uuid::new_v4()), text)?;
        let turn = build_turn_input(&agent, path)?;
        let turn = turn.conversation(conversation.as_str()).message(prompt);
        let work = |runner: TurnRunner, token| async move { runner.run_until(turn, token).await };
        match session.run_turn(work).await {
            Ok(_) => {}
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

/// Finds the newest turn of a conversation, and fails if there is none.
async fn find_newest_turn(store_dir: &TurnDir, conversation: &str) -> Result<TurnSummary> {
    let query = TurnQuery::default().conversation(conversation).limit(1);
    let newest = store_dir.store().turns(query).await?.into_iter().next();
    newest.ok_or_else(|| {
        let error = UserError::new(format!("there is no conversation `{conversation}`"));
        let error = error.hint("`haft turns` shows the conversation of every turn");
        error.code(FailureCode::NotFound).into()
    })
}

/// Resumes the newest turn of a conversation if it was interrupted: what it called is then part of the conversation, and
/// nothing is called twice. At a terminal the user decides.
async fn resume_interrupted_turn(
    session: &mut TurnSession,
    turn: TurnSummary,
    terminal: &Terminal,
) -> Result<()> {
    if turn.status.is_final() {
        return Ok(());
    }
    let id = turn.id;
    let notice = |text: &str| eprintln!("{}", terminal.style_stderr(TextRole::Muted, text));
    if Keyboard::is_interactive() {
        notice(&format!("the last turn of this conversation was interrupted: {id}"));
        let reply = session.keyboard().read_prompt("resume it? [Y/n] ").await;
        let is_refused = match reply {
            KeyboardInput::Line(text) => {
                matches!(text.trim().to_lowercase().as_str(), "n" | "no")
            }
            KeyboardInput::Interrupted | KeyboardInput::End => true,
        };
        if is_refused {
            notice(&format!("continuing without it; resume it with: haft resume {id}"));
            return Ok(());
        }
    } else {
        notice(&format!("resuming the interrupted turn {id} first"));
    }
    let work =
        |runner: TurnRunner, token| async move { resume_when_released(&runner, &id, token).await };
    session.run_turn(work).await?;
    Ok(())
}
