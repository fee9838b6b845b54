//! `haft gates`, `haft approve`, `haft deny`

use std::process::ExitCode;

use anyhow::Result;
use haft::stores::{OpenStores, TurnStoreExt as _};
use haft::tools::{CallPreview, PreviewKind};
use haft::turn::Gate;
use haft::turn::{Clock as _, SettleError, StandingApproval, StoredTurns, SystemClock};
use serde_json::Value;

use super::run::{DEFAULT_GRANT_TIME, expects_approval};
use super::turns::is_held;
use crate::args::{AlwaysArgs, ApproveArgs, DecisionArgs, DenyArgs, GatesArgs, GrantSelection};
use crate::output::{GateLine, to_line};
use crate::store::{find_open_gate, open_store, open_store_to_read, short_gate_id, short_id};
use crate::store_address::store_option;
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::user_error::UserError;

pub(super) async fn list_gates(args: &GatesArgs, terminal: &Terminal) -> Result<ExitCode> {
    let stores = open_store_to_read(&args.store.find_address()).await?;
    let open = StoredTurns::of_stores(&stores).gates().open_gates(None).await?;
    if open.is_empty() && !args.json {
        print_line(format_args!("no open gates"));
    }
    let mut text = String::new();
    for gate in &open {
        if args.json {
            text.push_str(&to_line(&gate_line(gate))?);
        } else {
            text.push_str(&gate_to_text(gate, terminal));
        }
    }
    super::print_text(&text)
}

fn gate_line(gate: &Gate) -> GateLine<'_> {
    GateLine {
        gate: gate.id.as_str(),
        turn: gate.turn.as_str(),
        reason: &gate.reason,
        payload: &gate.payload,
        schema: gate.schema.as_ref(),
        argument_schema: gate.argument_schema.as_ref(),
        preview: gate.preview.as_ref(),
        opened_at: gate.opened_at,
        expires_at: gate.expires_at,
    }
}

/// How many lines of a preview are printed.
const MAX_PREVIEW_LINES: usize = 200;

/// What a call would change, indented and with its control characters escaped. Added and removed lines of a diff are
/// styled.
pub(super) fn format_preview(
    preview: &CallPreview,
    style: impl Fn(TextRole, &str) -> String,
) -> String {
    let mut text = String::new();
    let all = preview.text.lines().count();
    for line in preview.text.lines().take(MAX_PREVIEW_LINES) {
        let line = sanitize(line);
        let role = match line.chars().next() {
            _ if preview.kind != PreviewKind::Diff => None,
            Some('+') => Some(TextRole::Success),
            Some('-') => Some(TextRole::Error),
            Some('@') => Some(TextRole::Key),
            _ => None,
        };
        let line = role.map_or_else(|| line.clone(), |role| style(role, &line));
        text.push_str(&format!("    {line}\n"));
    }
    if all > MAX_PREVIEW_LINES || preview.is_cut {
        let hint = "further lines are left out; `haft gates --json` has more of them";
        text.push_str(&format!("    ({hint})\n"));
    }
    text
}

/// The call that a gate is about: its tool and its arguments, as a call is printed elsewhere.
pub(super) fn call_of_gate(gate: &Gate) -> Option<String> {
    let fields = gate.payload.as_object().filter(|it| it.len() == 2)?;
    let tool = fields.get("tool").and_then(Value::as_str)?;
    Some(format!("{tool} {}", fields.get("arguments")?))
}

fn gate_to_text(gate: &Gate, terminal: &Terminal) -> String {
    let id = terminal.style_stdout(TextRole::Key, short_gate_id(gate));
    let mut text = format!("{id}  {}\n", sanitize(&gate.reason));
    text.push_str(&format!("  turn     {}\n", gate.turn));
    match call_of_gate(gate) {
        Some(call) => text.push_str(&format!("  call     {}\n", sanitize(&call))),
        None if gate.payload.is_null() => {}
        None => {
            text.push_str(&format!("  payload  {}\n", sanitize(&gate.payload.to_string())));
        }
    }
    // An approval is yes or no, which needs no schema.
    if let Some(schema) = gate.schema.as_ref().filter(|_| !expects_approval(gate)) {
        text.push_str(&format!("  schema   {}\n", sanitize(&schema.to_string())));
    }
    if let Some(preview) = &gate.preview {
        text.push_str(&format_preview(preview, |role, line| terminal.style_stdout(role, line)));
    }
    text
}

pub(super) async fn approve_gate(args: &ApproveArgs, terminal: &Terminal) -> Result<ExitCode> {
    let value = match &args.value {
        Some(text) => parse_json(&super::read_text_argument(text)?, "the value is")?,
        None => Value::Bool(true),
    };
    let stores = open_store(&args.decision.store.find_address()).await?;
    let gate = find_open_gate(&stores, &args.gate).await?;
    let user = read_user_name(&args.decision);
    let gatekeeper = StoredTurns::of_stores(&stores).gates();
    let resolved = match &args.arguments {
        Some(text) => {
            let arguments = parse_json(&super::read_text_argument(text)?, "the arguments are")?;
            gatekeeper.approve_edited(&gate.id, &arguments, &user).await
        }
        None => match standing_approval(&args.always) {
            Some(always) => gatekeeper.approve_always(&gate.id, always, &user).await,
            None => gatekeeper.resolve(&gate.id, value, &user).await,
        },
    };
    resolved.map_err(|error| explain_decision_error(error, &gate))?;
    let done = match args {
        ApproveArgs { value: Some(_), .. } => "resolved",
        ApproveArgs { arguments: Some(_), .. } => "approved with other arguments",
        ApproveArgs { always: AlwaysArgs { always: Some(_), .. }, .. } => {
            "approved, with later calls"
        }
        _ => "approved",
    };
    print_line(format_args!(
        "{} {}",
        terminal.style_stderr(TextRole::Success, done),
        short_gate_id(&gate)
    ));
    print_resume_hint(&stores, &gate, terminal).await?;
    Ok(ExitCode::SUCCESS)
}

/// The standing approval that the options ask for.
fn standing_approval(args: &AlwaysArgs) -> Option<StandingApproval> {
    let (approval, default_time) = match args.always? {
        GrantSelection::Turn => (StandingApproval::in_turn(), None),
        GrantSelection::Agent => (StandingApproval::for_agent(), Some(DEFAULT_GRANT_TIME)),
    };
    let approval = if args.same_arguments { approval } else { approval.any_arguments() };
    let time = args.expires.or(default_time);
    Some(match time {
        Some(time) => approval.until(SystemClock::new().now().saturating_add(time)),
        None => approval,
    })
}

pub(super) async fn deny_gate(args: &DenyArgs, terminal: &Terminal) -> Result<ExitCode> {
    let stores = open_store(&args.decision.store.find_address()).await?;
    let gate = find_open_gate(&stores, &args.gate).await?;
    let user = read_user_name(&args.decision);
    let rejected =
        StoredTurns::of_stores(&stores).gates().reject(&gate.id, args.reason(), &user).await;
    rejected.map_err(|error| explain_decision_error(error, &gate))?;
    print_line(format_args!(
        "{} {}",
        terminal.style_stderr(TextRole::Warning, "denied"),
        short_gate_id(&gate)
    ));
    print_resume_hint(&stores, &gate, terminal).await?;
    Ok(ExitCode::SUCCESS)
}

/// Says how the turn of a gate goes on, if no process is waiting for the decision.
async fn print_resume_hint(stores: &OpenStores, gate: &Gate, terminal: &Terminal) -> Result<()> {
    let Some(turn) = stores.turns().summary(gate.turn.clone()).await? else { return Ok(()) };
    if turn.status.is_final() || is_held(&turn) {
        return Ok(());
    }
    let (id, store) = (short_id(&turn.id), store_option(stores.url()));
    let hint = format!(
        "no process runs the turn; haft resume {id}{store} continues it, unless a worker does"
    );
    print_line(format_args!("{}", terminal.style_stderr(TextRole::Muted, hint)));
    Ok(())
}

fn parse_json(text: &str, what: &str) -> Result<Value, UserError> {
    serde_json::from_str(text).map_err(|error| {
        UserError::new(format!("{what} not valid JSON: {error}"))
            .hint("a string needs JSON quotes: haft approve GATE '\"blue\"'")
    })
}

/// Adds the expected schema to the error of a value that does not match it.
fn explain_decision_error(error: SettleError, gate: &Gate) -> anyhow::Error {
    match (&error, &gate.schema) {
        (SettleError::Invalid { .. }, Some(schema)) => UserError::new(error.to_string())
            .hint(format!("the value must match {schema}; the gate is still open"))
            .into(),
        _ => error.into(),
    }
}

/// The name of the person who decides: `--by`, or the variable `USER`.
fn read_user_name(decision: &DecisionArgs) -> String {
    decision.by.clone().unwrap_or_else(read_current_user)
}

/// The name in the variable `USER`.
pub(super) fn read_current_user() -> String {
    let user = std::env::var_os("USER").and_then(|it| it.into_string().ok());
    user.unwrap_or_else(|| "an unknown user".to_owned())
}
