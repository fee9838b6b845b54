//! `haft grants`

use std::process::ExitCode;

use anyhow::Result;
use haft::turn::{Grant, GrantScope, ListedGrant, StoredTurns};
use serde_json::Value;

use super::format_time;
use crate::args::{GrantsArgs, GrantsCommand};
use crate::output::{GrantLine, to_line};
use crate::store::{is_beginning_of, open_store, open_store_to_read, require_unique};
use crate::terminal::{Terminal, TextRole, print_line, sanitize};

pub(super) async fn run_grants(args: &GrantsArgs, terminal: &Terminal) -> Result<ExitCode> {
    match &args.command {
        None => list_grants(args, terminal).await,
        Some(GrantsCommand::Revoke { grants, store }) => {
            let stores = open_store(&store.find_address()).await?;
            let gatekeeper = StoredTurns::of_stores(&stores).gates();
            for text in grants {
                let mut found = gatekeeper.grants().await?;
                found.retain(|it| is_beginning_of(&it.id.to_string(), text));
                let ids: Vec<String> = found.iter().map(|it| it.id.to_string()).collect();
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                require_unique("standing approval", text, &ids, "haft grants")?;
                for grant in found {
                    gatekeeper.revoke_grant(grant.id).await?;
                    let done = terminal.style_stderr(TextRole::Warning, "revoked");
                    print_line(format_args!("{done} {}", grant.id));
                }
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn list_grants(args: &GrantsArgs, terminal: &Terminal) -> Result<ExitCode> {
    let stores = open_store_to_read(&args.store.find_address()).await?;
    let grants = StoredTurns::of_stores(&stores).gates().grants().await?;
    if grants.is_empty() && !args.json {
        print_line(format_args!("no standing approvals"));
    }
    let mut text = String::new();
    for grant in &grants {
        if args.json {
            text.push_str(&to_line(&grant_line(grant))?);
        } else {
            text.push_str(&grant_to_text(grant, terminal));
        }
    }
    super::print_text(&text)
}

fn grant_line(listed: &ListedGrant) -> GrantLine<'_> {
    let grant = listed.grant.as_ref();
    let holder = |scope| grant.filter(|it| it.scope == scope).map(|it| it.holder.as_str());
    GrantLine {
        grant: listed.id,
        tool: grant.map(|it| it.tool.as_str()),
        turn: holder(GrantScope::Turn),
        agent: holder(GrantScope::Agent),
        arguments: grant.and_then(|it| it.arguments.as_deref()).map(parse_arguments),
        definition: grant.map(|it| it.definition.to_string()),
        by: grant.map(|it| it.by.as_str()),
        given_at: grant.map(|it| it.at),
        expires_at: grant.and_then(|it| it.expires_at),
        is_valid: listed.refusal.is_none(),
        refusal: listed.refusal.map(|it| it.to_string()),
    }
}

fn parse_arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn grant_to_text(listed: &ListedGrant, terminal: &Terminal) -> String {
    let id = terminal.style_stdout(TextRole::Key, listed.id.to_string());
    let mut text = match &listed.grant {
        Some(grant) => format!("{id}  {}\n", describe_grant(grant)),
        None => format!("{id}\n"),
    };
    if let Some(refusal) = listed.refusal {
        let label = terminal.style_stdout(TextRole::Warning, "not valid");
        text.push_str(&format!("  {label}: {refusal}\n"));
    }
    text
}

/// What a grant approves, who gave it, and until when it holds.
fn describe_grant(grant: &Grant) -> String {
    let calls = match &grant.arguments {
        Some(arguments) => format!("`{}` with {arguments}", grant.tool),
        None => format!("every call of `{}`", grant.tool),
    };
    let scope = match grant.scope {
        GrantScope::Turn => format!("in turn {}", grant.holder),
        GrantScope::Agent => format!("by agent {}", grant.holder),
        _ => "elsewhere".to_owned(),
    };
    let end = grant.expires_at.map(|it| format!(", until {}", format_time(it)));
    let (by, at, end) = (&grant.by, format_time(grant.at), end.unwrap_or_default());
    sanitize(&format!("{calls} {scope}\n  given by {by} at {at}{end}"))
}
