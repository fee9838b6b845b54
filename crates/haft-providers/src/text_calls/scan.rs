//! Finding calls in a text that may still arrive.

use std::fmt;

use haft_core::invariant::OrReport as _;

use super::TextCall;
use super::cursor::ParseStop;
use super::fence::{Fence, FenceOpening, LineEnds};

/// Whether the text is all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Whole,
    /// More may come: what is decided must hold whatever comes.
    Partial,
}

/// What a candidate turned out to be.
#[derive(Debug)]
pub(super) enum GrammarReading {
    /// Calls, and where their text ends.
    Calls(usize, Vec<TextCall>),
    /// No call; the search continues at this position.
    Declined(usize),
    /// More text is needed. Only for [`Input::Partial`].
    More,
}

/// Calls that can stand anywhere in a text.
pub(super) trait InlineGrammar: fmt::Debug + Send + Sync {
    /// Where the first candidate begins in `text[from..to]`, which is within one line.
    fn find_candidate(&self, text: &str, from: usize, to: usize) -> Option<usize>;

    /// Reads the candidate at `start`.
    fn read_candidate(&mut self, text: &str, start: usize, input: Input) -> GrammarReading;

    /// How many bytes at the end of `text[from..]` could be the beginning of a candidate.
    fn held_back(&self, text: &str, from: usize) -> usize;
}

/// Calls that are a whole output.
pub(super) trait WholeGrammar: fmt::Debug + Send + Sync {
    /// Reads an output. Never gives [`GrammarReading::Calls`] for [`Input::Partial`].
    fn read_output(&self, text: &str, input: Input) -> GrammarReading;
}

/// One way of writing calls.
#[derive(Debug)]
pub(super) enum Grammar {
    Inline(GrammarScan),
    Whole(Box<dyn WholeGrammar>),
}

/// Calls, and which part of the text they are.
#[derive(Debug)]
pub(super) struct CallSpan {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) calls: Vec<TextCall>,
}

impl Grammar {
    pub(super) fn inline(grammar: impl InlineGrammar + 'static) -> Self {
        Self::Inline(GrammarScan::new(Box::new(grammar)))
    }

    pub(super) fn whole(grammar: impl WholeGrammar + 'static) -> Self {
        Self::Whole(Box::new(grammar))
    }

    /// The calls of a whole text.
    pub(super) fn spans(self, text: &str) -> Vec<CallSpan> {
        match self {
            Self::Inline(mut scan) => {
                scan.run(text, Input::Whole);
                scan.spans
            }
            Self::Whole(grammar) => match grammar.read_output(text, Input::Whole) {
                GrammarReading::Calls(_, calls) if !calls.is_empty() => {
                    vec![CallSpan { start: 0, end: text.len(), calls }]
                }
                _ => Vec::new(),
            },
        }
    }
}

/// One pass over a text that leaves out fenced code. It can be continued when more of the text is there.
#[derive(Debug)]
pub(super) struct GrammarScan {
    grammar: Box<dyn InlineGrammar>,
    /// Everything before is decided.
    at: usize,
    place: ScanPosition,
    lines: LineEnds,
    threshold: RereadThreshold,
    pub(super) spans: Vec<CallSpan>,
}

#[derive(Clone, Copy, Debug)]
enum ScanPosition {
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

impl GrammarScan {
    pub(super) fn new(grammar: Box<dyn InlineGrammar>) -> Self {
        Self {
            grammar,
            at: 0,
            place: ScanPosition::LineStart,
            lines: LineEnds::default(),
            threshold: RereadThreshold::default(),
            spans: Vec::new(),
        }
    }

    /// How much of `text` is decided: calls in there are known, and none begins in there that ends later.
    pub(super) fn decided(&self, text: &str) -> usize {
        if matches!(self.place, ScanPosition::Fence(_)) { text.len() } else { self.at }
    }

    /// Continues with `text`, which begins with the text of the last scan.
    pub(super) fn run(&mut self, text: &str, input: Input) {
        if self.threshold.lasts(text, input) {
            return;
        }
        while self.at < text.len() {
            let end = self.lines.after(text, self.at);
            let line = ScanLine {
                end: end.unwrap_or(text.len()),
                is_complete: end.is_some() || input == Input::Whole,
            };
            let at = self.at;
            // Only for the places where a line begins: a candidate that was declined may end within a character.
            let whole_line = || {
                text.get(at..line.end).or_report_default("a line begins and ends within the text")
            };
            match self.place {
                ScanPosition::Fence(_) if !line.is_complete => return,
                ScanPosition::Fence(fence) => {
                    if fence.is_closed_by(whole_line()) {
                        self.place = ScanPosition::LineStart;
                    }
                    self.at = line.end;
                }
                ScanPosition::LineStart => match Fence::opening(whole_line(), line.is_complete) {
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
            let Some(start) = self.grammar.find_candidate(text, self.at, line.end) else {
                break;
            };
            match self.grammar.read_candidate(text, start, input) {
                GrammarReading::Calls(end, calls) => {
                    self.at = end;
                    self.spans.push(CallSpan { start, end, calls });
                }
                GrammarReading::Declined(resume) => self.at = resume.max(start + 1),
                GrammarReading::More => {
                    self.at = start;
                    self.threshold.wait(text.len(), text.len() - start);
                    return false;
                }
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
        self.at = text.len() - self.grammar.held_back(text, self.at);
        false
    }
}

/// How long to wait before a candidate that needs more text is read again from its beginning: until it
/// has grown by a part of its length, so that all readings together stay linear.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RereadThreshold(usize);

impl RereadThreshold {
    pub(super) fn lasts(self, text: &str, input: Input) -> bool {
        input == Input::Partial && text.len() < self.0
    }

    pub(super) fn wait(&mut self, len: usize, pending: usize) {
        self.0 = len + if pending < 64 { 1 } else { pending / 8 };
    }
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

/// Where `marker` begins in `text[from..to]`.
pub(super) fn find(text: &str, from: usize, to: usize, marker: &str) -> Option<usize> {
    Some(from + memchr::memmem::find(text.as_bytes().get(from..to)?, marker.as_bytes())?)
}

/// The result of a reading that ended in this way.
pub(super) fn finish_reading(
    read: Result<(usize, Vec<TextCall>), ParseStop>,
    resume: usize,
    input: Input,
) -> GrammarReading {
    match read {
        Ok((end, calls)) if !calls.is_empty() => GrammarReading::Calls(end, calls),
        Err(ParseStop::Incomplete) if input == Input::Partial => GrammarReading::More,
        _ => GrammarReading::Declined(resume),
    }
}
