//! `haft chat`

mod slash_command;

use std::collections::VecDeque;
use std::process::ExitCode;

use anyhow::Result;
use haft::executors::{DispatchExecutor as _, ExecutorDescription};
use haft::records::MessageRole;
use haft::stores::OpenStores;
use haft::stores::{TurnQuery, TurnSummary};
use haft::turn::{Agent, Cancellation, StoredTurns, TurnOutcome, TurnReport};
use uuid::Uuid;

use self::slash_command::{CommandContext, SlashCommand};
use super::conversations::read_messages;
use super::elide;
use super::run::{TurnSession, resume_when_released, session_options};
use crate::agent::AgentDir;
use crate::args::ChatArgs;
use crate::config::UserConfig;
use crate::conversations::{CHAT, find_conversation, list_turns_of, short_conversation};
use crate::error_printer::print_error;
use crate::host::{
    AgentHost, ExecutorFinder, HostSettings, builder_of, new_user_message, prepare_turn,
};
use crate::keyboard::{Keyboard, KeyboardInput};
use crate::markdown::MarkdownStream;
use crate::standard_output::has_failed;
use crate::stop_signals::{StopListener, StopSignal, StopSignals};
use crate::store::open_or_create_store;
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::user_error::{FailureCode, UserError, is_stopped};

pub(super) async fn run_chat(
    args: ChatArgs,
    terminal: &Terminal,
    signals: &StopSignals,
) -> Result<ExitCode> {
    let path = &args.agent.agent;
    let own = args.options.store.own_paths();
    let mut agent = AgentDir::load_protected(path, &own)?;
    agent.prepare(args.options.trust, terminal).await?;
    let stores = open_or_create_store(&agent.store_address(&args.options.store)).await?;
    let wanted = args.conversation.or_else(|| args.continues.then(|| "last".to_owned()));
    let (conversation, newest) = match wanted {
        Some(name) => {
            let id = find_conversation(&stores, &name).await?;
            let newest = find_newest_turn(&stores, &id).await?;
            print_history(&stores, &id, terminal).await?;
            (id, Some(newest))
        }
        None => (format!("{CHAT}{}", Uuid::new_v4()), None),
    };
    let config = UserConfig::read()?;
    let finder = ExecutorFinder { config: &config, purpose: args.options.run_use() };
    let executor = finder.of_agent(&agent, args.options.model.as_deref())?;
    let asks_model = matches!(executor.description(), ExecutorDescription::Model { .. });
    let builder = builder_of(&agent, executor);
    let host = AgentHost::new(stores, config, HostSettings::new(terminal));
    let options = session_options(&args.options, terminal);
    let mut session = TurnSession::new(host, &agent, builder, options, signals)?;
    print_greeting(&agent, &conversation, terminal);
    session.print_beginning(None, &[]);
    if let Some(newest) = newest {
        // The script of the agent takes the steps of the next turn.
        if newest.model.is_some() && !asks_model && Keyboard::is_interactive() {
            let model = newest.model.as_deref().unwrap_or_default();
            let text = format!("the last turn asked the model `{model}`; --model asks it again");
            let text = terminal.style_stderr(TextRole::Muted, sanitize(&text));
            print_line(format_args!("{text}"));
        }
        let resumed = resume_interrupted_turn(&mut session, newest, terminal).await?;
        if let Some(code) = resumed.as_ref().and_then(end_after) {
            return Ok(code);
        }
    }
    loop {
        let text = match read_message(session.inputs(), terminal).await {
            ChatInput::Message(text) => text,
            ChatInput::Command(command) => {
                let ctx = CommandContext {
                    agent: &agent,
                    conversation: &conversation,
                    model_use: args.options.run_use(),
                    terminal,
                };
                if let Err(error) = ctx.run(command, &mut session).await {
                    print_error(terminal, &error);
                }
                continue;
            }
            ChatInput::Stopped(stop) => return Ok(stop.exit_code().into()),
            ChatInput::End => return Ok(ExitCode::SUCCESS),
        };
        let prompt = new_user_message(format!("prompt-{}", Uuid::new_v4()), text)?;
        let turn = prepare_turn(session.agent().turn(prompt), &agent, path)?;
        let turn = turn.conversation(conversation.as_str());
        let work = |_, token: Cancellation| turn.cancellation(&token).report();
        match session.run_turn(work).await {
            Ok(report) => {
                if let Some(code) = end_after(&report) {
                    return Ok(code);
                }
            }
            // A signal has stopped the turn.
            Err(error) if is_stopped(&error) => return Err(error),
            Err(error) => {
                print_error(terminal, &error);
            }
        }
    }
}

/// The exit code of a conversation that cannot go on after a turn: because nobody is here who could decide its gate, and
/// the next message must not overtake it, or because nobody reads what the agent says.
fn end_after(report: &TurnReport) -> Option<ExitCode> {
    let waits = matches!(report.outcome, TurnOutcome::Waiting { .. });
    if waits && !Keyboard::is_interactive() {
        return Some(FailureCode::Waiting.into());
    }
    has_failed().then_some(ExitCode::SUCCESS)
}

/// What the user gives at the prompt.
enum ChatInput {
    Message(String),
    Command(SlashCommand),
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
            // A program that writes the messages may write anything.
            KeyboardInput::Line(text) => match SlashCommand::parse(&text) {
                Some(command) if Keyboard::is_interactive() => return ChatInput::Command(command),
                _ => return ChatInput::Message(text),
            },
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

fn print_greeting(agent: &AgentDir, conversation: &str, terminal: &Terminal) {
    if Keyboard::is_interactive() {
        let (name, conversation) = (agent.name(), short_conversation(conversation));
        for text in [
            format!(
                "{name}: Ctrl-C cancels a turn, Ctrl-D or /quit ends the conversation, /help lists commands"
            ),
            format!("continue later with --continue or --conversation {conversation}"),
        ] {
            print_line(format_args!("{}", terminal.style_stderr(TextRole::Muted, sanitize(&text))));
        }
    }
}

/// Prints the last messages of a conversation for a person at a terminal. Only the turns that they are in are loaded.
async fn print_history(stores: &OpenStores, conversation: &str, terminal: &Terminal) -> Result<()> {
    if !Keyboard::is_interactive() {
        return Ok(());
    }
    let mut turns = list_turns_of(stores, conversation).await?.into_iter();
    let stored = StoredTurns::of_stores(stores);
    let mut messages = VecDeque::new();
    while messages.len() < MAX_HISTORY
        && let Some(turn) = turns.next()
    {
        if let Some(turn) = stored.load_turn(&turn.id).await? {
            read_messages(&stored, &turn)
                .await?
                .into_iter()
                .rev()
                .for_each(|it| messages.push_front(it));
        }
    }
    let muted = |text: &str| {
        print_line(format_args!("{}", terminal.style_stderr(TextRole::Muted, sanitize(text))));
    };
    let left_out = messages.len().saturating_sub(MAX_HISTORY);
    if left_out > 0 || turns.len() > 0 {
        muted(&format!("(earlier messages: haft conversations export {conversation})"));
    }
    for (role, text) in messages.iter().skip(left_out) {
        let text = elide(text.trim_end(), MAX_MESSAGE);
        if *role == MessageRole::User {
            muted(&format!("> {text}"));
        } else if terminal.styles_markdown() {
            let mut markdown = MarkdownStream::for_columns(terminal.stdout_columns());
            let shown = markdown.push(&sanitize(&text)) + &markdown.finish();
            print_line(format_args!("{}", shown.trim_end_matches('\n')));
        } else {
            muted(&text);
        }
    }
    Ok(())
}

/// How many messages are shown when a conversation is continued, and how much of each, in characters.
const MAX_HISTORY: usize = 10;
const MAX_MESSAGE: usize = 600;

/// Finds the newest turn of a conversation, and fails if there is none.
async fn find_newest_turn(stores: &OpenStores, conversation: &str) -> Result<TurnSummary> {
    let query = TurnQuery::default().conversation(conversation).limit(1);
    let newest = stores.turns().turns(query).await?.into_iter().next();
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
) -> Result<Option<TurnReport>> {
    if turn.status.is_final() {
        return Ok(None);
    }
    let id = turn.id;
    let notice = |text: &str| {
        print_line(format_args!("{}", terminal.style_stderr(TextRole::Muted, text)));
    };
    if Keyboard::is_interactive() {
        notice(&format!("the last turn of this conversation was interrupted: {id}"));
        let reply = session.inputs().0.read_prompt("resume it? [Y/n] ").await;
        let is_refused = match reply {
            KeyboardInput::Line(text) => {
                matches!(text.trim().to_lowercase().as_str(), "n" | "no")
            }
            KeyboardInput::Interrupted | KeyboardInput::End => true,
        };
        if is_refused {
            notice(&format!("continuing without it; resume it with: haft resume {id}"));
            return Ok(None);
        }
    } else {
        notice(&format!("resuming the interrupted turn {id} first"));
    }
    let work =
        |runner: Agent, token| async move { resume_when_released(&runner, &id, token).await };
    Ok(Some(session.run_turn(work).await?))
}
