//! `haft artifact`: the queries of artifacts, on any file and on the artifacts of turns.

pub(super) mod lines;
mod query_tools;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use haft::artifacts::ArtifactKind;
use haft::artifacts::text::TextView;
use haft::artifacts::tokens::Encoding;
use haft::artifacts::tokens::StreamCounter;
use haft::executors::{Step, StepContext, StepError};
use haft::stores::{FileSpoolReader, SpoolReader, TurnId};
use haft::turn::TurnRunner;
use serde_json::{Value, json};

use self::query_tools::FileQueries;
use crate::args::{
    ArtifactArgs, ArtifactCommand, CsvCommand, JsonCommand, MarkdownCommand, PathCommand, StoreArg,
};
use crate::output::{ArtifactLine, LinkLine, to_line};
use crate::state_dir::user_dir;
use crate::store::{find_turn, open_store_to_read};
use crate::store_address::store_option;
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::text_file::file_error;
use crate::user_error::{FailureCode, UserError};

pub(super) async fn query_artifact(args: ArtifactArgs, terminal: &Terminal) -> Result<ExitCode> {
    let store = StoreArg { store: args.store, spool: args.spool };
    let source = ArtifactSource::open(args.turn.as_deref(), &store).await?;
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
            let result = lines::print_matches(&view, &args, terminal).await?;
            source.warn_of_encoding(&args.file).await?;
            Ok(result)
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
        ArtifactCommand::Csv(command) => query_csv(&source, command, terminal).await,
        ArtifactCommand::Yaml(command) => {
            query_by_path(&source, command, &ArtifactKind::YAML, terminal).await
        }
        ArtifactCommand::Xml(command) => {
            query_by_path(&source, command, &ArtifactKind::XML, terminal).await
        }
        ArtifactCommand::Query { file, tool, args, kind } => {
            let args = super::read_text_argument(&args)?;
            let args: Value = serde_json::from_str(&args)
                .map_err(|error| UserError::new(format!("the arguments are not JSON: {error}")))?;
            let kind = match kind {
                Some(name) => parse_kind(&name)?,
                None => kind_of_query(&file, &tool),
            };
            print_query(&source, &file, kind, (&tool, args), terminal).await
        }
        ArtifactCommand::List { json } => list_artifacts(&source, json, terminal).await,
    }
}

fn parse_kind(name: &str) -> Result<ArtifactKind> {
    let kind = name.parse().map_err(|_| UserError::new(format!("unknown kind `{name}`")))?;
    Ok(kind)
}

/// The kind of content that a query tool reads, by its name and by the name of the file.
fn kind_of_query(file: &Path, tool: &str) -> ArtifactKind {
    match tool.strip_prefix("artifact_").and_then(|it| it.split('_').next()) {
        Some("json") => json_kind(file),
        Some("md") => ArtifactKind::MARKDOWN,
        Some("csv") => ArtifactKind::CSV,
        Some("yaml") => ArtifactKind::YAML,
        Some("xml") => ArtifactKind::XML,
        _ => ArtifactKind::TEXT,
    }
}

/// Runs a query tool and prints its result. The stored kind of an artifact overrides the given one.
async fn print_query(
    source: &ArtifactSource,
    file: &Path,
    kind: ArtifactKind,
    (tool, args): (&str, Value),
    terminal: &Terminal,
) -> Result<ExitCode> {
    let spinner = terminal.start_spinner(&format!("reading {}", file.display()));
    let (reader, stored_kind) = source.open_reader(file).await?;
    let queries = FileQueries::new(reader, stored_kind.unwrap_or(kind))?;
    let result = queries.run_query(tool, args).await?;
    drop(spinner);
    super::print_text(&format!("{}\n", terminal.sanitize_for_stdout(&result)))
}

async fn query_csv(
    source: &ArtifactSource,
    command: CsvCommand,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let (file, tool, args) = match command {
        CsvCommand::Columns { file } => (file, "artifact_csv_columns", json!({})),
        CsvCommand::Length { file } => (file, "artifact_csv_length", json!({})),
        CsvCommand::Rows { file, start, end, columns } => {
            let mut args = json!({"start": start});
            set_optional(&mut args, "end", end.map(Into::into));
            set_optional(&mut args, "columns", (!columns.is_empty()).then(|| columns.into()));
            (file, "artifact_csv_rows", args)
        }
        CsvCommand::Filter { file, column, equals, contains, above, below } => {
            let mut args = json!({"column": column});
            set_optional(&mut args, "equals", equals.map(Into::into));
            set_optional(&mut args, "contains", contains.map(Into::into));
            set_optional(&mut args, "above", above.map(Into::into));
            set_optional(&mut args, "below", below.map(Into::into));
            (file, "artifact_csv_filter", args)
        }
        CsvCommand::Pluck { file, column } => {
            (file, "artifact_csv_pluck", json!({"column": column}))
        }
        CsvCommand::Stats { file, column } => {
            (file, "artifact_csv_stats", json!({"column": column}))
        }
        CsvCommand::Group { file, by, sum } => {
            let mut args = json!({"by": by});
            set_optional(&mut args, "column", sum.map(Into::into));
            (file, "artifact_csv_group", args)
        }
    };
    print_query(source, &file, ArtifactKind::CSV, (tool, args), terminal).await
}

fn set_optional(args: &mut Value, name: &str, value: Option<Value>) {
    if let (Some(args), Some(value)) = (args.as_object_mut(), value) {
        args.insert(name.to_owned(), value);
    }
}

/// Runs a query of YAML or XML.
async fn query_by_path(
    source: &ArtifactSource,
    command: PathCommand,
    kind: &ArtifactKind,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let (file, query, args) = match command {
        PathCommand::Get { file, path } => (file, "get", json!({"path": path})),
        PathCommand::Keys { file } => (file, "keys", json!({})),
        PathCommand::Filter { file, condition } => (file, "filter", json!({"path": condition})),
        PathCommand::Length { file } => (file, "length", json!({})),
    };
    let tool = format!("artifact_{kind}_{query}");
    print_query(source, &file, kind.clone(), (&tool, args), terminal).await
}

/// Lists the artifacts of a turn.
async fn list_artifacts(
    source: &ArtifactSource,
    as_json: bool,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let ArtifactSource::Turn { runner, id, .. } = source else {
        let error = UserError::new("`haft artifact list` needs --turn");
        return Err(error.hint("for the newest turn: haft artifact list --turn last").into());
    };
    let mut text = String::new();
    for item in runner.list_artifacts(id).await? {
        let (kind, bytes) = (item.artifact.kind(), item.artifact.reader().byte_length());
        if as_json {
            let (handle, kind, call) = (item.handle.as_str(), kind.as_str(), item.call);
            text.push_str(&to_line(&ArtifactLine { handle, kind, bytes, call })?);
        } else {
            let handle = terminal.style_stdout(TextRole::Key, sanitize(&item.handle));
            text.push_str(&format!("{handle}  {kind}  {bytes} bytes\n"));
        }
    }
    if text.is_empty() && !as_json {
        let hint =
            "only large results become artifacts; `haft show TURN` shows every result of a turn";
        return Ok(super::report_nothing("no artifacts", hint, terminal));
    }
    super::print_text(&text)
}

/// Where the content of a query comes from.
enum ArtifactSource {
    /// Files, by their paths.
    Files,
    /// The artifacts of a turn, by their handles.
    Turn {
        runner: TurnRunner,
        id: TurnId,
        /// The option that selects the store in commands.
        store: String,
    },
}

impl ArtifactSource {
    async fn open(turn: Option<&str>, store: &StoreArg) -> Result<Self> {
        let Some(turn) = turn else { return Ok(Self::Files) };
        let stores = open_store_to_read(&store.find_address()).await?;
        let id = find_turn(&stores, turn).await?;
        let no_step =
            |_: StepContext| async { Err::<Step, _>(StepError::new("no turn runs here")) };
        let runner = TurnRunner::builder(no_step).stores(&stores).build()?;
        Ok(Self::Turn { runner, id, store: store_option(stores.url()) })
    }

    /// Opens a file or an artifact, and returns the kind of an artifact with it.
    async fn open_reader(
        &self,
        name: &Path,
    ) -> Result<(Arc<dyn SpoolReader>, Option<ArtifactKind>)> {
        match self {
            Self::Files => Ok((Arc::new(open_file(name)?), None)),
            Self::Turn { runner, id, store } => {
                let handle = name.to_string_lossy();
                let Some(artifact) = runner.open_artifact(id, &handle).await? else {
                    let error = UserError::new(format!("turn `{id}` has no artifact `{handle}`"));
                    let hint = format!("`haft artifact list --turn {id}{store}` lists them");
                    return Err(error.hint(hint).code(FailureCode::NotFound).into());
                };
                Ok((Arc::clone(artifact.reader()), Some(artifact.kind().clone())))
            }
        }
    }

    /// Opens a file or an artifact as text and builds its line index.
    async fn open_view(&self, name: &Path, terminal: &Terminal) -> Result<TextView> {
        let (reader, _) = self.open_reader(name).await?;
        let _spinner = terminal.start_spinner(&format!("indexing {}", name.display()));
        reader.index().await?;
        Ok(TextView::new(reader))
    }

    /// Says so if the content is UTF-16, in which a search finds nothing.
    async fn warn_of_encoding(&self, name: &Path) -> Result<()> {
        let (reader, _) = self.open_reader(name).await?;
        let mark = reader.read_at(0, 2).await?;
        if [[0xFE, 0xFF], [0xFF, 0xFE]].iter().any(|utf16| *mark == *utf16) {
            print_line(format_args!(
                "the content begins with the mark of UTF-16 or UTF-32 and is read as UTF-8; convert it first: iconv -t UTF-8"
            ));
        }
        Ok(())
    }
}

/// Whether a name looks like the handle of an artifact: the beginning of a hash.
fn is_handle(name: &Path) -> bool {
    let name = name.to_string_lossy();
    let hash = name.split('#').next().unwrap_or_default();
    hash.len() >= 8 && hash.chars().all(|it| it.is_ascii_hexdigit())
}

/// Opens a file as an artifact. Its line index is cached, so that later queries are fast.
fn open_file(file: &Path) -> Result<FileSpoolReader> {
    if !file.exists() && is_handle(file) {
        let error = UserError::new(format!("there is no file `{}`", file.display()));
        let hint = format!("a handle needs its turn: {} --turn last", file.display());
        return Err(error.hint(hint).into());
    }
    let opened = match create_index_path(file) {
        Some(index) => FileSpoolReader::open_with_index(file, index),
        None => FileSpoolReader::open(file),
    };
    opened.map_err(|error| file_error(format!("cannot read `{}`", file.display()), file, error))
}

/// The cache file of a line index, whose directory is created. `None` if there is no cache directory.
fn create_index_path(file: &Path) -> Option<PathBuf> {
    let dir = user_dir("XDG_CACHE_HOME", ".cache")?.join("haft").join("lines");
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
    let is_filter = matches!(command, JsonCommand::Filter { .. });
    let (file, tool, args) = match command {
        JsonCommand::Get { file, path } => (file, "artifact_json_get", json!({"path": path})),
        JsonCommand::Keys { file } => (file, "artifact_json_keys", json!({})),
        JsonCommand::Filter { file, condition } => {
            (file, "artifact_json_filter", json!({"path": condition}))
        }
        JsonCommand::Length { file } => (file, "artifact_json_length", json!({})),
    };
    let code = print_query(source, &file, json_kind(&file), (tool, args), terminal).await?;
    if is_filter {
        warn_of_single_record(source, &file).await?;
    }
    Ok(code)
}

/// Says why a filter prints the whole of a file: an object is one record, whatever in it the path selects.
async fn warn_of_single_record(source: &ArtifactSource, file: &Path) -> Result<()> {
    let (reader, stored_kind) = source.open_reader(file).await?;
    let queries = FileQueries::new(reader, stored_kind.unwrap_or_else(|| json_kind(file)))?;
    if queries.run_query("artifact_json_length", json!({})).await?.trim() == "1" {
        print_line(format_args!(
            "hint: the file is one record, which is printed whole if it matches; \
             `haft artifact json get` prints what a path selects in it"
        ));
    }
    Ok(())
}

/// The kind of a JSON file, by its name.
fn json_kind(file: &Path) -> ArtifactKind {
    match file.extension().and_then(|it| it.to_str()) {
        Some("jsonl" | "ndjson") => ArtifactKind::JSONL,
        _ => ArtifactKind::JSON,
    }
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
    let links: Vec<LinkLine> = match result.starts_with('[') {
        true => serde_json::from_str(&result)?,
        false => Vec::new(),
    };
    let mut text = String::new();
    for link in links {
        if as_json {
            text.push_str(&to_line(&link)?);
        } else {
            let line = terminal.style_stdout(TextRole::Success, link.line.to_string());
            text.push_str(&format!(
                "{line}:{} <{}>\n",
                terminal.sanitize_for_stdout(&link.text),
                terminal.sanitize_for_stdout(&link.url)
            ));
        }
    }
    super::print_text(&text)
}
