//! `haft serve token`

use std::process::ExitCode;

use anyhow::Result;
use haft_server::{TokenFile, TokenInfo};

use crate::args::{TokenCommand, TokenFileArg};
use crate::output::{TokenLine, to_line};
use crate::state_dir::state_dir;
use crate::store::{is_beginning_of, require_unique};
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::user_error::UserError;

/// The selected token file, or the default one.
pub(super) fn token_file(arg: &TokenFileArg) -> Result<TokenFile> {
    let default = || state_dir().map(|dir| dir.join("tokens.json"));
    let path = arg.tokens.clone().or_else(default).ok_or_else(|| {
        UserError::new("there is no home directory for the token file")
            .hint("name it: --tokens FILE")
    })?;
    Ok(TokenFile::new(path))
}

pub(super) fn run_token_command(command: &TokenCommand, terminal: &Terminal) -> Result<ExitCode> {
    match command {
        TokenCommand::Create { tenant, name, tokens } => {
            let name = name.as_deref().unwrap_or(tenant);
            let created = token_file(tokens)?.create_token(tenant, name)?;
            print_line(format_args!(
                "{} {} of tenant {}; the token is not shown again",
                terminal.style_stderr(TextRole::Success, "created"),
                created.info().id,
                sanitize(tenant)
            ));
            super::super::print_text(&format!("{}\n", created.token()))
        }
        TokenCommand::List { tokens, json } => {
            let listed = token_file(tokens)?.list_tokens()?;
            if listed.is_empty() && !json {
                print_line(format_args!("no tokens"));
            }
            let lines = listed.iter().map(|token| show_token(token, *json));
            super::super::print_text(&lines.collect::<Result<String>>()?)
        }
        TokenCommand::Revoke { ids, tokens } => {
            let file = token_file(tokens)?;
            for text in ids {
                let mut listed: Vec<String> =
                    file.list_tokens()?.into_iter().map(|it| it.id).collect();
                listed.retain(|it| is_beginning_of(it, text));
                let found: Vec<&str> = listed.iter().map(String::as_str).collect();
                require_unique("token", text, &found, "haft serve token list")?;
                for id in found {
                    file.revoke_token(id)?;
                    let done = terminal.style_stderr(TextRole::Warning, "revoked");
                    print_line(format_args!("{done} {id}"));
                }
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn show_token(token: &TokenInfo, as_json: bool) -> Result<String> {
    let TokenInfo { id, tenant, name, created_at, .. } = token;
    match as_json {
        true => to_line(&TokenLine { id, tenant, name, created_at: *created_at }),
        false => Ok(format!("{id}  {}  {}  {created_at}\n", sanitize(tenant), sanitize(name))),
    }
}
