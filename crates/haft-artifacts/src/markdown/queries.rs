//! The queries of Markdown.

use std::sync::Arc;

use haft_core::artifact::{ArtifactKind, QueryOutput};
use haft_core::forge::{ArtifactFormat, Query, QueryContext};
use haft_core::json::{Document, JsonWriter};
use haft_core::schema::{integer, object, string};
use haft_core::{Args, ToolFailure};

use crate::markdown::MarkdownIndex;
use crate::markdown::view::MarkdownView;
use crate::query_args::{Named as _, skip};

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

    fn queries(&self) -> Vec<Query> {
        let depth = || integer().min(1).max(6).optional();
        vec![
            Query::new(
                "artifact_md_frontmatter",
                "Front matter of a Markdown artifact.",
                front_matter,
            )
            .input(object()),
            Query::new(
                "artifact_md_headings",
                "Headings of a Markdown artifact with their lines.",
                headings,
            )
            .input(object().field("depth", depth()).field("skip", skip())),
            Query::new(
                "artifact_md_code_blocks",
                "Code blocks of a Markdown artifact with their lines; `lang` \"\": blocks without a language.",
                code_blocks,
            )
            .input(
                object()
                    .field("lang", string().optional())
                    .field("skip", skip()),
            ),
            Query::new(
                "artifact_md_sections",
                "Sections of a Markdown artifact; read headingLine to bodyEndLine with artifact_cat.",
                sections,
            )
            .input(object().field("depth", depth()).field("skip", skip())),
            Query::new(
                "artifact_md_links",
                "Links in lines of a Markdown artifact.",
                links,
            )
            .input(
                object()
                    .field("startLine", integer().min(1).optional())
                    .field("endLine", integer().min(0).optional())
                    .field("skip", skip()),
            ),
        ]
    }
}

/// The index of an artifact, which is built once and kept with it.
async fn index(asked: &QueryContext) -> Result<Arc<MarkdownIndex>, ToolFailure> {
    let view = MarkdownView::of_query(asked);
    Ok(asked.artifact.memo(view.build_index()).await?)
}

async fn front_matter(_: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let Some(value) = index(&asked).await?.front_matter()? else {
        return Ok(QueryOutput::undefined());
    };
    if value.is_null() {
        return Ok(QueryOutput::undefined());
    }
    Ok(QueryOutput::value(Document::from_value(&value)?.root(), asked.budget))
}

async fn headings(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let index = index(&asked).await?;
    let depth = args.count("depth");
    let asked_for = index.headings().iter().filter(|it| is_depth(depth, it.depth));
    let found = asked_for.map(|it| {
        let (start, end) = (line_number(it.start_line), line_number(it.end_line));
        row(|w| {
            w.key("depth").unsigned(it.depth.into()).key("text").string(&it.text);
            w.key("startLine").unsigned(start).key("endLine").unsigned(end);
        })
    });
    Ok(listed(found, &args, &asked, &index))
}

async fn code_blocks(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let index = index(&asked).await?;
    let lang = args.text("lang").map(str::to_lowercase);
    let is_lang = |it: Option<&str>| match &lang {
        Some(lang) => it.unwrap_or_default().to_lowercase() == *lang,
        None => true,
    };
    let asked_for = index.code_blocks().iter().filter(|it| is_lang(it.lang.as_deref()));
    let found = asked_for.map(|it| {
        row(|w| {
            match &it.lang {
                Some(lang) => w.key("lang").string(lang),
                None => w.key("lang").null(),
            };
            w.key("startLine").unsigned(line_number(it.start_line));
            w.key("endLine").unsigned(line_number(it.end_line));
        })
    });
    Ok(listed(found, &args, &asked, &index))
}

async fn sections(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let index = index(&asked).await?;
    let depth = args.count("depth");
    let asked_for = index.sections().filter(|it| is_depth(depth, it.depth));
    let found = asked_for.map(|it| {
        row(|w| {
            w.key("depth").unsigned(it.depth.into()).key("heading").string(it.heading);
            w.key("headingLine").unsigned(line_number(it.heading_line));
            w.key("bodyStartLine").unsigned(line_number(it.body_start_line));
            w.key("bodyEndLine").unsigned(line_number(it.body_end_line));
        })
    });
    Ok(listed(found, &args, &asked, &index))
}

async fn links(args: Args, asked: QueryContext) -> Result<QueryOutput, ToolFailure> {
    let index = index(&asked).await?;
    let start = args.line("startLine").unwrap_or(0);
    let end = args.count("endLine").unwrap_or(u64::MAX);
    let part = MarkdownView::of_query(&asked).read_part(start..end).await?;
    let found = index.links(&part.text, part.first_line).into_iter().map(|it| {
        row(|w| {
            w.key("text").string(&it.text).key("url").string(&it.url);
            if let Some(title) = &it.title {
                w.key("title").string(title);
            }
            w.key("line").unsigned(line_number(it.line));
        })
    });
    let answer = listed(found, &args, &asked, &index);
    Ok(match part.next {
        Some(next) => answer.noted(format_args!(
            "read up to line {next}; ask again with startLine {} for the rest",
            next.saturating_add(1)
        )),
        None => answer,
    })
}

fn is_depth(wanted: Option<u64>, depth: u8) -> bool {
    wanted.is_none_or(|wanted| wanted == u64::from(depth))
}

/// The number of a line as a model counts: from 1.
fn line_number(line: usize) -> u64 {
    (line as u64).saturating_add(1)
}

fn row(fields: impl FnOnce(&mut JsonWriter)) -> Document {
    let mut writer = JsonWriter::new();
    writer.object(fields);
    writer.finish()
}

fn listed(
    rows: impl Iterator<Item = Document>,
    args: &Args,
    asked: &QueryContext,
    index: &MarkdownIndex,
) -> QueryOutput {
    let rows: Vec<Document> = rows.collect();
    let answer = QueryOutput::list(rows.iter().map(Document::root), asked.budget, args.skip());
    match index.omitted_count() {
        0 => answer,
        count => answer.noted(format_args!(
            "the index of this document is full: {count} parts of it were left out"
        )),
    }
}
