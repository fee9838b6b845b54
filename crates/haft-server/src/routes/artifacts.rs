//! Artifacts: lines, searches, queries, tables and media.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft::artifacts::csv::CsvView;
use haft::artifacts::markdown::MarkdownIndex;
use haft::artifacts::text::{GrepOptions, PageLimit, TextView};
use haft::artifacts::{self, Budget, SpooledArtifact};
use haft::tools::ArtifactSet;
use haft::{DispatchContext, ToolOutput};
use serde::Deserialize;
use tokio::time::Instant;

use super::events::{EventResponse, EventSender, stream_events};
use super::table_row::TableRow;
use super::{Shared, parse_turn};
use crate::error::{ApiError, ApiResult};
use crate::extract::{JsonBody, PathParams, QueryParams};
use crate::open_artifacts::OpenArtifact;
use crate::shared::ApiShared;
use crate::stored::is_previewable;
use crate::wire::{
    ArtifactOptions, ArtifactQuery, ArtifactRow, ArtifactState, CsvPage, LinePage, LineRow,
    OutlineRow, QueryResult, SearchEnd, SearchHit, SearchPage,
};

/// How much of a line is sent, in bytes.
const MAX_LINE: usize = 4096;
/// How many lines a page has at most.
const MAX_LINES: u64 = 2000;
/// How many bytes a page has at most.
const MAX_PAGE_BYTES: usize = 4 << 20;
/// How many matches a search finds at most.
const MAX_MATCHES: u64 = 100_000;
/// How many bytes are searched between two reports.
const SEARCH_CHUNK: u64 = 64 << 20;
/// How long a query may take.
const MAX_QUERY_TIME: Duration = Duration::from_secs(120);
/// How long the response waits for the verification of the content, by default and if a client asks for it.
const SHORT_WAIT: Duration = Duration::from_millis(100);
const MAX_WAIT: Duration = Duration::from_secs(20);
/// How large a Markdown artifact with an outline may be, in bytes.
const MAX_OUTLINE: u64 = 64 << 20;
/// How many headings an outline has at most.
const MAX_HEADINGS: usize = 5000;
/// How large a medium may be that is shown, in bytes.
const MAX_MEDIA: u64 = 32 << 20;

type ArtifactPath = PathParams<(String, String)>;

fn budget(lines: u64) -> Budget {
    let lines = lines.min(usize::MAX as u64) as usize;
    let lines = NonZeroUsize::new(lines).unwrap_or(NonZeroUsize::MIN);
    Budget::new().lines(lines).bytes(MAX_PAGE_BYTES).line_bytes(MAX_LINE)
}

async fn open(
    shared: &ApiShared,
    (turn, handle): (String, String),
) -> Result<OpenArtifact, ApiError> {
    let opened = shared.open_artifact(&parse_turn(&turn)?, &handle).await?;
    opened.start_verification();
    Ok(opened)
}

/// The content as text. It is verified before the first line is read.
fn view(opened: &OpenArtifact, lines: u64) -> TextView {
    TextView::new(Arc::clone(opened.artifact.reader())).budget(budget(lines))
}

pub(super) async fn list_artifacts(
    State(shared): Shared,
    PathParams(turn): PathParams<String>,
) -> ApiResult<Vec<ArtifactRow>> {
    Ok(Json(shared.read_turn(&parse_turn(&turn)?).await?.artifacts()))
}

/// One artifact, with its number of lines and the state of its content.
pub(super) async fn show_artifact(
    State(shared): Shared,
    PathParams(path): ArtifactPath,
    QueryParams(options): QueryParams<ArtifactOptions>,
) -> ApiResult<ArtifactRow> {
    let rows = shared.read_turn(&parse_turn(&path.0)?).await?.artifacts();
    let missing = || ApiError::not_found(format!("turn `{}` has no artifact `{}`", path.0, path.1));
    let row = rows.into_iter().find(|row| row.handle == path.1).ok_or_else(missing)?;
    let opened = open(&shared, path).await?;
    if opened.artifact.is_lost() {
        return Ok(Json(ArtifactRow { lost: true, ..row }));
    }
    let lines = opened.artifact.count_lines().await.ok();
    // A small artifact is verified before a client has drawn it.
    opened.await_verification(if options.wait { MAX_WAIT } else { SHORT_WAIT }).await;
    let (content, problem) = opened.state();
    let content_problem = match content {
        // A length that differs is known without a verification, which says it in words.
        ArtifactState::Changed if problem.is_none() => {
            opened.artifact.verify().await.err().map(|error| error.to_string())
        }
        _ => problem,
    };
    let bytes = opened.artifact.reader().byte_length();
    Ok(Json(ArtifactRow { lines, bytes, content: Some(content), content_problem, ..row }))
}

#[derive(Debug, Deserialize)]
#[serde(default)]
pub(super) struct LineRange {
    start: u64,
    count: u64,
}

impl Default for LineRange {
    fn default() -> Self {
        Self { start: 0, count: 100 }
    }
}

pub(super) async fn read_lines(
    State(shared): Shared,
    PathParams(path): ArtifactPath,
    QueryParams(range): QueryParams<LineRange>,
) -> ApiResult<LinePage> {
    let artifact = open(&shared, path).await?;
    let count = range.count.clamp(1, MAX_LINES);
    // The first lines of large content are shown at once, and said to be unverified.
    artifact.await_verification(SHORT_WAIT).await;
    let (content, reader) = artifact.shown_reader();
    let view = TextView::new(Arc::clone(reader)).budget(budget(count));
    let page = view.cat(range.start..range.start.saturating_add(count)).await?;
    let lines = page.lines.into_iter().map(|line| LineRow {
        number: line.number,
        omitted_bytes: line.bytes.saturating_sub(line.text.len() as u64)
            * u64::from(line.truncated),
        text: line.text,
    });
    Ok(Json(LinePage {
        lines: lines.collect(),
        total_lines: page.total_lines,
        total_bytes: page.total_bytes,
        content,
    }))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchOptions {
    pattern: String,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    start: u64,
}

/// Searches an artifact and streams the matches. Closing the connection ends the search.
pub(super) async fn search_lines(
    State(shared): Shared,
    PathParams(path): ArtifactPath,
    QueryParams(options): QueryParams<SearchOptions>,
) -> Result<EventResponse, ApiError> {
    let artifact = open(&shared, path).await?;
    Ok(stream_events(move |sender| async move {
        tokio::select! {
            end = search(&artifact, &options, &sender) => {
                sender.send_json("end", &end).await;
            }
            () = sender.closed() => {}
        }
    }))
}

async fn search(
    artifact: &OpenArtifact,
    options: &SearchOptions,
    sender: &EventSender,
) -> SearchEnd {
    let begun = Instant::now();
    let view = view(artifact, 1000);
    let mut end = SearchEnd {
        matches: 0,
        limited: false,
        unsearched_lines: 0,
        duration_ms: 0.0,
        error: None,
    };
    let mut start = options.start;
    loop {
        let mut grep = GrepOptions::new().start_line(start).max_search_bytes(SEARCH_CHUNK);
        grep.ignore_case = options.ignore_case;
        let page = match view.grep(&options.pattern, grep).await {
            Ok(page) => page,
            Err(error) => {
                end.error = Some(error.to_string());
                break;
            }
        };
        end.unsearched_lines += page.unsearched_lines;
        end.matches += page.lines.len() as u64;
        let hits =
            page.lines.into_iter().map(|line| SearchHit { line: line.number, text: line.text });
        let next_line = page.next.as_ref().map_or(page.total_lines, |next| next.start);
        let report = SearchPage { hits: hits.collect(), next_line, total_lines: page.total_lines };
        if !sender.send_json("matches", &report).await {
            break;
        }
        match page.next {
            Some(next) if end.matches < MAX_MATCHES && next.limit != PageLimit::Matches => {
                start = next.start
            }
            next => {
                end.limited = next.is_some();
                break;
            }
        }
    }
    end.duration_ms = begun.elapsed().as_secs_f64() * 1000.0;
    end
}

/// The headings of a Markdown artifact.
pub(super) async fn read_outline(
    State(shared): Shared,
    PathParams(path): ArtifactPath,
) -> ApiResult<Vec<OutlineRow>> {
    let artifact = open(&shared, path).await?;
    let reader = artifact.artifact.reader();
    if reader.byte_length() > MAX_OUTLINE {
        return Err(ApiError::unavailable("the artifact is too large for an outline"));
    }
    let mut builder = MarkdownIndex::builder();
    let mut at = 0;
    loop {
        let bytes = reader.read_at(at, 1 << 20).await?;
        if bytes.is_empty() {
            break;
        }
        at += bytes.len() as u64;
        builder.push(&bytes);
    }
    let index = builder.finish();
    let rows = index.headings().iter().take(MAX_HEADINGS).map(|heading| OutlineRow {
        level: heading.depth,
        text: heading.text.to_string(),
        line: heading.start_line as u64,
    });
    Ok(Json(rows.collect()))
}

/// Rows of a CSV artifact. The file is read from its beginning, so that quoted line ends are understood.
pub(super) async fn read_rows(
    State(shared): Shared,
    PathParams(path): ArtifactPath,
    QueryParams(range): QueryParams<LineRange>,
) -> ApiResult<CsvPage> {
    let artifact = open(&shared, path).await?;
    let count = range.count.clamp(1, MAX_LINES);
    let view = CsvView::new(Arc::clone(artifact.artifact.reader())).budget(budget(MAX_LINES));
    let rows = view.read_rows(range.start..range.start.saturating_add(count), &[], 0);
    let rows = rows.await.map_err(|error| ApiError::unavailable(error.to_string()))?;
    // The result is a list; a note about what was omitted may follow it.
    let mut values = serde_json::Deserializer::from_str(rows.as_str()).into_iter::<Vec<TableRow>>();
    let rows: Vec<TableRow> = values.next().and_then(Result::ok).unwrap_or_default();
    let columns: Vec<String> = rows.first().map(TableRow::columns).unwrap_or_default();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.cells(&columns)).collect();
    let more = rows.len() as u64 == count;
    Ok(Json(CsvPage { columns, rows, start: range.start, more }))
}

/// Runs a query as a model does, with a larger budget.
pub(super) async fn run_query(
    State(shared): Shared,
    PathParams(path): ArtifactPath,
    JsonBody(query): JsonBody<ArtifactQuery>,
) -> ApiResult<QueryResult> {
    let artifact = open(&shared, path).await?.artifact;
    Ok(Json(run_tool(&artifact, &query.tool, query.arguments).await?))
}

/// The handle of the only artifact of a query.
const HANDLE: &str = "artifact";

async fn run_tool(
    artifact: &SpooledArtifact,
    tool: &str,
    mut arguments: serde_json::Map<String, serde_json::Value>,
) -> Result<QueryResult, ApiError> {
    let failed = |error: &dyn std::fmt::Display| ApiError::invalid(error.to_string());
    let set = Arc::new(ArtifactSet::new());
    set.put_retrieved(HANDLE, artifact.clone()).map_err(|error| failed(&error))?;
    let budget = Budget::new().lines(NonZeroUsize::MAX).bytes(MAX_PAGE_BYTES).line_bytes(64 << 10);
    let tools =
        artifacts::standard_formats().budget(budget).forge(&set).map_err(|error| failed(&error))?;
    let tool = tools.find(tool).map_err(|error| failed(&error))?;
    let ctx = DispatchContext::builder("inspector").artifacts(set).build();
    arguments.insert("callId".to_owned(), HANDLE.into());
    let begun = Instant::now();
    let call = async move { tool.executor(&ctx).call(serde_json::Value::Object(arguments)).await };
    let done = tokio::time::timeout(MAX_QUERY_TIME, call).await;
    let late =
        |_| ApiError::new(StatusCode::GATEWAY_TIMEOUT, "E_API_TIMEOUT", "the query took too long");
    let (text, failed) = match done.map_err(late)?.outcome {
        Ok(ToolOutput::Answer { text, .. } | ToolOutput::Text(text)) => (text, false),
        Ok(_) => ("the result is not text".to_owned(), true),
        Err(error) => (error.to_string(), true),
    };
    Ok(QueryResult { text, failed, duration_ms: begun.elapsed().as_secs_f64() * 1000.0 })
}

/// The bytes of a picture. Other media are downloaded and never shown.
pub(super) async fn read_media(
    State(shared): Shared,
    PathParams((turn, name)): PathParams<(String, String)>,
) -> Result<Response, ApiError> {
    let media = shared.turns.open_media(&parse_turn(&turn)?, &name).await?;
    let media = media
        .ok_or_else(|| ApiError::not_found(format!("turn `{turn}` has no medium `{name}`")))?;
    let bytes =
        media.bytes(MAX_MEDIA).await.map_err(|error| ApiError::unavailable(error.to_string()))?;
    let is_shown = is_previewable(media.mime_type());
    let kind = if is_shown { media.mime_type() } else { "application/octet-stream" };
    let kind =
        HeaderValue::from_str(kind).unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let disposition = if is_shown { "inline" } else { "attachment" };
    let mut response = Body::from(bytes).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(disposition));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Nothing in a medium runs, even if it is opened by its address.
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; sandbox"),
    );
    Ok(response)
}
