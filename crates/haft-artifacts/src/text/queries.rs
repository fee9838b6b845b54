//! The queries of text, which every artifact has.

use haft_core::artifact::{ArtifactKind, QueryOutput};
use haft_core::forge::{ArtifactFormat, Query, QueryContext};
use haft_core::schema::{Problems, integer, object, one_of, string};
use haft_core::tokens::Encoding;
use haft_core::{Args, ToolFailure};

use crate::byte_order_mark;
use crate::content_view::ContentView;
use crate::query_args::{Named as _, count, line, refused};
use crate::text::{GrepOptions, LinePart, TextLine, TextPage, TextView, check_pattern};

/// The format of text. It reads every kind, so that every artifact can be paged through and searched.
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

    fn queries(&self) -> Vec<Query> {
        let lines = || integer().min(1).default(10);
        vec![
            Query::new("artifact_head", "First lines of an artifact.", head)
                .input(object().field("n", lines())),
            Query::new("artifact_tail", "Last lines of an artifact.", tail)
                .input(object().field("n", lines())),
            Query::new(
                "artifact_grep",
                "Lines of an artifact that match a regular expression, as `number:line`.",
                grep,
            )
            .input(grep_input())
            .check(check_grep),
            Query::new(
                "artifact_cat",
                "Lines `start` to `end` of an artifact, counted from 1, both included.",
                cat,
            )
            .input(
                object()
                    .field("start", integer().min(1).optional())
                    .field("end", count("Last line"))
                    .field(
                        "offset",
                        count("Byte of line `start` to begin with, if it is too long"),
                    ),
            ),
            Query::new("artifact_byte_length", "Size of an artifact in bytes.", byte_length)
                .input(object()),
            Query::new("artifact_line_count", "Number of lines of an artifact.", line_count)
                .input(object()),
            Query::new(
                "artifact_estimate_tokens",
                "Size of an artifact in tokens of an encoding.",
                tokens,
            )
            .input(
                object().field(
                    "encoding",
                    one_of(Encoding::ALL.iter().map(|it| it.as_str())).required(),
                ),
            ),
        ]
    }
}

fn grep_input() -> haft_core::schema::ObjectSchema {
    object()
        .field("pattern", string().non_empty().required())
        .field("flags", string().pattern("^[imsu]*$").description("`i`: ignore case").optional())
        .field("context", count("Lines to show around a match"))
        .field("start", line("First line to search"))
        .field("limit", integer().min(1).description("Most matches").optional())
}

fn view(asked: &QueryContext) -> TextView {
    TextView::of_content(ContentView::of_query(asked))
}

async fn head(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let n = args.count("n").unwrap_or(10);
    let page = view(&asked).head(n).await?;
    note_encoding(page_answer(&page, &asked, line_text), &asked).await
}

async fn tail(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let n = args.count("n").unwrap_or(10);
    let page = view(&asked).tail(n).await?;
    note_encoding(page_answer(&page, &asked, line_text), &asked).await
}

async fn cat(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let start = args.line("start").unwrap_or(0);
    if let Some(offset) = args.count("offset") {
        let part = view(&asked).read_line_part(start, offset..).await?;
        return Ok(part.map_or_else(|| QueryOutput::list([], asked.budget, 0), line_part_answer));
    }
    let end = args.count("end").unwrap_or(u64::MAX);
    let page = view(&asked).cat(start..end).await?;
    note_encoding(page_answer(&page, &asked, line_text), &asked).await
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

async fn grep(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let pattern = args.required_text("pattern");
    let page = view(&asked).grep(pattern, grep_options(&args)).await?;
    let answer = page_answer(&page, &asked, |line| {
        let mark = if line.context { '-' } else { ':' };
        format!("{}{mark}{}", line.number.saturating_add(1), line.text)
    });
    note_encoding(answer, &asked).await
}

/// Says so if the content is UTF-16: its letters have other bytes, so that a pattern finds none of them.
async fn note_encoding(
    answer: QueryOutput,
    asked: &QueryContext,
) -> Result<QueryOutput, ToolFailure> {
    let mark = asked.artifact.reader().read_at(0, 2).await?;
    let note = "the content begins with the mark of UTF-16 or UTF-32 and is read as UTF-8, so that patterns do not match its \
                text; convert it to UTF-8 first";
    Ok(if byte_order_mark::is_utf16(&mark) { answer.noted(note) } else { answer })
}

fn grep_options(args: &Args) -> GrepOptions {
    let around = args.count("context").unwrap_or(0);
    let mut options = GrepOptions::new().context(around, around);
    options.ignore_case = args.text("flags").is_some_and(|flags| flags.contains('i'));
    options = options.start_line(args.line("start").unwrap_or(0));
    match args.count("limit").and_then(|limit| usize::try_from(limit).ok()) {
        Some(limit) => options.max_matches(limit),
        None => options,
    }
}

fn check_grep(args: &Args) -> Result<(), Problems> {
    let pattern = args.required_text("pattern");
    check_pattern(pattern, &grep_options(args))
        .map_err(|error| refused("pattern", format!("a regular expression ({error})"), pattern))
}

async fn byte_length(_: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(QueryOutput::number(asked.artifact.reader().byte_length()))
}

async fn line_count(_: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    Ok(QueryOutput::number(view(&asked).count_lines().await?))
}

async fn tokens(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let encoding: Encoding = args.required_text("encoding").parse()?;
    let counter = Counter::new(encoding);
    let count = ContentView::of_query(&asked).fold_chunks(counter, Counter::push).await?.finish();
    let answer = QueryOutput::number(count.tokens);
    Ok(if count.is_exact() { answer } else { answer.noted("an estimate, not an exact count") })
}

#[cfg(feature = "tokens")]
use crate::tokens::StreamCounter as Counter;

/// Counts without the tables of the encodings.
#[cfg(not(feature = "tokens"))]
struct Counter {
    tally: haft_core::tokens::HeuristicTally,
    /// The beginning of a character whose end was not read yet.
    partial: Vec<u8>,
}

#[cfg(not(feature = "tokens"))]
impl Counter {
    fn new(encoding: Encoding) -> Self {
        Self { tally: haft_core::tokens::HeuristicTally::new(encoding), partial: Vec::new() }
    }

    fn push(&mut self, chunk: &[u8]) {
        self.partial.extend_from_slice(chunk);
        let bytes = std::mem::take(&mut self.partial);
        // At most three bytes at the end can be the beginning of a character.
        let tail = bytes.len().saturating_sub(3);
        let cut = (tail..bytes.len()).find(|at| bytes.get(*at).is_some_and(|it| *it >= 0xC0));
        let (whole, partial) = crate::invariant::split(&bytes, cut.unwrap_or(bytes.len()));
        self.tally.push(&String::from_utf8_lossy(whole));
        self.partial = partial.to_vec();
    }

    fn finish(mut self) -> haft_core::tokens::TokenCount {
        let rest = std::mem::take(&mut self.partial);
        self.tally.push(&String::from_utf8_lossy(&rest));
        self.tally.finish()
    }
}

fn line_text(line: &TextLine) -> String {
    line.text.clone()
}

/// How many lines that were cut have a note of their own.
const NOTED_CUT_LINES: usize = 3;

/// A page as a result: its lines, and notes about what is omitted.
fn page_answer(
    page: &TextPage,
    asked: &QueryContext,
    line: fn(&TextLine) -> String,
) -> QueryOutput {
    let lines: Vec<String> = page.lines.iter().map(line).collect();
    let text = lines.join("\n");
    let mut answer = match lines.len() {
        0 => QueryOutput::list([], asked.budget, 0),
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
            "line {number} has {bytes} bytes and was cut; artifact_cat with start {number} and offset 0 reads it in parts"
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
