//! Lines of a file, page by page: a file of any size passes through little memory.

use std::io::{BufWriter, Write as _, stdout};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use haft::artifact::Budget;
use haft::artifacts::markdown::MarkdownIndex;
use haft::artifacts::text::{GrepOptions, Line, Stopped, TextView};
use haft::spool::SpoolReader as _;
use haft::stores::FileSpoolReader;
use serde_json::json;

use crate::args::Grep;
use crate::failure::{Code, Failure};
use crate::terminal::{Terminal, Tone};

/// How much is read for one page.
fn page() -> Budget {
    let lines = NonZeroUsize::MIN.saturating_add(16_383);
    Budget::new().lines(lines).bytes(1 << 20).line_bytes(1 << 20)
}

/// How many lines there are, as people count: what follows the last line end is a line only if there is
/// something.
pub(in crate::commands) async fn count(view: &TextView) -> Result<u64> {
    let count = view.line_count().await?;
    let Some(last) = count.checked_sub(1) else { return Ok(0) };
    let nothing = view.line_part(last, ..).await?.is_none_or(|last| last.bytes == 0);
    Ok(if nothing { last } else { count })
}

/// Prints the lines of a range.
pub(in crate::commands) async fn print(
    view: &TextView,
    start: u64,
    end: u64,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let view = view.clone().budget(page());
    let mut out = BufWriter::new(stdout());
    let mut next = Some(start);
    while let Some(start) = next.take() {
        let page = view.cat(start..end).await?;
        for line in &page.lines {
            whole(&view, line, &mut out, terminal).await?;
            out.write_all(b"\n")?;
        }
        next = page.more.map(|more| more.start);
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a line, also one that is longer than a page.
async fn whole(
    view: &TextView,
    line: &Line,
    out: &mut impl std::io::Write,
    terminal: &Terminal,
) -> Result<()> {
    if !line.truncated {
        out.write_all(terminal.shown(&line.text).as_bytes())?;
        return Ok(());
    }
    let mut at = 0;
    while let Some(part) = view.line_part(line.number, at..).await? {
        out.write_all(terminal.shown(&part.text).as_bytes())?;
        match part.more {
            Some(more) => at = more.start,
            None => break,
        }
    }
    Ok(())
}

/// Prints the lines that match.
pub(super) async fn grep(view: &TextView, args: &Grep, terminal: &Terminal) -> Result<ExitCode> {
    let view = view.clone().budget(page());
    let mut out = BufWriter::new(stdout());
    let (mut found, mut start, mut unsearched) = (0_usize, 0, 0);
    let around = args.context;
    let mut last = None;
    loop {
        let mut options = GrepOptions::new().start_line(start);
        options.ignore_case = args.ignore_case;
        if !args.count {
            options = options.context(around, around);
        }
        if let Some(limit) = args.limit {
            options = options.limit(limit.get() - found);
        }
        let page = view.grep(&args.pattern, options).await?;
        unsearched += page.unsearched_lines;
        for line in &page.lines {
            found += usize::from(!line.context);
            if args.count {
                continue;
            }
            if around > 0 && !args.json && last.is_some_and(|last| line.number > last + 1) {
                writeln!(out, "{}", terminal.out(Tone::Quiet, "--"))?;
            }
            last = Some(line.number);
            if args.json {
                let (number, text) = (line.number + 1, &line.text);
                let object = match line.context {
                    true => json!({"line": number, "text": text, "context": true}),
                    false => json!({"line": number, "text": text}),
                };
                writeln!(out, "{object}")?;
            } else {
                let mark = if line.context { '-' } else { ':' };
                let number = terminal.out(Tone::Good, (line.number + 1).to_string());
                writeln!(out, "{number}{mark}{}", terminal.shown(&line.text))?;
            }
        }
        let enough = args.limit.is_some_and(|limit| found >= limit.get());
        match page.more {
            Some(more) if !enough && more.reason != Stopped::Limit => start = more.start,
            _ => break,
        }
    }
    if args.count {
        writeln!(out, "{found}")?;
    }
    out.flush()?;
    if unsearched > 0 {
        eprintln!("{unsearched} lines are too long to be searched and were left out");
    }
    Ok(if found > 0 || args.count { ExitCode::SUCCESS } else { Code::NothingFound.into() })
}

/// The headings of Markdown.
pub(super) async fn outline(
    reader: &FileSpoolReader,
    terminal: &Terminal,
) -> Result<MarkdownIndex> {
    let mut builder = MarkdownIndex::builder();
    each_piece(reader, "reading the headings", terminal, |bytes| builder.push(bytes)).await?;
    Ok(builder.finish())
}

/// Hands on the bytes of a file, a megabyte at a time.
pub(super) async fn each_piece(
    reader: &FileSpoolReader,
    what: &str,
    terminal: &Terminal,
    mut take: impl FnMut(&[u8]) + Send,
) -> Result<()> {
    let bar = terminal.bar(what, Some(reader.byte_length()));
    let mut at = 0;
    loop {
        let bytes = reader.read_at(at, 1 << 20).await?;
        if bytes.is_empty() {
            return Ok(());
        }
        at += bytes.len() as u64;
        take(&bytes);
        bar.at(at);
    }
}

/// Prints the headings of Markdown, each with its line.
pub(super) async fn headings(
    reader: &FileSpoolReader,
    as_json: bool,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let index = outline(reader, terminal).await?;
    let mut out = BufWriter::new(stdout());
    for heading in index.headings() {
        let (line, depth) = (heading.start_line + 1, usize::from(heading.depth));
        if as_json {
            let end = heading.end_line + 1;
            let object = json!({"line": line, "end": end, "depth": depth, "text": heading.text});
            writeln!(out, "{object}")?;
        } else {
            let number = terminal.out(Tone::Good, line.to_string());
            writeln!(out, "{number}:{} {}", "#".repeat(depth), terminal.shown(&heading.text))?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a section of Markdown.
pub(super) async fn section(
    reader: &FileSpoolReader,
    title: &str,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let index = outline(reader, terminal).await?;
    let Some(section) = index.section_titled(title) else {
        let wanted = title.to_lowercase();
        let near = index.headings().iter().find(|it| it.text.to_lowercase().contains(&wanted));
        let failure =
            Failure::new(format!("no section is titled `{title}`")).code(Code::NothingFound);
        let hint = near.map_or_else(
            || "`haft artifact md headings FILE` lists them".to_owned(),
            |it| format!("there is `{}`", it.text),
        );
        return Err(failure.hint(hint).into());
    };
    let (start, end) = (section.heading_line as u64, section.body_end_line as u64 + 1);
    print(&TextView::new(Arc::new(reader.clone())), start, end, terminal).await
}
