//! `haft artifact`: the queries of artifacts, on any file.

mod forged;
pub(super) mod lines;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use haft::artifact::ArtifactKind;
use haft::artifacts::text::TextView;
use haft::artifacts::tokens::StreamCounter;
use haft::spool::SpoolReader as _;
use haft::stores::FileSpoolReader;
use haft::tokens::Encoding;
use serde_json::{Map, Value, json};

use self::forged::Forged;
use crate::args::{Artifact, Json, Markdown};
use crate::failure::Failure;
use crate::terminal::{Terminal, Tone};

pub(super) async fn run(command: Artifact, terminal: &Terminal) -> Result<ExitCode> {
    match command {
        Artifact::Head { file, lines } => {
            let view = view(&file, terminal).await?;
            let count = lines::count(&view).await?;
            lines::print(&view, 0, lines.min(count), terminal).await
        }
        Artifact::Tail { file, lines } => {
            let view = view(&file, terminal).await?;
            let count = lines::count(&view).await?;
            lines::print(&view, count.saturating_sub(lines), count, terminal).await
        }
        Artifact::Cat { file, start, end } => {
            let view = view(&file, terminal).await?;
            let end = end.unwrap_or(u64::MAX).min(lines::count(&view).await?);
            lines::print(&view, start.get() - 1, end, terminal).await
        }
        Artifact::Grep(args) => {
            let view = view(&args.file, terminal).await?;
            lines::grep(&view, &args, terminal).await
        }
        Artifact::Count { file } => {
            let count = lines::count(&view(&file, terminal).await?).await?;
            super::print(&format!("{count}\n"))
        }
        Artifact::Tokens { file, encoding } => tokens(&file, &encoding, terminal).await,
        Artifact::Json(command) => json(command, terminal).await,
        Artifact::Md(command) => markdown(command, terminal).await,
    }
}

/// A file as an artifact. Its index is kept where caches are, so that the second query is quick.
fn open(file: &Path) -> Result<FileSpoolReader> {
    let failed = || format!("cannot read `{}`", file.display());
    let opened = match index_file(file) {
        Some(index) => FileSpoolReader::open_with_index(file, index),
        None => FileSpoolReader::open(file),
    };
    opened.with_context(failed)
}

async fn view(file: &Path, terminal: &Terminal) -> Result<TextView> {
    let reader = open(file)?;
    let _busy = terminal.spinner(format!("indexing {}", file.display()));
    reader.index().await?;
    Ok(TextView::new(Arc::new(reader)))
}

/// Where the index of a file is kept; nowhere if there is no place for caches.
fn index_file(file: &Path) -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let folder = cache.filter(|it| it.is_absolute()).or_else(home)?.join("haft").join("lines");
    std::fs::create_dir_all(&folder).ok()?;
    let path = std::fs::canonicalize(file).ok()?;
    let mut name = DefaultHasher::new();
    path.hash(&mut name);
    // Two files of one name cost an index each time: it says which file it belongs to.
    Some(folder.join(format!("{:016x}", name.finish())))
}

async fn tokens(file: &Path, encoding: &str, terminal: &Terminal) -> Result<ExitCode> {
    let encoding: Encoding = encoding.parse().map_err(|_| {
        Failure::new(format!("`{encoding}` is no encoding that is known here"))
            .hint("known are o200k_base, cl100k_base, p50k_base, p50k_edit, r50k_base, gpt2")
    })?;
    let reader = open(file)?;
    let mut counter = StreamCounter::new(encoding);
    let what = format!("counting the tokens of {}", file.display());
    lines::each_piece(&reader, &what, terminal, |bytes| counter.push(bytes)).await?;
    super::print(&format!("{}\n", counter.finish().tokens))
}

async fn json(command: Json, terminal: &Terminal) -> Result<ExitCode> {
    let (file, tool, args) = match &command {
        Json::Get { file, path } => (file, "artifact_json_get", json!({"path": path})),
        Json::Keys { file } => (file, "artifact_json_keys", json!({})),
        Json::Filter { file, condition } => {
            (file, "artifact_json_filter", json!({"path": condition}))
        }
        Json::Length { file } => (file, "artifact_json_length", json!({})),
    };
    let kind = match file.extension().and_then(|it| it.to_str()) {
        Some("jsonl") => ArtifactKind::JSONL,
        Some("ndjson") => ArtifactKind::NDJSON,
        Some("json5") => ArtifactKind::JSON5,
        _ => ArtifactKind::JSON,
    };
    let busy = terminal.spinner(format!("reading {}", file.display()));
    let answer = Forged::new(open(file)?, kind)?.ask(tool, args).await?;
    drop(busy);
    super::print(&format!("{}\n", terminal.shown(&answer)))
}

async fn markdown(command: Markdown, terminal: &Terminal) -> Result<ExitCode> {
    match command {
        Markdown::Headings { file, json } => lines::headings(&open(&file)?, json, terminal).await,
        Markdown::Links { file, json } => links(&file, json, terminal).await,
        Markdown::Section { file, title } => lines::section(&open(&file)?, &title, terminal).await,
    }
}

async fn links(file: &Path, as_json: bool, terminal: &Terminal) -> Result<ExitCode> {
    let forged = Forged::new(open(file)?, ArtifactKind::MARKDOWN)?;
    let answer = forged.ask("artifact_md_links", json!({})).await?;
    // Without links the answer is words for a model.
    let links: Vec<Map<String, Value>> = serde_json::from_str(&answer).unwrap_or_default();
    let mut text = String::new();
    for mut link in links {
        let line = link.get("line").and_then(Value::as_u64).unwrap_or_default() + 1;
        link.insert("line".to_owned(), line.into());
        if as_json {
            text.push_str(&format!("{}\n", Value::Object(link)));
        } else {
            let field = |name| link.get(name).and_then(Value::as_str).unwrap_or_default();
            let line = terminal.out(Tone::Good, line.to_string());
            text.push_str(&format!(
                "{line}:{} <{}>\n",
                terminal.shown(field("text")),
                terminal.shown(field("url"))
            ));
        }
    }
    super::print(&text)
}
