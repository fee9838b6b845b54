//! `haft media`

mod inline_image;

use std::fs::OpenOptions;
use std::future::poll_fn;
use std::io::{IsTerminal as _, Write, stdout};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use futures_core::Stream as _;
use haft::Media;
use haft::turn::StoredTurns;

use crate::args::{MediaArgs, MediaCommand, StoreArg};
use crate::output::{MediaLine, to_line};
use crate::shell_word::quote_word;
use crate::standard_output::StandardOutput;
use crate::store::{find_turn, open_store_to_read};
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::user_error::{FailureCode, UserError};

pub(super) async fn run_media_command(args: MediaArgs, terminal: &Terminal) -> Result<ExitCode> {
    match args.command {
        MediaCommand::List { turn, json, store } => {
            let media = load_media(&turn, &store).await?;
            print_list(&media, json, terminal)
        }
        MediaCommand::Save { turn, name, output, force, store } => {
            let media = load_media(&turn, &store).await?;
            let media = match name {
                Some(name) => vec![find_media(&turn, media, &name)?],
                None => media,
            };
            save_media(&media, output.as_deref(), force).await
        }
        MediaCommand::Show { turn, name, store } => {
            let media = load_media(&turn, &store).await?;
            let media = match name {
                Some(name) => find_media(&turn, media, &name)?,
                None => {
                    let image = media.into_iter().find(|it| it.mime_type().starts_with("image/"));
                    image.ok_or_else(|| {
                        let error = UserError::new("the turn has no image").hint(NO_MEDIA);
                        error.code(FailureCode::NotFound)
                    })?
                }
            };
            show_media(&turn, &media).await
        }
    }
}

/// What the user can do about a turn without media.
const NO_MEDIA: &str = "media are what tools return as images, audio or documents, and what `haft run --attach FILE` attaches";

async fn load_media(turn: &str, store: &StoreArg) -> Result<Vec<Media>> {
    let stores = open_store_to_read(&store.find_address()).await?;
    let id = find_turn(&stores, turn).await?;
    Ok(StoredTurns::of_stores(&stores).list_media(&id).await?)
}

fn print_list(media: &[Media], as_json: bool, terminal: &Terminal) -> Result<ExitCode> {
    if media.is_empty() && !as_json {
        return Ok(super::report_nothing("no media", NO_MEDIA, terminal));
    }
    let mut text = String::new();
    for (number, item) in (1..).zip(media) {
        let bytes = item.byte_length();
        if as_json {
            let id = item.id().map(haft::media::MediaId::as_str);
            let (filename, mime_type) = (item.filename(), item.mime_type());
            text.push_str(&to_line(&MediaLine { number, id, filename, mime_type, bytes })?);
            continue;
        }
        let name = terminal.style_stdout(TextRole::Key, sanitize(item.filename()));
        let bytes = bytes.map(|it| format!("  {it} bytes")).unwrap_or_default();
        text.push_str(&format!("{number}  {name}  {}{bytes}\n", sanitize(item.mime_type())));
    }
    super::print_text(&text)
}

/// Finds a medium by its number, its file name or its id.
fn find_media(turn: &str, media: Vec<Media>, name: &str) -> Result<Media> {
    let number = name.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
    let is_called =
        |item: &Media| item.filename() == name || item.id().is_some_and(|id| id.as_str() == name);
    let at = media.iter().position(is_called).or(number);
    let found = at.and_then(|at| media.into_iter().nth(at));
    found.ok_or_else(|| {
        let error = UserError::new(format!("the turn has no media `{name}`"));
        let hint = format!("`haft media list {}` lists them", quote_word(turn));
        error.hint(hint).code(FailureCode::NotFound).into()
    })
}

async fn save_media(media: &[Media], output: Option<&Path>, force: bool) -> Result<ExitCode> {
    if output == Some(Path::new("-")) {
        for item in media {
            copy_media(item, &mut StandardOutput).await?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if media.is_empty() {
        let error = UserError::new("the turn has no media").hint(NO_MEDIA);
        return Err(error.code(FailureCode::NotFound).into());
    }
    for item in media {
        let path = match output {
            Some(file) if media.len() == 1 && !file.is_dir() => file.to_owned(),
            dir => dir.unwrap_or(Path::new("")).join(safe_file_name(item.filename())),
        };
        let cannot_write = || format!("cannot write `{}`", path.display());
        let mut options = OpenOptions::new();
        options.write(true).create(force).create_new(!force).truncate(force);
        let mut file = match options.open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let error = UserError::new(format!("`{}` already exists", path.display()));
                return Err(error.hint("overwrite it with --force, or set -o").into());
            }
            file => file.with_context(cannot_write)?,
        };
        copy_media(item, &mut file).await.with_context(cannot_write)?;
        print_line(format_args!("saved {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The last component of a file name. A tool chose the name, and must not choose the directory.
fn safe_file_name(name: &str) -> PathBuf {
    let name = Path::new(name).file_name().unwrap_or("media".as_ref());
    let name = sanitize(&name.to_string_lossy()).replace(['/', '\\', '\n', '\t'], "_");
    PathBuf::from(name.trim_start_matches('.').to_owned())
}

async fn copy_media(media: &Media, out: &mut impl Write) -> Result<()> {
    let mut bytes = media.stream();
    while let Some(chunk) = poll_fn(|cx| Pin::new(&mut bytes).poll_next(cx)).await {
        out.write_all(&chunk.map_err(|error| UserError::new(error.to_string()))?)?;
    }
    Ok(out.flush()?)
}

async fn show_media(turn: &str, media: &Media) -> Result<ExitCode> {
    let protocol = inline_image::ImageProtocol::detect().filter(|_| stdout().is_terminal());
    let protocol = protocol.filter(|it| it.can_show(media.mime_type()));
    let Some(protocol) = protocol else {
        let error =
            UserError::new(format!("this terminal cannot show {}", sanitize(media.mime_type())));
        let (turn, name) = (quote_word(turn), quote_word(media.filename()));
        let hint = format!("save it instead: haft media save {turn} {name}");
        return Err(error.hint(hint).into());
    };
    let mut bytes = Vec::new();
    copy_media(media, &mut bytes).await?;
    super::print_text(&protocol.encode(&bytes))
}
