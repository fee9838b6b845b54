//! `haft config`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use toml_edit::{DocumentMut, Item, Table, Value};

use crate::args::{ConfigArgs, ConfigCommand};
use crate::config::{UserConfig, config_path};
use crate::host::split_model_name;
use crate::model_providers::ProviderSpec;
use crate::state_dir::is_missing;
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::text_file::{MAX_TEXT_BYTES, read_named_text};
use crate::user_error::{FailureCode, UserError};

pub(super) fn run_config_command(args: &ConfigArgs, terminal: &Terminal) -> Result<ExitCode> {
    let path = config_path().ok_or_else(|| {
        UserError::new("there is no home directory").hint("set HAFT_CONFIG to a file")
    })?;
    match &args.command {
        None => show_config(&path, terminal),
        Some(ConfigCommand::Path) => super::print_text(&format!("{}\n", path.display())),
        Some(ConfigCommand::Get { key }) => print_value(&path, key),
        Some(ConfigCommand::Set { key, value }) => {
            if key == "model" {
                split_model_name(value)?;
            }
            let done = change_config(&path, |document| set_value(document, key, value))?;
            if key == "model" {
                warn_of_unknown_provider(value, terminal)?;
            }
            Ok(done)
        }
        Some(ConfigCommand::Unset { key }) => {
            change_config(&path, |document| remove_value(document, key))
        }
    }
}

/// Says that the provider of the default model is not known yet. Its table may be set afterwards.
fn warn_of_unknown_provider(model: &str, terminal: &Terminal) -> Result<()> {
    let (provider, _) = split_model_name(model)?;
    let Err(error) = ProviderSpec::find(provider, &UserConfig::read()?) else { return Ok(()) };
    let label = terminal.style_stderr(TextRole::Warning, "warning");
    print_line(format_args!("{label}: {}", sanitize(&error.to_string())));
    let label = terminal.style_stderr(TextRole::Warning, "hint");
    let key = sanitize(&format!("providers.{provider}.base_url"));
    print_line(format_args!(
        "{label}: `haft models` lists the providers; `haft config set {key} URL` adds one"
    ));
    Ok(())
}

fn show_config(path: &Path, terminal: &Terminal) -> Result<ExitCode> {
    let label = sanitize(&path.display().to_string());
    let label = terminal.style_stderr(TextRole::Muted, label);
    if !path.exists() {
        print_line(format_args!("{label} does not exist"));
        print_line(format_args!("set a default model: haft config set model openai:gpt-5-mini"));
        return Ok(ExitCode::SUCCESS);
    }
    print_line(format_args!("{label}"));
    let text = read_file(path)?;
    super::print_text(&terminal.sanitize_for_stdout(&text))?;
    UserConfig::parse(&text, path)?;
    Ok(ExitCode::SUCCESS)
}

fn read_file(path: &Path) -> Result<String> {
    match read_named_text(path, MAX_TEXT_BYTES) {
        Ok(text) => Ok(text),
        Err(error) if is_missing(&error) => Ok(String::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    }
}

fn parse_file(path: &Path) -> Result<DocumentMut> {
    let text = read_file(path)?;
    UserConfig::parse(&text, path)?;
    text.parse().with_context(|| format!("cannot parse `{}`", path.display()))
}

/// The parts of a key. A part with a dot or a colon stands in quotes: `prices."openai:gpt-5-mini".input`.
fn parse_key(key: &str) -> Result<Vec<String>> {
    let keys = toml_edit::Key::parse(key);
    let keys = keys.map_err(|_| {
        let error = UserError::new(format!("`{key}` is not a key"));
        error.hint("a part with other characters than letters, digits, `-` and `_` stands in quotes: prices.\"openai:gpt-5-mini\".input")
    })?;
    Ok(keys.iter().map(|it| it.get().to_owned()).collect())
}

fn print_value(path: &Path, key: &str) -> Result<ExitCode> {
    let document = parse_file(path)?;
    let mut item = Some(document.as_item());
    for part in parse_key(key)? {
        item = item.and_then(|it| it.get(part.as_str()));
    }
    let Some(item) = item else {
        return Err(UserError::new(format!("`{key}` is not set"))
            .code(FailureCode::NotFound)
            .into());
    };
    let text = match item.as_str() {
        Some(text) => text.to_owned(),
        None => item.to_string().trim().to_owned(),
    };
    super::print_text(&format!("{text}\n"))
}

/// Changes the file. It is written only if it is valid afterwards, and appears complete or not at all.
fn change_config(
    path: &PathBuf,
    change: impl FnOnce(&mut DocumentMut) -> Result<()>,
) -> Result<ExitCode> {
    let mut document = parse_file(path)?;
    change(&mut document)?;
    let text = document.to_string();
    UserConfig::parse(&text, path)?;
    let dir = path.parent().unwrap_or(Path::new("."));
    let cannot_write = || format!("cannot write `{}`", path.display());
    std::fs::create_dir_all(dir).with_context(cannot_write)?;
    let file = tempfile::NamedTempFile::new_in(dir).with_context(cannot_write)?;
    std::fs::write(file.path(), text).with_context(cannot_write)?;
    file.persist(path).with_context(cannot_write)?;
    Ok(ExitCode::SUCCESS)
}

fn set_value(document: &mut DocumentMut, key: &str, value: &str) -> Result<()> {
    let parts = parse_key(key)?;
    let Some((last, tables)) = parts.split_last() else { return Ok(()) };
    let mut table = document.as_table_mut();
    for part in tables {
        let mut new = Table::new();
        new.set_implicit(true);
        let item = table.entry(part).or_insert(Item::Table(new));
        table = item.as_table_mut().ok_or_else(|| {
            UserError::new(format!("`{part}` is not a table, so that `{key}` cannot be set"))
        })?;
    }
    // A number, a boolean or a list is written as it is; everything else is text.
    let value: Value = match value.parse::<Value>() {
        Ok(value) if !value.is_str() => value,
        _ => value.into(),
    };
    table.insert(last, Item::Value(value));
    Ok(())
}

fn remove_value(document: &mut DocumentMut, key: &str) -> Result<()> {
    let parts = parse_key(key)?;
    let Some((last, tables)) = parts.split_last() else { return Ok(()) };
    let mut table = Some(document.as_table_mut());
    for part in tables {
        table = table.and_then(|it| it.get_mut(part)?.as_table_mut());
    }
    match table.and_then(|it| it.remove(last)) {
        Some(_) => Ok(()),
        None => {
            Err(UserError::new(format!("`{key}` is not set")).code(FailureCode::NotFound).into())
        }
    }
}
