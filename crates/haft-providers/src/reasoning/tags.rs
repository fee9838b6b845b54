//! The tags around reasoning.

/// The tags around reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TagPair {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// Text that has this before the closing tag belongs to something else that ends in the same way.
    other: Option<&'static str>,
}

impl TagPair {
    /// True when the text before a closing tag is not reasoning.
    pub(super) fn is_other(self, before: &str) -> bool {
        self.other.is_some_and(|it| before.contains(it))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Open(TagPair),
    Close(TagPair),
}

impl Tag {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Open(pair) => pair.open,
            Self::Close(pair) => pair.close,
        }
    }
}

/// The first tag at or behind `from`, and where it begins.
pub(super) fn next_tag(text: &str, from: usize, pairs: &[TagPair]) -> Option<(usize, Tag)> {
    let bytes = text.as_bytes().get(from..)?;
    memchr::memchr_iter(b'<', bytes).find_map(|at| {
        let rest = bytes.get(at..)?;
        let tags = pairs.iter().flat_map(|it| [Tag::Open(*it), Tag::Close(*it)]);
        let mut found = tags.filter(|it| rest.starts_with(it.text().as_bytes()));
        found.next().map(|tag| (from + at, tag))
    })
}

const fn pair(open: &'static str, close: &'static str) -> TagPair {
    TagPair { open, close, other: None }
}

/// Every message of this format ends with `<|end|>`, those of other channels too.
const ANALYSIS: TagPair = TagPair {
    open: "<|channel|>analysis<|message|>",
    close: "<|end|>",
    other: Some("<|channel|>"),
};

const THOUGHT: TagPair = pair("<|channel>thought", "<channel|>");

pub(super) const THINK: &[TagPair] =
    &[pair("<think>", "</think>"), pair("<thinking>", "</thinking>")];
pub(super) const HARMONY: &[TagPair] = &[ANALYSIS];
pub(super) const GEMMA: &[TagPair] = &[THOUGHT];
pub(super) const ALL: &[TagPair] =
    &[pair("<think>", "</think>"), pair("<thinking>", "</thinking>"), ANALYSIS, THOUGHT];
