//! `haft chat`

use std::process::ExitCode;

use anyhow::Result;
use haft::record::{Loader, Message, Record as _};
use haft::store::{RowKind, Store as _, TurnQuery};
use haft::stores::TurnDir;
use haft::turn::TurnRunner;
use uuid::Uuid;

use super::run::{CANCELLED, Session, input, played, said};
use crate::agent::Agent;
use crate::args::Chat;
use crate::failure::{self, Code, Failure};
use crate::keyboard::{Keyboard, Typed};
use crate::terminal::{Terminal, Tone};

pub(super) async fn run(args: Chat, terminal: &Terminal) -> Result<ExitCode> {
    let path = &args.agent.agent;
    let agent = Agent::load(path)?;
    agent.prepare(terminal)?;
    let folder = TurnDir::open(agent.store(args.output.store.store.as_deref()))?;
    let (conversation, mut history) = match args.conversation {
        Some(id) => (id.clone(), history(&folder, &id).await?),
        None => (format!("chat-{}", Uuid::new_v4()), Vec::new()),
    };
    let builder = played(&agent, &args.output)?;
    let mut session = Session::new(builder, &agent, folder, &args.output, terminal)?;
    greet(&agent, &conversation, terminal);
    loop {
        let typed = tokio::select! {
            typed = session.keyboard().prompt("> ") => typed,
            // An editor reports the key itself; without one it is a signal.
            Ok(()) = tokio::signal::ctrl_c() => Typed::Interrupted,
        };
        let text = match typed {
            Typed::Line(text) if matches!(text.trim(), "/quit" | "/exit") => break,
            Typed::Line(text) if text.trim().is_empty() => continue,
            Typed::Line(text) => text,
            Typed::Interrupted if Keyboard::is_attended() => {
                eprintln!("{}", terminal.err(Tone::Quiet, "Ctrl-D or /quit ends the talk"));
                continue;
            }
            Typed::Interrupted => return Ok(ExitCode::from(CANCELLED)),
            Typed::End => break,
        };
        let prompt = said(format!("prompt-{}", Uuid::new_v4()), text)?;
        let mut turn =
            input(&agent, path, session.folder()).await?.conversation(conversation.as_str());
        for message in &history {
            turn = turn.message(message.clone());
        }
        let turn = turn.message(prompt.clone());
        history.push(prompt);
        let work = |runner: TurnRunner, token| async move { runner.run_until(turn, token).await };
        match session.drive(work).await {
            Ok(report) => history.extend(report.messages.iter().map(|it| it.as_ref().clone())),
            // The screen is gone.
            Err(error) if error.downcast_ref::<std::io::Error>().is_some() => return Err(error),
            Err(error) => {
                failure::report(terminal, &error);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn greet(agent: &Agent, conversation: &str, terminal: &Terminal) {
    if Keyboard::is_attended() {
        let text = format!(
            "{}: Ctrl-C stops an answer, Ctrl-D ends the talk; later: --conversation {conversation}",
            agent.name()
        );
        eprintln!("{}", terminal.err(Tone::Quiet, text));
    }
}

/// What was said in a conversation: the newest turn holds all of it.
async fn history(folder: &TurnDir, conversation: &str) -> Result<Vec<Message>> {
    let mut query = TurnQuery::default();
    query.conversation = Some(conversation.to_owned());
    query.limit = Some(1);
    let newest = folder.store().turns(query).await?.into_iter().next();
    let Some(newest) = newest else {
        let failure = Failure::new(format!("there is no conversation `{conversation}`"));
        let failure = failure.hint("`haft turns` shows the conversation of every turn");
        return Err(failure.code(Code::NothingFound).into());
    };
    let stored = folder.store().load(newest.id).await?;
    let loader = Loader::new();
    let mut messages = Vec::new();
    for row in stored.iter().flat_map(|turn| &turn.rows) {
        if row.kind == RowKind::Message {
            messages.push(Message::from_row(row, &loader).await?);
        }
    }
    Ok(messages)
}
