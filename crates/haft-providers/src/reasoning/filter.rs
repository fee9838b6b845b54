//! Telling reasoning from text while both arrive.

use std::ops::Range;

use super::ReasoningFormat;
use super::tags::{GEMMA, HARMONY, THINK, Tag, TagPair, next_tag};
use crate::text_calls::partial_marker_len;

/// Separates reasoning from text while both arrive. Only text that could be the beginning of a tag is held back.
///
/// Text that was shown cannot be withdrawn, so the filter differs from [`ReasoningFormat::split`]:
///
/// - A closing tag without an opening one is dropped, and the text before it stays text;
///   [`has_lone_close`](Self::has_lone_close) reports that this happened. If the prompt ended with the opening tag, as
///   in many templates, begin with [`ReasoningFilter::inside_reasoning`] and nothing is lost.
/// - All text after an opening tag is reasoning, even if no closing tag follows.
/// - [`ReasoningFormat::Auto`] is decided by the first opening tag.
/// - White space is passed on unchanged.
///
/// ```
/// use haft_providers::internals::{ReasoningPiece, ReasoningFilter, ReasoningFormat};
///
/// let mut filter = ReasoningFilter::new(ReasoningFormat::ThinkTag);
/// assert_eq!(filter.feed("<think>so</th"), [ReasoningPiece::Reasoning("so")]);
/// assert_eq!(filter.feed("ink>Yes, 1 <"), [ReasoningPiece::Text("Yes, 1 ")]);
/// assert_eq!(filter.feed(" 2"), [ReasoningPiece::Text("< 2")]);
/// assert_eq!(filter.finish(), None);
/// ```
#[derive(Clone, Debug)]
pub struct ReasoningFilter {
    pairs: &'static [TagPair],
    /// The pair whose opening tag was the last one.
    inside: Option<TagPair>,
    buf: String,
    /// How much of `buf` has been handed out.
    done: usize,
    has_lone_close: bool,
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

impl ReasoningFilter {
    /// A filter for one output that begins as text.
    #[must_use]
    pub fn new(format: ReasoningFormat) -> Self {
        Self {
            pairs: format.pairs(),
            inside: None,
            buf: String::new(),
            done: 0,
            has_lone_close: false,
        }
    }

    /// A filter for one output that begins as reasoning, because the opening tag is in the prompt.
    /// [`ReasoningFormat::Auto`] takes it to be `<think>`.
    #[must_use]
    pub fn inside_reasoning(format: ReasoningFormat) -> Self {
        let mut it = Self::new(format);
        if let Some(pair) = it.pairs.first() {
            it.open(*pair);
        }
        it
    }

    /// Whether there was a closing tag without an opening one: the text before it may have been reasoning.
    #[must_use]
    pub fn has_lone_close(&self) -> bool {
        self.has_lone_close
    }

    /// Takes the next piece of the output and gives what is known of it, in order.
    pub fn feed(&mut self, delta: &str) -> Vec<ReasoningPiece<'_>> {
        self.buf.drain(..self.done);
        self.buf.push_str(delta);
        self.done = 0;
        let mut found = Vec::new();
        while let Some((at, tag)) = self.next() {
            found.push((self.inside.is_some(), self.done..at));
            self.done = at + tag.text().len();
            match (tag, self.inside) {
                (Tag::Open(pair), _) => self.open(pair),
                (Tag::Close(_), Some(_)) => self.inside = None,
                (Tag::Close(_), None) => self.has_lone_close = true,
            }
        }
        let end = self.buf.len() - self.held();
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

    fn open(&mut self, pair: TagPair) {
        self.inside = Some(pair);
        let family = [THINK, HARMONY, GEMMA].into_iter().find(|it| it.contains(&pair));
        self.pairs = family.unwrap_or(self.pairs);
    }

    /// The next tag that counts here.
    fn next(&self) -> Option<(usize, Tag)> {
        match self.inside {
            None => next_tag(&self.buf, self.done, self.pairs),
            Some(pair) => {
                let at = self.buf.get(self.done..)?.find(pair.close)?;
                Some((self.done + at, Tag::Close(pair)))
            }
        }
    }

    /// How many bytes at the end could be the beginning of a tag that counts here.
    fn held(&self) -> usize {
        let held = |tag: &str| partial_marker_len(&self.buf, self.done, tag);
        match self.inside {
            Some(pair) => held(pair.close),
            None => {
                self.pairs.iter().map(|it| held(it.open).max(held(it.close))).max().unwrap_or(0)
            }
        }
    }
}
