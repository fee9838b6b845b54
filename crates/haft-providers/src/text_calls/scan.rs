//! Finding calls in a text that may still arrive.

use haft_core::invariant::OrReport as _;

use super::TextCall;
use super::cursor::{Cursor, ParseStop};
use super::deepseek::{self, DeepSeek};
use super::fence::{Fence, FenceOpening, LineEnds};
use super::json_call::call_of;
use super::kimi_k2;
use super::qwen3_coder::Qwen3Coder;

/// Whether the text is all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Whole,
    /// More may come: what is decided must hold whatever comes.
    Partial,
}

/// Calls, and which part of the text they are.
#[derive(Debug)]
pub(super) struct CallSpan {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) calls: Vec<TextCall>,
}

/// What a candidate turned out to be: calls and the place behind them, or the reason why there are none.
pub(super) type CallReading = Result<(usize, Vec<TextCall>), ParseStop>;

/// One pass over a text that leaves out fenced code. It can be continued when more of the text is there.
#[derive(Debug, Default)]
pub(super) struct CallScan {
    qwen3_coder: Qwen3Coder,
    deepseek: DeepSeek,
    /// Everything before is decided.
    at: usize,
    place: ScanPosition,
    lines: LineEnds,
    /// How long to wait before a candidate that needs more text is read again from its beginning: until it
    /// has grown by a part of its length, so that all readings together stay linear.
    reread_at: usize,
    pub(super) spans: Vec<CallSpan>,
}

#[derive(Clone, Copy, Debug, Default)]
enum ScanPosition {
    #[default]
    LineStart,
    InLine,
    Fence(Fence),
}

/// One line, or what there is of it.
#[derive(Clone, Copy)]
struct ScanLine {
    end: usize,
    is_complete: bool,
}

impl CallScan {
    /// How much of `text` is decided: calls in there are known, and none begins in there that ends later.
    pub(super) fn decided(&self, text: &str) -> usize {
        if matches!(self.place, ScanPosition::Fence(_)) { text.len() } else { self.at }
    }

    /// Continues with `text`, which begins with the text of the last scan.
    pub(super) fn run(&mut self, text: &str, input: Input) {
        if input == Input::Partial && text.len() < self.reread_at {
            return;
        }
        while self.at < text.len() {
            let end = self.lines.after(text, self.at);
            let line = ScanLine {
                end: end.unwrap_or(text.len()),
                is_complete: end.is_some() || input == Input::Whole,
            };
            let at = self.at;
            let rest_of_line = || {
                text.get(at..line.end).or_report_default("a line begins and ends within the text")
            };
            match self.place {
                ScanPosition::Fence(_) if !line.is_complete => return,
                ScanPosition::Fence(fence) => {
                    if fence.is_closed_by(rest_of_line()) {
                        self.place = ScanPosition::LineStart;
                    }
                    self.at = line.end;
                }
                ScanPosition::LineStart => match Fence::opening(rest_of_line(), line.is_complete) {
                    FenceOpening::Maybe => return,
                    FenceOpening::No => self.place = ScanPosition::InLine,
                    FenceOpening::Yes(fence) => {
                        self.place = ScanPosition::Fence(fence);
                        self.at = line.end;
                    }
                },
                ScanPosition::InLine => {
                    if !self.line(text, line, input) {
                        return;
                    }
                }
            }
        }
    }

    /// Looks for calls in the rest of a line; false if more text is needed.
    fn line(&mut self, text: &str, line: ScanLine, input: Input) -> bool {
        while self.at < line.end {
            let Some((start, marker)) = find_marker(text, self.at, line.end) else { break };
            let inner = start + marker.len();
            match self.read_candidate(Cursor::new(text, inner), marker, input) {
                Ok((end, calls)) => {
                    self.at = end;
                    self.spans.push(CallSpan { start, end, calls });
                }
                Err(ParseStop::Incomplete) if input == Input::Partial => {
                    let pending = text.len() - start;
                    self.at = start;
                    self.reread_at = text.len() + if pending < 64 { 1 } else { pending / 8 };
                    return false;
                }
                Err(_) => self.at = inner,
            }
        }
        if self.at > line.end {
            return true;
        }
        if line.is_complete {
            self.at = line.end;
            self.place = ScanPosition::LineStart;
            return true;
        }
        let held = MARKERS.iter().map(|marker| partial_marker_len(text, self.at, marker)).max();
        self.at = text.len() - held.unwrap_or_default();
        false
    }

    /// Reads the candidate whose marker ends at the cursor.
    fn read_candidate(&mut self, mut at: Cursor<'_>, marker: &str, input: Input) -> CallReading {
        match marker {
            kimi_k2::OPEN => kimi_k2::read_section(at),
            deepseek::OPEN | deepseek::OPEN_V4 => self.deepseek.read_block(at, input),
            _ => {
                at.skip_space();
                match at.peek_required()? {
                    '{' => read_json_call(at),
                    _ => self.qwen3_coder.read_call(at, input),
                }
            }
        }
    }
}

/// Reads `{"name": "f", "arguments": {}}</tool_call>`.
fn read_json_call(mut at: Cursor<'_>) -> CallReading {
    let object = at.read_object()?;
    at.skip_space();
    at.expect(CLOSE)?;
    let call = call_of(object).ok_or(ParseStop::Mismatch)?;
    Ok((at.at, vec![call]))
}

/// Where the first marker begins in `text[from..to]`, which is within one line.
fn find_marker(text: &str, from: usize, to: usize) -> Option<(usize, &'static str)> {
    let bytes = text.as_bytes().get(from..to)?;
    memchr::memchr_iter(b'<', bytes).find_map(|at| {
        let rest = bytes.get(at..)?;
        let marker = MARKERS.iter().find(|marker| rest.starts_with(marker.as_bytes()))?;
        Some((from + at, *marker))
    })
}

/// How many bytes at the end of `text[from..]` are the beginning of `marker`, but not all of it.
pub(crate) fn partial_marker_len(text: &str, from: usize, marker: &str) -> usize {
    let Some(tail) = text.as_bytes().get(from..) else { return 0 };
    let longest = tail.len().min(marker.len() - 1);
    (1..=longest)
        .rev()
        .find(|len| marker.as_bytes().get(..*len).is_some_and(|it| tail.ends_with(it)))
        .unwrap_or(0)
}

const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";

/// What a call begins with. Every marker begins with `<` and contains no other one.
const MARKERS: [&str; 4] = [OPEN, kimi_k2::OPEN, deepseek::OPEN, deepseek::OPEN_V4];
