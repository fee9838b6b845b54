//! Prints lines of a file page by page, so that a file of any size needs little memory.

use std::io::{BufWriter, IsTerminal as _, Write as _, stdout};
use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::Result;
use haft::artifacts::Budget;
use haft::artifacts::text::{GrepOptions, PageLimit, TextLine, TextView};
use haft::stores::SpoolReader;

use crate::args::GrepArgs;
use crate::output::{MatchLine, to_line};
use crate::standard_output::StandardOutput;
use crate::terminal::{Terminal, TextRole, print_line};
use crate::user_error::FailureCode;

/// How much is read at once.
fn page_budget() -> Budget {
    let lines = NonZeroUsize::MIN.saturating_add(16_383);
    Budget::new().lines(lines).bytes(1 << 20).line_bytes(1 << 20)
}

/// How much of a line is shown on a terminal, in bytes.
const MAX_SHOWN_BYTES: usize = 16 * 1024;

fn is_terminal() -> bool {
    stdout().is_terminal()
}

/// Counts the lines as `wc` and editors do: the text after the last line end counts only if it is not empty.
pub(in crate::commands) async fn count_lines(view: &TextView) -> Result<u64> {
    let count = view.count_lines().await?;
    let Some(last) = count.checked_sub(1) else { return Ok(0) };
    let is_empty = view.read_line_part(last, ..).await?.is_none_or(|last| last.bytes == 0);
    Ok(if is_empty { last } else { count })
}

/// Prints the lines of a range.
pub(in crate::commands) async fn print_lines(
    view: &TextView,
    start: u64,
    end: u64,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let view = view.clone().budget(page_budget());
    let mut out = BufWriter::new(StandardOutput);
    let mut next = Some(start);
    while let Some(start) = next.take() {
        let page = view.cat(start..end).await?;
        for line in &page.lines {
            write_whole_line(&view, line, &mut out, terminal).await?;
            out.write_all(b"\n")?;
        }
        next = page.next.map(|next| next.start);
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a line, even if it is longer than a page. On a terminal, only the start of a long line is written.
async fn write_whole_line(
    view: &TextView,
    line: &TextLine,
    out: &mut impl std::io::Write,
    terminal: &Terminal,
) -> Result<()> {
    if is_terminal() && line.text.len() > MAX_SHOWN_BYTES {
        let shown = line.text.get(..line.text.floor_char_boundary(MAX_SHOWN_BYTES));
        out.write_all(terminal.sanitize_for_stdout(shown.unwrap_or_default()).as_bytes())?;
        let note = format!("… ({} bytes; redirect the output to get the whole line)", line.bytes);
        out.write_all(terminal.style_stdout(TextRole::Muted, note).as_bytes())?;
        return Ok(());
    }
    if !line.truncated {
        out.write_all(terminal.sanitize_for_stdout(&line.text).as_bytes())?;
        return Ok(());
    }
    let mut at = 0;
    while let Some(part) = view.read_line_part(line.number, at..).await? {
        out.write_all(terminal.sanitize_for_stdout(&part.text).as_bytes())?;
        match part.next {
            Some(next) => at = next.start,
            None => break,
        }
    }
    Ok(())
}

/// The options of the search from a line on, if `found` matches were printed before it.
fn grep_options(args: &GrepArgs, start: u64, found: usize) -> GrepOptions {
    let mut options = GrepOptions::new().start_line(start);
    options.ignore_case = args.ignore_case;
    if !args.count {
        options = options.context(args.context, args.context);
    }
    match args.limit {
        Some(limit) => options.max_matches(limit.get() - found),
        None => options,
    }
}

/// Prints the lines that match a pattern, or their number.
pub(super) async fn print_matches(
    view: &TextView,
    args: &GrepArgs,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let view = view.clone().budget(page_budget());
    let mut out = BufWriter::new(StandardOutput);
    let (mut found, mut start, mut unsearched) = (0_usize, 0, 0);
    let mut last = None;
    loop {
        let page = view.grep(&args.pattern, grep_options(args, start, found)).await?;
        unsearched += page.unsearched_lines;
        for line in &page.lines {
            found += usize::from(!line.context);
            if args.count {
                continue;
            }
            if args.json {
                let (number, context) = (line.number + 1, line.context);
                let line = MatchLine { line: number, text: &line.text, context };
                write!(out, "{}", to_line(&line)?)?;
                continue;
            }
            if args.context > 0 && last.is_some_and(|last| line.number > last + 1) {
                writeln!(out, "{}", terminal.style_stdout(TextRole::Muted, "--"))?;
            }
            last = Some(line.number);
            let mark = if line.context { '-' } else { ':' };
            let number = terminal.style_stdout(TextRole::Success, (line.number + 1).to_string());
            writeln!(out, "{number}{mark}{}", terminal.sanitize_for_stdout(&line.text))?;
        }
        let is_limit_reached = args.limit.is_some_and(|limit| found >= limit.get());
        match page.next {
            Some(next) if !is_limit_reached && next.limit != PageLimit::Matches => {
                start = next.start
            }
            _ => break,
        }
    }
    if args.count {
        writeln!(out, "{found}")?;
    }
    out.flush()?;
    if unsearched > 0 {
        print_line(format_args!(
            "{unsearched} lines were skipped because they are too long to search"
        ));
    }
    Ok(if found > 0 || args.count { ExitCode::SUCCESS } else { FailureCode::NotFound.into() })
}

/// Passes the bytes of a file to a function, one megabyte at a time, and shows the progress.
pub(super) async fn for_each_chunk(
    reader: &dyn SpoolReader,
    label: &str,
    terminal: &Terminal,
    mut consume: impl FnMut(&[u8]) + Send,
) -> Result<()> {
    let progress = terminal.start_byte_progress(label, Some(reader.byte_length()));
    let mut at = 0;
    loop {
        let bytes = reader.read_at(at, 1 << 20).await?;
        if bytes.is_empty() {
            return Ok(());
        }
        at += bytes.len() as u64;
        consume(&bytes);
        progress.set_position(at);
    }
}
