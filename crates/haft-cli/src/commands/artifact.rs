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
use haft::stores::{FileSpoolReader, SpoolReader, TurnId};
use haft::turn::StoredTurns;
use serde_json::{Value, json};

use self::query_tools::FileQueries;
use crate::args::{ArtifactArgs, ArtifactCommand, StoreArg};
use crate::output::{ArtifactLine, to_line};
use crate::state_dir::user_dir;
use crate::store::{find_turn, open_store_to_read};
use crate::store_address::store_option;
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::text_file::file_error;
use crate::user_error::{FailureCode, UserError};

pub(super) async fn query_artifact(args: ArtifactArgs, terminal: &Terminal) -> Result<ExitCode> {
    let store = StoreArg { store: args.store, spool: args.spool };
    let turn = match &args.command {
        ArtifactCommand::Info { file: None, .. } => {
            Some(args.turn.unwrap_or_else(|| "last".to_owned()))
        }
        _ => args.turn,
    };
    let source = ArtifactSource::open(turn.as_deref(), &store).await?;
    match args.command {
        ArtifactCommand::Info { file: None, json, .. } => {
            list_artifacts(&source, json, terminal).await
        }
        ArtifactCommand::Info { file: Some(file), tokens: Some(encoding), .. } => {
            print_token_count(&source, &file, &encoding, terminal).await
        }
        ArtifactCommand::Info { file: Some(file), kind, .. } => {
            print_query(&source, (&file, kind), ("artifact_info", json!({})), terminal).await
        }
        ArtifactCommand::Read { file, section: Some(title), .. } => {
            let asked = ("artifact_read", json!({"section": title}));
            print_query(&source, (&file, None), asked, terminal).await
        }
        ArtifactCommand::Read { file, start, end, section: None } => {
            let view = source.open_view(&file, terminal).await?;
            let count = lines::count_lines(&view).await?;
            let first = match u64::try_from(start) {
                Ok(number) => number.saturating_sub(1),
                Err(_) => count.saturating_sub(start.unsigned_abs()),
            };
            lines::print_lines(&view, first, end.unwrap_or(u64::MAX).min(count), terminal).await
        }
        ArtifactCommand::Grep(args) => {
            let view = source.open_view(&args.file, terminal).await?;
            let result = lines::print_matches(&view, &args, terminal).await?;
            source.warn_of_encoding(&args.file).await?;
            Ok(result)
        }
        ArtifactCommand::Query { file, query, kind } => {
            let asked = ("artifact_query", json!({"query": query}));
            print_query(&source, (&file, kind), asked, terminal).await
        }
    }
}

/// Runs a query tool and prints its result. The stored kind of an artifact overrides the given one.
async fn print_query(
    source: &ArtifactSource,
    (file, kind): (&Path, Option<String>),
    (tool, args): (&str, Value),
    terminal: &Terminal,
) -> Result<ExitCode> {
    let kind = match kind {
        Some(name) => name.parse().map_err(|_| UserError::new(format!("unknown kind `{name}`")))?,
        None => ArtifactKind::of_file_name(&file.to_string_lossy()),
    };
    let spinner = terminal.start_spinner(&format!("reading {}", file.display()));
    let (reader, stored_kind) = source.open_reader(file).await?;
    let handle = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let queries = FileQueries::new(reader, &handle, stored_kind.unwrap_or(kind))?;
    let result = queries.run_query(tool, args).await?;
    drop(spinner);
    super::print_text(&format!("{}\n", terminal.sanitize_for_stdout(&result)))
}

/// Lists the artifacts of a turn.
async fn list_artifacts(
    source: &ArtifactSource,
    as_json: bool,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let ArtifactSource::Turn { turns, id, .. } = source else { return Ok(ExitCode::SUCCESS) };
    let mut text = String::new();
    for item in turns.list_artifacts(id).await? {
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
        turns: StoredTurns,
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
        let turns = StoredTurns::of_stores(&stores);
        Ok(Self::Turn { turns, id, store: store_option(stores.url()) })
    }

    /// Opens a file or an artifact, and returns the kind of an artifact with it.
    async fn open_reader(
        &self,
        name: &Path,
    ) -> Result<(Arc<dyn SpoolReader>, Option<ArtifactKind>)> {
        match self {
            Self::Files => Ok((Arc::new(open_file(name)?), None)),
            Self::Turn { turns, id, store } => {
                let handle = name.to_string_lossy();
                let Some(artifact) = turns.open_artifact(id, &handle).await? else {
                    let error = UserError::new(format!("turn `{id}` has no artifact `{handle}`"));
                    let hint = format!("`haft artifact info --turn {id}{store}` lists them");
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
