//! `haft conversations`

use std::process::ExitCode;

use anyhow::Result;
use haft::records::MessageRole;
use haft::stores::{OpenStores, Row, RowKind, StoreError, StoredTurn};
use haft::turn::{StoredTurns, TurnRecord};
use serde_json::Value;

use super::cleanup::explain_held_turn;
use super::{count_noun, format_age, print_text};
use crate::args::{ConversationsArgs, ConversationsCommand, ExportFormat, StoreArg};
use crate::conversations::{
    Conversation, find_conversation, list_conversations, list_turns_of, short_conversation,
};
use crate::output::{
    ConversationExport, ConversationLine, ExportedTurn, PrintedRecord, to_line, to_pretty_text,
};
use crate::store::{open_store, open_store_to_read};
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::text_width::{display_width, elide_columns, pad_end};

pub(super) async fn run_conversations_command(
    args: ConversationsArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    match args.command {
        None => print_conversations(&args.store, args.json, terminal).await,
        Some(ConversationsCommand::Rename { conversation, title, store }) => {
            let stores = open_store(&store.find_address()).await?;
            let id = find_conversation(&stores, &conversation).await?;
            let new = (!title.is_empty()).then(|| title.clone());
            stores.turns().set_title(String::new(), id.clone(), new).await?;
            let label = terminal.style_stderr(TextRole::Success, "renamed");
            let id = sanitize(short_conversation(&id));
            match title.is_empty() {
                true => print_line(format_args!("removed the title of {id}")),
                false => print_line(format_args!("{label} {id}: {}", sanitize(&title))),
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(ConversationsCommand::Remove { conversation, store }) => {
            let stores = open_store(&store.find_address()).await?;
            let id = find_conversation(&stores, &conversation).await?;
            remove_conversation(&stores, &id, terminal).await
        }
        Some(ConversationsCommand::Export { conversation, format, store }) => {
            let stores = open_store_to_read(&store.find_address()).await?;
            let id = find_conversation(&stores, &conversation).await?;
            export_conversation(&stores, &id, format).await
        }
    }
}

/// Removes the turns of a conversation, and with the last one its title. The newest goes first: if a process still runs it,
/// nothing is removed.
async fn remove_conversation(
    stores: &OpenStores,
    id: &str,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let turns = list_turns_of(stores, id).await?;
    let stored = StoredTurns::of_stores(stores);
    for turn in &turns {
        stored.remove_turn(&turn.id).await.map_err(explain_held_turn)?;
    }
    let (label, turns) =
        (terminal.style_stderr(TextRole::Warning, "removed"), count_noun(turns.len(), "turn"));
    print_line(format_args!("{label} {}: {turns}", sanitize(short_conversation(id))));
    Ok(ExitCode::SUCCESS)
}

async fn print_conversations(
    store: &StoreArg,
    as_json: bool,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let stores = open_store_to_read(&store.find_address()).await?;
    let all = list_conversations(&stores).await?;
    let ids = all.iter().map(|it| it.id.clone()).collect();
    let titles = stores.turns().titles(String::new(), ids).await?;
    if all.is_empty() && !as_json {
        let hint = "`haft chat AGENT` starts one";
        return Ok(super::report_nothing("no conversations", hint, terminal));
    }
    let ids = all.iter().map(|it| sanitize(short_conversation(&it.id)));
    let id_width = ids.map(|it| display_width(&it)).max().unwrap_or_default();
    let counts = all.iter().map(|it| count_noun(it.turns.len(), "turn").len());
    let count_width = counts.max().unwrap_or_default();
    let mut text = String::new();
    for conversation in &all {
        let title = match titles.get(&conversation.id) {
            Some(title) => title.clone(),
            None => first_message(conversation),
        };
        let newest = conversation.turns.first();
        let (newest_at, status) = (newest.map(|it| it.created_at), newest.map(|it| it.status));
        let turns = conversation.turns.len();
        if as_json {
            let line = ConversationLine {
                conversation: &conversation.id,
                title: &title,
                turns,
                newest: newest_at,
                status,
            };
            text.push_str(&to_line(&line)?);
            continue;
        }
        let id = pad_end(&sanitize(short_conversation(&conversation.id)), id_width);
        let id = terminal.style_stdout(TextRole::Key, id);
        let age = newest_at.map(format_age).unwrap_or_default();
        let turns = count_noun(turns, "turn");
        let title = sanitize(&title);
        let used = id_width + count_width + AGE_AND_GAPS;
        let room = terminal.stdout_columns().map(|it| it.saturating_sub(used).max(8));
        let title = room.map_or_else(|| title.clone(), |room| elide_columns(&title, room));
        text.push_str(&format!("{id}  {age:>8}  {turns:<count_width$}  {title}\n"));
    }
    print_text(&text)
}

/// The columns of the age, and of the gaps around it and before the title.
const AGE_AND_GAPS: usize = 14;

/// The beginning of the first message of a conversation.
fn first_message(conversation: &Conversation) -> String {
    let Some(oldest) = conversation.turns.last() else { return String::new() };
    oldest.first_words.as_deref().unwrap_or_default().chars().take(60).collect()
}

/// Reads the messages that a turn has stored, with their roles.
pub(super) async fn read_messages(
    turns: &StoredTurns,
    turn: &StoredTurn,
) -> Result<Vec<(MessageRole, String)>> {
    let mut messages = Vec::new();
    for row in turn.rows.iter().filter(|row| row.kind == RowKind::Message) {
        if let TurnRecord::Message(message) = turns.read_record(row).await? {
            let text = message.content().map(|it| it.as_str().to_owned());
            messages.push((message.role(), text.unwrap_or_default()));
        }
    }
    Ok(messages)
}

/// A stored record that cannot be read.
fn damaged_record(turn: &StoredTurn, row: &Row, error: &serde_json::Error) -> StoreError {
    let what = format!("{} `{}` of turn `{}`", row.kind.as_str(), row.id, turn.summary.id);
    StoreError::Damaged { what, reason: error.to_string() }
}

/// Loads the turns of a conversation, from the oldest to the newest.
async fn load_turns(stores: &OpenStores, id: &str) -> Result<Vec<StoredTurn>> {
    let mut turns = Vec::new();
    for summary in list_turns_of(stores, id).await?.into_iter().rev() {
        turns.extend(stores.turns().load(summary.id).await?);
    }
    Ok(turns)
}

async fn export_conversation(
    stores: &OpenStores,
    id: &str,
    format: ExportFormat,
) -> Result<ExitCode> {
    if format == ExportFormat::Json {
        let turns = load_turns(stores, id).await?;
        let title = stores.turns().titles(String::new(), vec![id.to_owned()]).await?.remove(id);
        let turns = turns.iter().map(|turn| {
            let records = turn.rows.iter().map(|row| {
                let record: Value = serde_json::from_str(&row.json)
                    .map_err(|error| damaged_record(turn, row, &error))?;
                Ok(PrintedRecord { kind: row.kind.as_str(), id: &row.id, record })
            });
            let records = records.collect::<Result<Vec<_>>>()?;
            Ok(ExportedTurn { turn: &turn.summary, records })
        });
        let turns = turns.collect::<Result<Vec<_>>>()?;
        let export = ConversationExport { conversation: id, title: title.as_deref(), turns };
        return print_text(&to_pretty_text(&export)?);
    }
    print_text(&conversation_to_markdown(stores, id).await?)
}

/// A conversation as Markdown: its title, and what was said.
pub(super) async fn conversation_to_markdown(stores: &OpenStores, id: &str) -> Result<String> {
    let turns = load_turns(stores, id).await?;
    let title = stores.turns().titles(String::new(), vec![id.to_owned()]).await?.remove(id);
    let stored = StoredTurns::of_stores(stores);
    let mut text = format!("# {}\n", title.as_deref().unwrap_or(id));
    for turn in &turns {
        text.push_str(&format!(
            "\n<!-- turn {}, {} -->\n",
            turn.summary.id, turn.summary.created_at
        ));
        for (role, content) in read_messages(&stored, turn).await? {
            let name = match role {
                MessageRole::User => "User",
                MessageRole::Assistant => "Assistant",
            };
            text.push_str(&format!("\n**{name}**\n\n{}\n", content.trim_end()));
        }
    }
    Ok(text)
}
