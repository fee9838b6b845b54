//! Fenced code blocks, as `CommonMark` has them.

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

/// The longest line that opens a fence, in bytes.
const MAX_OPENING: usize = 1024;
