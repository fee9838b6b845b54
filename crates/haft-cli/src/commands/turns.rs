//! `haft turns`, `haft show`, `haft gc`

use std::process::ExitCode;

use anyhow::Result;
use haft::step::{Step, StepContext, StepError};
use haft::store::{Row, RowKind, Store as _, StoredTurn, TurnQuery, TurnStatus};
use haft::turn::TurnRunner;
use serde_json::{Value, json};

use crate::args::{Gc, Show, Turns};
use crate::failure::{Code, Failure};
use crate::store;
use crate::terminal::{Terminal, Tone, plain};

pub(super) async fn list(args: Turns, terminal: &Terminal) -> Result<ExitCode> {
    let folder = store::open(args.store.path())?;
    let mut query = TurnQuery::default();
    query.limit = Some(args.limit);
    query.unfinished = args.unfinished;
    query.conversation = args.conversation;
    let turns = folder.store().turns(query).await?;
    if turns.is_empty() && !args.json {
        eprintln!("no turns");
    }
    let mut text = String::new();
    for turn in &turns {
        if args.json {
            text.push_str(&serde_json::to_string(turn)?);
        } else {
            let status = terminal.out(tone(turn.status), format!("{:<10}", turn.status.as_str()));
            let id = terminal.out(Tone::Key, turn.id.as_str());
            text.push_str(&format!("{id}  {status}  {}", turn.created_at));
            if let Some(conversation) = &turn.conversation {
                text.push_str(&format!("  {}", plain(conversation)));
            }
        }
        text.push('\n');
    }
    super::print(&text)
}

fn tone(status: TurnStatus) -> Tone {
    match status {
        TurnStatus::Completed => Tone::Good,
        TurnStatus::Running | TurnStatus::Waiting => Tone::Notice,
        _ => Tone::Bad,
    }
}

pub(super) async fn show(args: &Show, terminal: &Terminal) -> Result<ExitCode> {
    let folder = store::open(args.store.path())?;
    let id = store::turn(&folder, &args.turn).await?;
    let Some(turn) = folder.store().load(id.clone()).await? else {
        let failure = Failure::new(format!("turn `{id}` is gone")).code(Code::NothingFound);
        return Err(failure.into());
    };
    if args.json {
        return super::print(&format!("{:#}\n", as_json(&turn)?));
    }
    super::print(&described(&turn, terminal))
}

/// Text that is JSON, as JSON.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn as_json(turn: &StoredTurn) -> Result<Value> {
    let rows = turn
        .rows
        .iter()
        .map(|row| json!({"kind": row.kind.as_str(), "id": row.id, "record": parsed(&row.json)}));
    let gates = turn.gates.iter().map(|gate| {
        let settlement = gate.settlement.as_deref().map(parsed);
        json!({"gate": gate.id.as_str(), "opened": parsed(&gate.json), "settled": settlement})
    });
    Ok(json!({
        "turn": serde_json::to_value(&turn.summary)?,
        "records": rows.collect::<Vec<_>>(),
        "gates": gates.collect::<Vec<_>>(),
        "journal": turn.journal.iter().map(|it| parsed(it)).collect::<Vec<_>>(),
    }))
}

fn described(turn: &StoredTurn, terminal: &Terminal) -> String {
    let summary = &turn.summary;
    let status = terminal.out(tone(summary.status), summary.status.as_str());
    let id = terminal.out(Tone::Key, summary.id.as_str());
    let mut text = format!("{id}  {status}  {}\n", summary.created_at);
    for row in &turn.rows {
        text.push_str(&line(row, terminal));
    }
    for gate in turn.gates.iter().filter(|gate| gate.settlement.is_none()) {
        let waits = terminal.out(Tone::Notice, "waits at");
        text.push_str(&format!("{waits} {}\n", gate.id));
    }
    text
}

/// A record in one or a few lines.
fn line(row: &Row, terminal: &Terminal) -> String {
    let record = parsed(&row.json);
    let field = |name: &str| match record.get(name) {
        Some(Value::String(text)) => plain(text),
        Some(Value::Null) | None => String::new(),
        Some(other) => plain(&other.to_string()),
    };
    let (who, what) = match row.kind {
        RowKind::Message => (field("role"), field("content")),
        RowKind::Thought => ("thinks".to_owned(), field("content")),
        RowKind::ToolCall => {
            let outcome = match field("error") {
                error if error.is_empty() => shortened(&field("results")),
                error => error,
            };
            let call = format!("{} {}", field("tool"), field("raw"));
            ("calls".to_owned(), format!("{call}\n  {} {outcome}", field("state")))
        }
        RowKind::Memory => ("remembers".to_owned(), field("content")),
        RowKind::Retrievable => ("has".to_owned(), field("id")),
        RowKind::Instruction => return String::new(),
        _ => (row.kind.as_str().to_owned(), row.id.clone()),
    };
    let who = terminal.out(Tone::Notice, format!("{who:<10}"));
    format!("{who} {}\n", what.replace('\n', "\n           "))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

pub(super) async fn collect(args: &Gc) -> Result<ExitCode> {
    let folder = store::open(args.store.path())?;
    let nobody = |_: StepContext| async { Err::<Step, _>(StepError::new("nothing is run here")) };
    let runner = TurnRunner::builder(nobody).dir(&folder).build()?;
    let removed = runner.collect_garbage().await?;
    super::print(&format!("{removed} removed\n"))
}
