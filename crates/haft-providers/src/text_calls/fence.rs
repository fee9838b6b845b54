//! Fenced code blocks, as `CommonMark` has them.

use std::ops::Range;

use haft_core::invariant::OrReport as _;

use super::scan::Input;

/// An open fence: three or more backticks or tildes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    mark: u8,
    len: usize,
}

/// What a line is to fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FenceOpening {
    Yes(Fence),
    No,
    /// The line is not complete.
    Maybe,
}

impl Fence {
    /// Whether `line` opens a fence. `is_complete` is false when more of it may come.
    pub(super) fn opening(line: &str, is_complete: bool) -> FenceOpening {
        let inner = line.trim_start_matches(' ');
        if line.len() - inner.len() > 3 || line.len() > MAX_OPENING {
            return FenceOpening::No;
        }
        let undecided = if is_complete { FenceOpening::No } else { FenceOpening::Maybe };
        let mark = match inner.as_bytes().first() {
            None => return undecided,
            Some(mark @ (b'`' | b'~')) => *mark,
            Some(_) => return FenceOpening::No,
        };
        let info = inner.trim_start_matches(char::from(mark));
        let len = inner.len() - info.len();
        if len < 3 {
            return if info.is_empty() { undecided } else { FenceOpening::No };
        }
        if mark == b'`' && info.contains('`') {
            return FenceOpening::No;
        }
        if is_complete { FenceOpening::Yes(Self { mark, len }) } else { FenceOpening::Maybe }
    }

    pub(super) fn is_closed_by(self, line: &str) -> bool {
        let inner = line.trim_start_matches(' ');
        let rest = inner.trim_start_matches(char::from(self.mark));
        line.len() - inner.len() <= 3
            && inner.len() - rest.len() >= self.len
            && rest.trim().is_empty()
    }

    /// True when `line`, which is not complete, may become the one that closes the fence.
    pub(super) fn may_be_closed_by(self, line: &str) -> bool {
        line.trim().bytes().all(|it| it == self.mark)
    }
}

/// Finds the ends of lines in a text that grows, without looking twice at any byte.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LineEnds {
    searched: usize,
}

impl LineEnds {
    /// The place behind the line that begins at `at`, or `None` if it has no end yet.
    pub(super) fn after(&mut self, text: &str, at: usize) -> Option<usize> {
        let from = self.searched.max(at);
        let end = memchr::memchr(b'\n', text.as_bytes().get(from..)?);
        // A line that was found is asked for again when only a part of it was dealt with.
        self.searched = end.map_or(text.len(), |it| from + it);
        end.map(|it| from + it + 1)
    }
}

/// Whether an output begins with a fence, and whether there is anything else. Can be asked again when
/// more of the output is there.
#[derive(Clone, Debug, Default)]
pub(super) struct LeadingFence {
    state: LeadingState,
    /// Everything before has been looked at.
    at: usize,
    lines: LineEnds,
}

#[derive(Clone, Debug, Default)]
enum LeadingState {
    /// Nothing but white space so far, and perhaps a part of an opening line.
    #[default]
    Start,
    /// White space that is too much for a line that opens a fence.
    Indented,
    Open {
        fence: Fence,
        inner: usize,
    },
    /// Nothing but white space behind the closing line.
    Closed {
        inner: Range<usize>,
    },
    /// Something else.
    No,
}

/// The state of a fence around a whole output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FenceContent {
    /// It is not known whether there is a fence.
    Unknown,
    /// There is none, or there is more.
    None,
    /// It is open.
    Open(Fence, usize),
    /// It has ended, and nothing has followed so far.
    Closed(Range<usize>),
}

impl LeadingFence {
    /// For a whole output.
    pub(super) fn of(text: &str) -> Self {
        let mut it = Self::default();
        it.advance(text, Input::Whole);
        it
    }

    /// The range of the content of a fence that is the whole output.
    pub(super) fn whole_fence(&self, text: &str) -> Option<Range<usize>> {
        match &self.state {
            LeadingState::Closed { inner } if inner.end <= text.len() => Some(inner.clone()),
            _ => None,
        }
    }

    pub(super) fn inner(&self) -> FenceContent {
        match &self.state {
            LeadingState::Start | LeadingState::Indented => FenceContent::Unknown,
            LeadingState::No => FenceContent::None,
            LeadingState::Open { fence, inner } => FenceContent::Open(*fence, *inner),
            LeadingState::Closed { inner } => FenceContent::Closed(inner.clone()),
        }
    }

    /// Looks at what has come since. `text` begins as it did before.
    pub(super) fn advance(&mut self, text: &str, input: Input) {
        while self.at < text.len() && !matches!(self.state, LeadingState::No) {
            let end = self.lines.after(text, self.at);
            let is_complete = end.is_some() || input == Input::Whole;
            let next = end.unwrap_or(text.len());
            let line =
                text.get(self.at..next).or_report_default("a line begins and ends within the text");
            match &self.state {
                LeadingState::No => return,
                LeadingState::Start | LeadingState::Indented
                    if line.trim().is_empty() && is_complete =>
                {
                    self.state = LeadingState::Start;
                }
                LeadingState::Start if line.trim().is_empty() && line.len() <= 3 => return,
                LeadingState::Start if line.trim().is_empty() => {
                    self.state = LeadingState::Indented
                }
                LeadingState::Indented if line.trim().is_empty() => {}
                LeadingState::Indented => self.state = LeadingState::No,
                LeadingState::Start => match Fence::opening(line, is_complete) {
                    FenceOpening::Yes(fence) => {
                        self.state = LeadingState::Open { fence, inner: next }
                    }
                    FenceOpening::No => self.state = LeadingState::No,
                    FenceOpening::Maybe => return,
                },
                LeadingState::Open { .. } if !is_complete => return,
                LeadingState::Open { fence, inner } => {
                    if fence.is_closed_by(line) {
                        self.state = LeadingState::Closed { inner: *inner..self.at };
                    }
                }
                LeadingState::Closed { .. } => {
                    if !line.trim().is_empty() {
                        self.state = LeadingState::No;
                    }
                }
            }
            self.at = next;
        }
    }
}

/// The longest line that opens a fence, in bytes.
const MAX_OPENING: usize = 1024;
