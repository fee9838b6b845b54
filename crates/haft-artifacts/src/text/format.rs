//! How lines are asked, which every artifact has.

use haft_core::artifact::{ArtifactKind, QueryOutput};
use haft_core::forge::{ArtifactFormat, QueryAnswer, QueryContext, Question};
use haft_core::tool::ToolFailure;

use crate::byte_order_mark;
use crate::content_view::ContentView;
use crate::json::JsonFormat;
use crate::text::{GrepOptions, LinePart, TextLine, TextPage, TextView};

/// The format of text. It reads every kind, so that every artifact can be paged through and searched. Text that begins as
/// JSON, XML or a table does is also queried as such.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct TextFormat;

impl TextFormat {
    /// Creates the format.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl ArtifactFormat for TextFormat {
    fn reads(&self, _: &ArtifactKind) -> bool {
        true
    }

    fn answer(&self, question: &Question, ctx: &QueryContext) -> Option<QueryAnswer> {
        let ctx = ctx.clone();
        match question.clone() {
            Question::Read { section: Some(_), .. } => Some(Box::pin(std::future::ready(Err(
                ToolFailure::new("only a Markdown text has sections; read it by `start` and `end`"),
            )))),
            Question::Read { start, end, offset, .. } => Some(Box::pin(async move {
                let answer = read(start, end, offset, &ctx).await?;
                note_encoding(answer, &ctx).await
            })),
            Question::Grep { pattern, ignore_case, context, start, limit } => {
                let mut options = GrepOptions::new().context(context, context);
                options.ignore_case = ignore_case;
                options = options.start_line(start.map_or(0, |it| it.saturating_sub(1)));
                if let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) {
                    options = options.max_matches(limit);
                }
                Some(Box::pin(async move { grep(&pattern, options, &ctx).await }))
            }
            Question::Info { .. } | Question::Query { .. }
                if *ctx.artifact.kind() == ArtifactKind::TEXT =>
            {
                Some(Box::pin(ask_as_detected(question.clone(), ctx)))
            }
            _ => None,
        }
    }
}

/// Asks text in the format that its beginning has.
async fn ask_as_detected(
    question: Question,
    ctx: QueryContext,
) -> Result<QueryOutput, ToolFailure> {
    let detected = detect_format(&ctx).await?;
    let is_info = matches!(question, Question::Info { .. });
    let found = detected.as_ref().and_then(|format| {
        Some((format.answer(&question, &ctx)?, format.query_form().unwrap_or_default()))
    });
    match found {
        Some((answer, form)) if is_info => match answer.await {
            Ok(answer) => Ok(answer.noted(format_args!("artifact_query takes {form}"))),
            Err(_) => Ok(QueryOutput::whole(PLAIN)),
        },
        Some((answer, _)) => answer.await,
        None if is_info => Ok(QueryOutput::whole(PLAIN)),
        None => Err(ToolFailure::new(
            "plain text has no structure to query; artifact_grep finds lines by a regular expression, and \
             artifact_read shows lines by their numbers",
        )),
    }
}

const PLAIN: &str = "plain lines";

/// The format in which the content begins.
async fn detect_format(ctx: &QueryContext) -> Result<Option<Box<dyn ArtifactFormat>>, ToolFailure> {
    let start = ctx.artifact.reader().read_at(0, DETECTED_BYTES).await?;
    let text = byte_order_mark::strip_utf8(&start).trim_ascii_start();
    Ok(match text.first() {
        Some(b'{' | b'[') => Some(Box::new(JsonFormat::new())),
        #[cfg(feature = "formats")]
        Some(b'<') => Some(Box::new(crate::xml::XmlFormat::new())),
        #[cfg(feature = "formats")]
        Some(_) if crate::csv::sniff::is_table(text) => {
            Some(Box::new(crate::csv::CsvFormat::new()))
        }
        _ => None,
    })
}

/// How much is looked at to find out the format.
const DETECTED_BYTES: usize = 16 * 1024;

async fn read(
    start: Option<i64>,
    end: Option<u64>,
    offset: Option<u64>,
    ctx: &QueryContext,
) -> Result<QueryOutput, ToolFailure> {
    let view = TextView::of_content(ContentView::of_query(ctx));
    let start = start.unwrap_or(1);
    if start < 0 && end.is_none() {
        return Ok(page_answer(&view.tail(start.unsigned_abs()).await?, ctx, line_text));
    }
    let first = match u64::try_from(start) {
        Ok(number) => number.saturating_sub(1),
        Err(_) => view.count_lines().await?.saturating_sub(start.unsigned_abs()),
    };
    if let Some(offset) = offset {
        let part = view.read_line_part(first, offset..).await?;
        return Ok(part.map_or_else(|| QueryOutput::list([], ctx.budget, 0), line_part_answer));
    }
    let page = view.cat(first..end.unwrap_or(u64::MAX)).await?;
    if page.lines.is_empty() && page.total_lines > 0 {
        return Ok(QueryOutput::sentinel(format_args!("there are {} lines", page.total_lines)));
    }
    Ok(page_answer(&page, ctx, line_text))
}

fn line_part_answer(part: LinePart) -> QueryOutput {
    let LinePart { number, text, next, .. } = part;
    let number = number.saturating_add(1);
    let answer = if text.is_empty() {
        QueryOutput::sentinel("empty text")
    } else {
        QueryOutput::whole(text)
    };
    match next {
        Some(next) => answer.noted(format_args!(
            "line {number} goes on; ask with start {number} and offset {}",
            next.start
        )),
        None => answer,
    }
}

async fn grep(
    pattern: &str,
    options: GrepOptions,
    ctx: &QueryContext,
) -> Result<QueryOutput, ToolFailure> {
    let page = TextView::of_content(ContentView::of_query(ctx)).grep(pattern, options).await?;
    let answer = page_answer(&page, ctx, |line| {
        let mark = if line.context { '-' } else { ':' };
        format!("{}{mark}{}", line.number.saturating_add(1), line.text)
    });
    note_encoding(answer, ctx).await
}

/// Says so if the content is UTF-16: its letters have other bytes, so that a pattern finds none of them.
async fn note_encoding(
    answer: QueryOutput,
    ctx: &QueryContext,
) -> Result<QueryOutput, ToolFailure> {
    let mark = ctx.artifact.reader().read_at(0, 2).await?;
    let note = "the content begins with the mark of UTF-16 or UTF-32 and is read as UTF-8, so that patterns do not match its \
                text; convert it to UTF-8 first";
    Ok(if byte_order_mark::is_utf16(&mark) { answer.noted(note) } else { answer })
}

fn line_text(line: &TextLine) -> String {
    line.text.clone()
}

/// How many lines that were cut have a note of their own.
const NOTED_CUT_LINES: usize = 3;

/// A page as a result: its lines, and notes about what is omitted.
pub(crate) fn page_answer(
    page: &TextPage,
    ctx: &QueryContext,
    line: fn(&TextLine) -> String,
) -> QueryOutput {
    let lines: Vec<String> = page.lines.iter().map(line).collect();
    let text = lines.join("\n");
    let mut answer = match lines.len() {
        0 => QueryOutput::list([], ctx.budget, 0),
        1 if text.is_empty() => QueryOutput::sentinel("1 empty line"),
        count if text.trim_matches('\n').is_empty() => {
            QueryOutput::sentinel(format_args!("{count} empty lines"))
        }
        _ => QueryOutput::whole(text),
    };
    let mut cut_lines = page.lines.iter().filter(|line| line.truncated);
    for cut in cut_lines.by_ref().take(NOTED_CUT_LINES) {
        let TextLine { number, bytes, .. } = cut;
        let number = number.saturating_add(1);
        answer = answer.noted(format_args!(
            "line {number} has {bytes} bytes and was cut; artifact_read with start {number} and offset 0 reads it in parts"
        ));
    }
    let further = cut_lines.count();
    if further > 0 {
        answer = answer.noted(format_args!("{further} more lines were cut"));
    }
    if page.unsearched_lines > 0 {
        let first = page.first_unsearched_line.unwrap_or(0).saturating_add(1);
        answer = answer.noted(format_args!(
            "{} lines were too long to be searched; the first is line {first}",
            page.unsearched_lines
        ));
    }
    match &page.next {
        Some(next) => answer.noted(next),
        None => answer,
    }
}
