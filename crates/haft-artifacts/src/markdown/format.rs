//! How Markdown is ctx.

use std::sync::Arc;

use haft_core::artifact::{ArtifactKind, QueryOutput};
use haft_core::forge::{ArtifactFormat, QueryAnswer, QueryContext, Question};
use haft_core::json::{Document, JsonWriter};
use haft_core::tool::ToolFailure;

use crate::content_view::ContentView;
use crate::markdown::MarkdownIndex;
use crate::markdown::view::MarkdownView;
use crate::text::{TextView, page_answer};

/// Markdown: front matter, headings, code blocks, sections and links.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct MarkdownFormat;

impl MarkdownFormat {
    /// Creates the format.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl ArtifactFormat for MarkdownFormat {
    fn reads(&self, kind: &ArtifactKind) -> bool {
        *kind == ArtifactKind::MARKDOWN
    }

    fn answer(&self, question: &Question, ctx: &QueryContext) -> Option<QueryAnswer> {
        let ctx = ctx.clone();
        match question.clone() {
            Question::Info { skip } => Some(Box::pin(async move {
                let index = load_index(&ctx).await?;
                Ok(headings(&index, &ctx, skip))
            })),
            Question::Read { section: Some(title), .. } => Some(Box::pin(read_section(title, ctx))),
            Question::Query { query, skip } => Some(Box::pin(ask(query, skip, ctx))),
            _ => None,
        }
    }

    fn query_form(&self) -> Option<&str> {
        Some(FORM)
    }
}

const FORM: &str = "`headings`, `links`, `code` (or `code rust` for one language) or `frontmatter`; artifact_read with \
                    a heading as `section` reads a section";

/// The index of an artifact, which is built once and kept with it.
async fn load_index(ctx: &QueryContext) -> Result<Arc<MarkdownIndex>, ToolFailure> {
    let view = MarkdownView::of_query(ctx);
    Ok(ctx.artifact.memo(view.build_index()).await?)
}

async fn ask(query: String, skip: u64, ctx: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let index = load_index(&ctx).await?;
    let words = query.to_lowercase();
    let mut words = words.split_whitespace();
    match (words.next().unwrap_or_default(), words.next()) {
        ("headings" | "heading" | "sections" | "outline", None) => Ok(headings(&index, &ctx, skip)),
        ("links" | "link", None) => links(&index, &ctx, skip).await,
        ("code" | "codeblocks" | "code_blocks", lang) => Ok(code_blocks(&index, lang, &ctx, skip)),
        ("frontmatter" | "front_matter" | "front", _) => front_matter(&index, &ctx),
        _ => {
            let heading = index.find_section(&query).map(|section| {
                format!(
                    "; for the section, call artifact_read with section \"{}\"",
                    section.heading
                )
            });
            let heading = heading.unwrap_or_default();
            Err(ToolFailure::new(format!("a Markdown text takes {FORM}{heading}")))
        }
    }
}

/// One heading a line, with the number of its line in front, as it would stand in the text.
fn headings(index: &MarkdownIndex, ctx: &QueryContext, skip: u64) -> QueryOutput {
    let found = index.headings().iter().map(|it| {
        let marks = "#".repeat(usize::from(it.depth));
        format!("{}: {marks} {}", line_number(it.start_line), it.text)
    });
    listed(found, index, (ctx, skip))
}

/// The lines of a section.
async fn read_section(title: String, ctx: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let index = load_index(&ctx).await?;
    let Some(section) = index.find_section(&title) else {
        let headings: Vec<&str> = index.headings().iter().map(|it| &*it.text).take(NAMED).collect();
        let headings = headings.join("; ");
        return Err(ToolFailure::new(format!(
            "no heading is called so; the headings are: {headings}"
        )));
    };
    let lines = section.heading_line as u64..line_number(section.body_end_line);
    let view = TextView::of_content(ContentView::of_query(&ctx));
    Ok(page_answer(&view.cat(lines).await?, &ctx, |line| line.text.clone()))
}

fn front_matter(index: &MarkdownIndex, ctx: &QueryContext) -> Result<QueryOutput, ToolFailure> {
    let value = index.front_matter()?.filter(|it| !it.is_null());
    let Some(value) = value else { return Ok(QueryOutput::undefined()) };
    Ok(QueryOutput::value(Document::from_value(&value)?.root(), ctx.budget))
}

/// One code block a line: its lines and its language.
fn code_blocks(
    index: &MarkdownIndex,
    lang: Option<&str>,
    ctx: &QueryContext,
    skip: u64,
) -> QueryOutput {
    let is_lang = |it: &str| lang.is_none_or(|lang| it.eq_ignore_ascii_case(lang));
    let found = index.code_blocks().iter().filter(|it| is_lang(it.lang.as_deref().unwrap_or("")));
    let found = found.map(|it| {
        let (start, end) = (line_number(it.start_line), line_number(it.end_line));
        format!("{start}-{end}: {}", it.lang.as_deref().unwrap_or("(no language)"))
    });
    listed(found, index, (ctx, skip))
}

/// One link a line, with the number of its line.
async fn links(
    index: &MarkdownIndex,
    ctx: &QueryContext,
    skip: u64,
) -> Result<QueryOutput, ToolFailure> {
    let part = MarkdownView::of_query(ctx).read_part(0..u64::MAX).await?;
    let found = index.links(&part.text, part.first_line).into_iter().map(|it| {
        let title = it.title.as_deref().map(|title| format!(" \"{title}\"")).unwrap_or_default();
        format!("{}: [{}]({}{title})", line_number(it.line), it.text, it.url)
    });
    let answer = listed(found, index, (ctx, skip));
    Ok(match part.next {
        Some(next) => answer.noted(format_args!(
            "links up to line {next}; artifact_grep with the pattern `\\]\\(` and start {} finds the rest",
            next.saturating_add(1)
        )),
        None => answer,
    })
}

/// The number of a line as a model counts: from 1.
fn line_number(line: usize) -> u64 {
    (line as u64).saturating_add(1)
}

fn listed(
    rows: impl Iterator<Item = String>,
    index: &MarkdownIndex,
    (ctx, skip): (&QueryContext, u64),
) -> QueryOutput {
    let mut list = JsonWriter::new();
    list.array(|out| {
        for row in rows {
            out.string(&row);
        }
    });
    let answer = QueryOutput::list(list.finish().root().elements(), ctx.budget, skip);
    match index.omitted_count() {
        0 => answer,
        count => answer.noted(format_args!(
            "the index of this document is full: {count} parts of it were left out"
        )),
    }
}

/// How many headings a refusal names.
const NAMED: usize = 40;
