//! `haft chat`

use std::process::ExitCode;

use anyhow::Result;
use haft::records::{Message, Record as _, RecordLoader};
use haft::stores::TurnDir;
use haft::stores::{RowKind, TurnQuery, TurnStore as _};
use haft::turn::TurnRunner;
use uuid::Uuid;

use super::run::{TurnSession, build_runner, build_turn_input, new_user_message, session_options};
use crate::agent::{Agent, OwnPaths};
use crate::args::ChatArgs;
use crate::keyboard::{Keyboard, KeyboardInput};
use crate::stop_signals::{StopListener, StopSignal, StopSignals};
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::user_error::{FailureCode, UserError, is_stopped, print_error};

pub(super) async fn run_chat(
    args: ChatArgs,
    terminal: &Terminal,
    signals: &StopSignals,
) -> Result<ExitCode> {
    let path = &args.agent.agent;
    let own = OwnPaths { store: args.options.store.store.as_deref(), ..OwnPaths::default() };
    let agent = Agent::load_protected(path, &own)?;
    agent.prepare_files(args.options.trust, terminal).await?;
    let store_dir = TurnDir::open(agent.store_path(args.options.store.store.as_deref()))?;
    let (conversation, mut history) = match args.conversation {
        Some(id) => (id.clone(), load_history(&store_dir, &id).await?),
        None => (format!("chat-{}", Uuid::new_v4()), Vec::new()),
    };
    let builder = build_runner(&agent, &args.options)?;
    let mut session = TurnSession::new(
        builder,
        &agent,
        store_dir,
        session_options(&args.options, terminal),
        signals,
    )?;
    print_greeting(&agent, &conversation, terminal);
    loop {
        let text = match read_message(session.inputs(), terminal).await {
            ChatInput::Message(text) => text,
            ChatInput::Stopped(stop) => return Ok(stop.exit_code().into()),
            ChatInput::End => return Ok(ExitCode::SUCCESS),
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
            // A signal has stopped the turn.
            Err(error) if is_stopped(&error) => return Err(error),
            Err(error) => {
                print_error(terminal, &error);
            }
        }
    }
}

/// What the user gives at the prompt.
enum ChatInput {
    Message(String),
    Stopped(StopSignal),
    End,
}

/// Reads the next message. Empty lines are skipped, and `/quit` and `/exit` end the conversation. At a terminal,
/// Ctrl-C only prints how to end it.
async fn read_message(
    (keyboard, signals): (&mut Keyboard, &mut StopListener),
    terminal: &Terminal,
) -> ChatInput {
    loop {
        let input = tokio::select! {
            biased;
            // The line editor reports Ctrl-C as a key; without it, Ctrl-C is a signal.
            stop = signals.next() => match stop {
                StopSignal::Interrupt => KeyboardInput::Interrupted,
                stop => return ChatInput::Stopped(stop),
            },
            input = keyboard.read_prompt("> ") => input,
        };
        match input {
            KeyboardInput::Line(text) if matches!(text.trim(), "/quit" | "/exit") => {
                return ChatInput::End;
            }
            KeyboardInput::Line(text) if text.trim().is_empty() => {}
            KeyboardInput::Line(text) => return ChatInput::Message(text),
            KeyboardInput::Interrupted if Keyboard::is_interactive() => {
                let text = "press Ctrl-D or type /quit to end the conversation";
                print_line(format_args!("{}", terminal.style_stderr(TextRole::Muted, text)));
            }
            KeyboardInput::Interrupted => return ChatInput::Stopped(StopSignal::Interrupt),
            KeyboardInput::End if Keyboard::is_hung_up() => {
                return ChatInput::Stopped(StopSignal::Hangup);
            }
            KeyboardInput::End => return ChatInput::End,
        }
    }
}

fn print_greeting(agent: &Agent, conversation: &str, terminal: &Terminal) {
    if Keyboard::is_interactive() {
        let text = format!(
            "{}: Ctrl-C cancels a turn, Ctrl-D ends the conversation; continue it with --conversation {conversation}",
            agent.name()
        );
        print_line(format_args!("{}", terminal.style_stderr(TextRole::Muted, sanitize(&text))));
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
