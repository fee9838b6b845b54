//! `haft artifact`: the queries of artifacts, on any file and on the artifacts of turns.

pub(super) mod lines;
mod query_tools;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use haft::artifacts::ArtifactKind;
use haft::artifacts::text::TextView;
use haft::artifacts::tokens::Encoding;
use haft::artifacts::tokens::StreamCounter;
use haft::executors::{Step, StepContext, StepError};
use haft::stores::{FileSpoolReader, SpoolReader, TurnId};
use haft::turn::TurnRunner;
use serde_json::{Map, Value, json};

use self::query_tools::FileQueries;
use crate::args::{ArtifactArgs, ArtifactCommand, JsonCommand, MarkdownCommand, StoreArg};
use crate::store::{find_turn, open_store_to_read};
use crate::terminal::{Terminal, TextRole};
use crate::user_error::{FailureCode, UserError};

pub(super) async fn query_artifact(args: ArtifactArgs, terminal: &Terminal) -> Result<ExitCode> {
    let source = ArtifactSource::open(args.turn.as_deref(), args.store).await?;
    match args.command {
        ArtifactCommand::Head { file, lines } => {
            let view = source.open_view(&file, terminal).await?;
            let count = lines::count_lines(&view).await?;
            lines::print_lines(&view, 0, lines.min(count), terminal).await
        }
        ArtifactCommand::Tail { file, lines } => {
            let view = source.open_view(&file, terminal).await?;
            let count = lines::count_lines(&view).await?;
            lines::print_lines(&view, count.saturating_sub(lines), count, terminal).await
        }
        ArtifactCommand::Cat { file, start, end } => {
            let view = source.open_view(&file, terminal).await?;
            let end = end.unwrap_or(u64::MAX).min(lines::count_lines(&view).await?);
            lines::print_lines(&view, start.get() - 1, end, terminal).await
        }
        ArtifactCommand::Grep(args) => {
            let view = source.open_view(&args.file, terminal).await?;
            lines::print_matches(&view, &args, terminal).await
        }
        ArtifactCommand::Count { file } => {
            let view = source.open_view(&file, terminal).await?;
            super::print_text(&format!("{}\n", lines::count_lines(&view).await?))
        }
        ArtifactCommand::Tokens { file, encoding } => {
            print_token_count(&source, &file, &encoding, terminal).await
        }
        ArtifactCommand::Json(command) => query_json(&source, command, terminal).await,
        ArtifactCommand::Md(command) => query_markdown(&source, command, terminal).await,
    }
}

/// Where the content of a query comes from.
enum ArtifactSource {
    /// Files, by their paths.
    Files,
    /// The artifacts of a turn, by their handles.
    Turn { runner: TurnRunner, id: TurnId },
}

impl ArtifactSource {
    async fn open(turn: Option<&str>, store: Option<PathBuf>) -> Result<Self> {
        let store = StoreArg { store };
        let Some(turn) = turn else { return Ok(Self::Files) };
        let store_dir = open_store_to_read(store.path())?;
        let id = find_turn(&store_dir, turn).await?;
        let no_step =
            |_: StepContext| async { Err::<Step, _>(StepError::new("no turn runs here")) };
        let runner = TurnRunner::builder(no_step).dir(&store_dir).build()?;
        Ok(Self::Turn { runner, id })
    }

    /// Opens a file or an artifact, and returns the kind of an artifact with it.
    async fn open_reader(
        &self,
        name: &Path,
    ) -> Result<(Arc<dyn SpoolReader>, Option<ArtifactKind>)> {
        match self {
            Self::Files => Ok((Arc::new(open_file(name)?), None)),
            Self::Turn { runner, id } => {
                let handle = name.to_string_lossy();
                let Some(artifact) = runner.open_artifact(id, &handle).await? else {
                    let error = UserError::new(format!("turn `{id}` has no artifact `{handle}`"));
                    return Err(error.code(FailureCode::NotFound).into());
                };
                Ok((Arc::clone(artifact.reader()), Some(artifact.kind().clone())))
            }
        }
    }

    /// Opens a file or an artifact as text and builds its line index.
    async fn open_view(&self, name: &Path, terminal: &Terminal) -> Result<TextView> {
        let (reader, _) = self.open_reader(name).await?;
        let _spinner = terminal.start_spinner(format!("indexing {}", name.display()));
        reader.index().await?;
        Ok(TextView::new(reader))
    }
}

/// Opens a file as an artifact. Its line index is cached, so that later queries are fast.
fn open_file(file: &Path) -> Result<FileSpoolReader> {
    let failed = || format!("cannot read `{}`", file.display());
    let opened = match create_index_path(file) {
        Some(index) => FileSpoolReader::open_with_index(file, index),
        None => FileSpoolReader::open(file),
    };
    opened.with_context(failed)
}

/// The cache file of a line index, whose directory is created. `None` if there is no cache directory.
fn create_index_path(file: &Path) -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let dir = cache.filter(|it| it.is_absolute()).or_else(home)?.join("haft").join("lines");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).ok()?;
    let path = std::fs::canonicalize(file).ok()?;
    let mut name = DefaultHasher::new();
    path.hash(&mut name);
    // The index names its file, so that a hash collision only costs a rebuild.
    Some(dir.join(format!("{:016x}", name.finish())))
}

async fn print_token_count(
    source: &ArtifactSource,
    file: &Path,
    encoding: &str,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let encoding: Encoding = encoding.parse().map_err(|_| {
        UserError::new(format!("unknown encoding `{encoding}`"))
            .hint("known encodings: o200k_base, cl100k_base, p50k_base, p50k_edit, r50k_base, gpt2")
    })?;
    let (reader, _) = source.open_reader(file).await?;
    let mut counter = StreamCounter::new(encoding);
    let label = format!("counting the tokens of {}", file.display());
    lines::for_each_chunk(&*reader, &label, terminal, |bytes| counter.push(bytes)).await?;
    super::print_text(&format!("{}\n", counter.finish().tokens))
}

async fn query_json(
    source: &ArtifactSource,
    command: JsonCommand,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let (file, tool, args) = match &command {
        JsonCommand::Get { file, path } => (file, "artifact_json_get", json!({"path": path})),
        JsonCommand::Keys { file } => (file, "artifact_json_keys", json!({})),
        JsonCommand::Filter { file, condition } => {
            (file, "artifact_json_filter", json!({"path": condition}))
        }
        JsonCommand::Length { file } => (file, "artifact_json_length", json!({})),
    };
    let kind = match file.extension().and_then(|it| it.to_str()) {
        Some("jsonl") => ArtifactKind::JSONL,
        Some("ndjson") => ArtifactKind::NDJSON,
        Some("json5") => ArtifactKind::JSON5,
        _ => ArtifactKind::JSON,
    };
    let spinner = terminal.start_spinner(format!("reading {}", file.display()));
    let (reader, stored_kind) = source.open_reader(file).await?;
    let queries = FileQueries::new(reader, stored_kind.unwrap_or(kind))?;
    let result = queries.run_query(tool, args).await?;
    drop(spinner);
    super::print_text(&format!("{}\n", terminal.sanitize_for_stdout(&result)))
}

async fn query_markdown(
    source: &ArtifactSource,
    command: MarkdownCommand,
    terminal: &Terminal,
) -> Result<ExitCode> {
    match command {
        MarkdownCommand::Headings { file, json } => {
            let (reader, _) = source.open_reader(&file).await?;
            lines::print_headings(&*reader, json, terminal).await
        }
        MarkdownCommand::Links { file, json } => {
            print_links(source.open_reader(&file).await?.0, json, terminal).await
        }
        MarkdownCommand::Section { file, title } => {
            lines::print_section(source.open_reader(&file).await?.0, &title, terminal).await
        }
    }
}

async fn print_links(
    reader: Arc<dyn SpoolReader>,
    as_json: bool,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let queries = FileQueries::new(reader, ArtifactKind::MARKDOWN)?;
    let result = queries.run_query("artifact_md_links", json!({})).await?;
    // Without links the result is a sentence for a model instead of JSON.
    let links: Vec<Map<String, Value>> = serde_json::from_str(&result).unwrap_or_default();
    let mut text = String::new();
    for link in links {
        let line = link.get("line").and_then(Value::as_u64).unwrap_or_default();
        if as_json {
            text.push_str(&format!("{}\n", Value::Object(link)));
        } else {
            let field = |name| link.get(name).and_then(Value::as_str).unwrap_or_default();
            let line = terminal.style_stdout(TextRole::Success, line.to_string());
            text.push_str(&format!(
                "{line}:{} <{}>\n",
                terminal.sanitize_for_stdout(field("text")),
                terminal.sanitize_for_stdout(field("url"))
            ));
        }
    }
    super::print_text(&text)
}
