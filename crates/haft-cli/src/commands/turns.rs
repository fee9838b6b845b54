//! `haft turns`, `haft show`

mod step_view;

use std::process::ExitCode;

use anyhow::Result;
use haft::stores::{Row, RowKind, StoredTurn, TurnQuery, TurnStatus, TurnStore as _};
use serde_json::{Value, json};

use crate::args::{ShowArgs, TurnsArgs};
use crate::store::{find_turn, open_store_to_read};
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::user_error::{FailureCode, UserError};

pub(super) async fn list_turns(args: TurnsArgs, terminal: &Terminal) -> Result<ExitCode> {
    let store_dir = open_store_to_read(args.store.path())?;
    let mut query = TurnQuery::default();
    query.limit = Some(args.limit);
    query.unfinished = args.unfinished;
    query.conversation = args.conversation;
    let turns = store_dir.store().turns(query).await?;
    if turns.is_empty() && !args.json {
        print_line(format_args!("no turns"));
    }
    let mut text = String::new();
    for turn in &turns {
        if args.json {
            text.push_str(&serde_json::to_string(turn)?);
        } else {
            let status = terminal
                .style_stdout(status_role(turn.status), format!("{:<10}", turn.status.as_str()));
            let id = terminal.style_stdout(TextRole::Key, turn.id.as_str());
            text.push_str(&format!("{id}  {status}  {}", turn.created_at));
            if let Some(conversation) = &turn.conversation {
                text.push_str(&format!("  {}", sanitize(conversation)));
            }
        }
        text.push('\n');
    }
    super::print_text(&text)
}

fn status_role(status: TurnStatus) -> TextRole {
    match status {
        TurnStatus::Completed => TextRole::Success,
        status if !status.is_final() => TextRole::Warning,
        _ => TextRole::Error,
    }
}

pub(super) async fn show_turn(args: &ShowArgs, terminal: &Terminal) -> Result<ExitCode> {
    let store_dir = open_store_to_read(args.store.path())?;
    let id = find_turn(&store_dir, &args.turn).await?;
    let Some(turn) = store_dir.store().load(id.clone()).await? else {
        let error = UserError::new(format!("turn `{id}` was removed")).code(FailureCode::NotFound);
        return Err(error.into());
    };
    if let Some(step) = args.request {
        return step_view::show_request(args, step, &store_dir, &turn, terminal).await;
    }
    if let Some(step) = args.response {
        return step_view::show_response(args, step, &turn, terminal);
    }
    if args.json {
        return super::print_text(&format!("{:#}\n", turn_to_json(&turn)?));
    }
    super::print_text(&turn_to_text(&turn, terminal))
}

/// Parses JSON text. Text that is not JSON becomes a string.
fn parse_json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn turn_to_json(turn: &StoredTurn) -> Result<Value> {
    let rows = turn
        .rows
        .iter()
        .map(|row| json!({"kind": row.kind.as_str(), "id": row.id, "record": parse_json_or_text(&row.json)}));
    let gates = turn.gates.iter().map(|gate| {
        let settlement = gate.settlement.as_deref().map(parse_json_or_text);
        json!({"gate": gate.id.as_str(), "opened": parse_json_or_text(&gate.json), "settled": settlement})
    });
    Ok(json!({
        "turn": serde_json::to_value(&turn.summary)?,
        "records": rows.collect::<Vec<_>>(),
        "gates": gates.collect::<Vec<_>>(),
        "journal": turn.journal.iter().map(|it| parse_json_or_text(it)).collect::<Vec<_>>(),
    }))
}

fn turn_to_text(turn: &StoredTurn, terminal: &Terminal) -> String {
    let summary = &turn.summary;
    let status = terminal.style_stdout(status_role(summary.status), summary.status.as_str());
    let id = terminal.style_stdout(TextRole::Key, summary.id.as_str());
    let mut text = format!("{id}  {status}  {}\n", summary.created_at);
    if let Some((first, last, count)) = earlier_turns(turn) {
        let label = terminal.style_stdout(TextRole::Warning, format!("{:<10}", "history"));
        let turns = if count == 1 { "turn" } else { "turns" };
        let range = if first == last { first } else { format!("{first} to {last}") };
        text.push_str(&format!("{label} {count} earlier {turns}: {}\n", sanitize(&range)));
    }
    for row in &turn.rows {
        text.push_str(&record_to_text(row, terminal));
    }
    if let Some(error) = end_error(turn) {
        let label = terminal.style_stdout(TextRole::Error, format!("{:<10}", "error"));
        text.push_str(&format!("{label} {}\n", error.replace('\n', "\n           ")));
    }
    for gate in turn.gates.iter().filter(|gate| gate.settlement.is_none()) {
        let label = terminal.style_stdout(TextRole::Warning, "open gate");
        text.push_str(&format!("{label} {}\n", gate.id));
    }
    text
}

/// The first and the last of the earlier turns whose records the model saw in a turn, and their number. The records are
/// stored there and not again.
fn earlier_turns(turn: &StoredTurn) -> Option<(String, String, u64)> {
    let mut entries = turn.journal.iter().map(|it| parse_json_or_text(it));
    let entry = entries.find(|entry| entry["entry"] == "hydrated")?;
    let range = entry.get("range")?;
    let id = |name: &str| range.get(name)?.as_str().map(str::to_owned);
    Some((id("first")?, id("last")?, range.get("count")?.as_u64()?))
}

/// The error that a turn ended with, with its code and its causes.
fn end_error(turn: &StoredTurn) -> Option<String> {
    let end = parse_json_or_text(turn.journal.last()?);
    let error = end.get("error").filter(|_| end.get("entry") == Some(&"ended".into()))?;
    let field = |name: &str| error.get(name).and_then(Value::as_str).map(sanitize);
    let mut text = field("message")?;
    if let Some(code) = field("code") {
        text = format!("{code}: {text}");
    }
    if let Some(cause) = field("cause") {
        text.push_str(&format!("\n  cause: {cause}"));
    }
    Some(text)
}

/// Summarizes a record in one line or a few lines.
fn record_to_text(row: &Row, terminal: &Terminal) -> String {
    let record = parse_json_or_text(&row.json);
    let field = |name: &str| match record.get(name) {
        Some(Value::String(text)) => sanitize(text),
        Some(Value::Null) | None => String::new(),
        Some(other) => sanitize(&other.to_string()),
    };
    let (label, text) = match row.kind {
        RowKind::Message => (field("role"), field("content")),
        RowKind::Thought => ("thought".to_owned(), field("content")),
        RowKind::ToolCall => {
            let outcome = match field("error") {
                error if error.is_empty() => truncated(&field("results")),
                error => error,
            };
            let call = format!("{} {}", field("tool"), field("raw"));
            let cause = match field("cause") {
                cause if cause.is_empty() => String::new(),
                cause => format!("\n  cause: {cause}"),
            };
            let grant = match field("grant") {
                grant if grant.is_empty() => String::new(),
                grant => format!("\n  approved by the standing approval {grant}"),
            };
            ("call".to_owned(), format!("{call}{grant}\n  {} {outcome}{cause}", field("state")))
        }
        RowKind::Memory => ("memory".to_owned(), field("content")),
        RowKind::Retrievable => ("source".to_owned(), field("id")),
        RowKind::Instruction => return String::new(),
        _ => (row.kind.as_str().to_owned(), row.id.clone()),
    };
    let label = terminal.style_stdout(TextRole::Warning, format!("{label:<10}"));
    format!("{label} {}\n", text.replace('\n', "\n           "))
}

fn truncated(text: &str) -> String {
    let mut rest = text.chars();
    let mut start: String = rest.by_ref().take(200).collect();
    if !rest.as_str().is_empty() {
        start.push('…');
    }
    start
}
