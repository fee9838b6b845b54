//! Reasoning that models write into their text, between `<think>` and `</think>`.

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::text_calls::partial_marker_len;

/// Separates reasoning from text while both arrive. Only text that could be the beginning of a tag is held back.
///
/// Most servers return reasoning in a separate field. Those that do not know the template of a model leave it in the text,
/// between `<think>` and `</think>` or `<thinking>` and `</thinking>`.
///
/// - All text after an opening tag is reasoning, even if no closing tag follows.
/// - A closing tag without an opening one is dropped, and the text before it stays text: it was shown already.
/// - White space is passed on unchanged.
///
/// ```
/// use haft_providers::internals::{ReasoningFilter, ReasoningPiece};
///
/// let mut filter = ReasoningFilter::new();
/// assert_eq!(filter.feed("<think>so</th"), [ReasoningPiece::Reasoning("so")]);
/// assert_eq!(filter.feed("ink>Yes, 1 <"), [ReasoningPiece::Text("Yes, 1 ")]);
/// assert_eq!(filter.feed(" 2"), [ReasoningPiece::Text("< 2")]);
/// assert_eq!(filter.finish(), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReasoningFilter {
    /// The closing tag that ends the reasoning, if this is reasoning.
    inside: Option<&'static str>,
    buf: String,
    /// How much of `buf` has been handed out.
    done: usize,
}

/// A part of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningPiece<'a> {
    /// A part of the visible text.
    Text(&'a str),
    /// A part of the reasoning.
    Reasoning(&'a str),
}

/// A tag around reasoning.
#[derive(Clone, Copy)]
enum Tag {
    /// The tag that opens, and the one that closes.
    Open(&'static str, &'static str),
    Close(&'static str),
}

impl ReasoningFilter {
    /// A filter for one output.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece of the output and gives what is known of it, in order.
    pub fn feed(&mut self, delta: &str) -> Vec<ReasoningPiece<'_>> {
        self.buf.drain(..self.done);
        self.buf.push_str(delta);
        self.done = 0;
        let mut found = Vec::new();
        while let Some((at, tag)) = self.next_tag() {
            found.push((self.inside.is_some(), self.done..at));
            self.done = at + tag.text().len();
            self.inside = match tag {
                Tag::Open(_, close) => Some(close),
                Tag::Close(_) => None,
            };
        }
        let end = self.buf.len() - self.held_back();
        found.push((self.inside.is_some(), self.done..end));
        self.done = end;
        found.into_iter().filter_map(|(inside, range)| self.piece(inside, range)).collect()
    }

    /// Ends the output: what was held back, because it could have become a tag.
    #[must_use]
    pub fn finish(&mut self) -> Option<ReasoningPiece<'_>> {
        let start = std::mem::replace(&mut self.done, self.buf.len());
        self.piece(self.inside.is_some(), start..self.buf.len())
    }

    fn piece(&self, is_reasoning: bool, range: Range<usize>) -> Option<ReasoningPiece<'_>> {
        let text = self.buf.get(range).filter(|it| !it.is_empty())?;
        Some(if is_reasoning {
            ReasoningPiece::Reasoning(text)
        } else {
            ReasoningPiece::Text(text)
        })
    }

    /// The next tag that counts here.
    fn next_tag(&self) -> Option<(usize, Tag)> {
        let rest = self.buf.get(self.done..)?;
        let (at, tag) = match self.inside {
            Some(close) => (rest.find(close)?, Tag::Close(close)),
            None => memchr::memchr_iter(b'<', rest.as_bytes()).find_map(|at| {
                let here = rest.get(at..)?;
                Some((at, tags().find(|tag| here.starts_with(tag.text()))?))
            })?,
        };
        Some((self.done + at, tag))
    }

    /// How many bytes at the end could be the beginning of a tag that counts here.
    fn held_back(&self) -> usize {
        let held = |tag: &str| partial_marker_len(&self.buf, self.done, tag);
        match self.inside {
            Some(close) => held(close),
            None => tags().map(|tag| held(tag.text())).max().unwrap_or(0),
        }
    }
}

impl Tag {
    const fn text(self) -> &'static str {
        match self {
            Self::Open(text, _) | Self::Close(text) => text,
        }
    }
}

/// The tags that count in the visible text.
fn tags() -> impl Iterator<Item = Tag> {
    PAIRS.into_iter().flat_map(|(open, close)| [Tag::Open(open, close), Tag::Close(close)])
}

const PAIRS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];
