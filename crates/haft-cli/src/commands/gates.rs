//! `haft gates`, `haft approve`, `haft deny`

use std::process::ExitCode;

use anyhow::Result;
use haft::gate::Gate;
use haft::turn::AnswerError;
use haft::turn::Gatekeeper;
use serde_json::{Value, json};

use crate::args::{Answer, Approve, Deny, Gates};
use crate::failure::Failure;
use crate::store;
use crate::terminal::{Terminal, Tone, plain};

pub(super) async fn list(args: &Gates, terminal: &Terminal) -> Result<ExitCode> {
    let folder = store::open(args.store.path())?;
    let open = Gatekeeper::of_dir(&folder).open(None).await?;
    if open.is_empty() && !args.json {
        eprintln!("no gate waits for an answer");
    }
    let mut text = String::new();
    for gate in &open {
        if args.json {
            text.push_str(&format!("{}\n", as_json(gate)));
        } else {
            text.push_str(&described(gate, terminal));
        }
    }
    super::print(&text)
}

fn as_json(gate: &Gate) -> Value {
    json!({
        "gate": gate.id.as_str(),
        "turn": gate.turn.as_str(),
        "reason": gate.reason,
        "payload": gate.payload,
        "schema": gate.schema,
        "openedAt": gate.opened_at.to_string(),
        "expiresAt": gate.expires_at.map(|it| it.to_string()),
    })
}

fn described(gate: &Gate, terminal: &Terminal) -> String {
    let id = terminal.out(Tone::Key, gate.id.as_str());
    let mut text = format!("{id}  {}\n", plain(&gate.reason));
    text.push_str(&format!("  turn    {}\n", gate.turn));
    if !gate.payload.is_null() {
        text.push_str(&format!("  about   {}\n", plain(&gate.payload.to_string())));
    }
    if let Some(schema) = &gate.schema {
        text.push_str(&format!("  answer  {}\n", plain(&schema.to_string())));
    }
    text
}

pub(super) async fn approve(args: &Approve, terminal: &Terminal) -> Result<ExitCode> {
    let value = match &args.value {
        Some(text) => serde_json::from_str(&super::text_of(text)?).map_err(|error| {
            Failure::new(format!("the answer is not JSON: {error}"))
                .hint("a text needs quotes of its own: haft approve GATE '\"blue\"'")
        })?,
        None => Value::Bool(true),
    };
    let folder = store::open(args.answer.store.path())?;
    let gate = store::gate(&folder, &args.gate).await?;
    let answered = Gatekeeper::of_dir(&folder).resolve(&gate.id, value, &who(&args.answer)).await;
    answered.map_err(|error| explained(error, &gate))?;
    eprintln!("{} {}", terminal.err(Tone::Good, "answered"), gate.id);
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn deny(args: &Deny, terminal: &Terminal) -> Result<ExitCode> {
    let folder = store::open(args.answer.store.path())?;
    let gate = store::gate(&folder, &args.gate).await?;
    let answered =
        Gatekeeper::of_dir(&folder).reject(&gate.id, &args.reason, &who(&args.answer)).await;
    answered.map_err(|error| explained(error, &gate))?;
    eprintln!("{} {}", terminal.err(Tone::Notice, "denied"), gate.id);
    Ok(ExitCode::SUCCESS)
}

fn explained(error: AnswerError, gate: &Gate) -> anyhow::Error {
    match (&error, &gate.schema) {
        (AnswerError::Invalid { .. }, Some(schema)) => Failure::new(error.to_string())
            .hint(format!("the answer has to fit {schema}; the gate is still open"))
            .into(),
        _ => error.into(),
    }
}

fn who(answer: &Answer) -> String {
    let user = || std::env::var_os("USER").and_then(|it| it.into_string().ok());
    answer.by.clone().or_else(user).unwrap_or_else(|| "somebody at the command line".to_owned())
}
