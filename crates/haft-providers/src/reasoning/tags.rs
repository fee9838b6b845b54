//! The tags around reasoning.

/// What reasoning stands between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// Text that has this before the closing tag belongs to something else that ends in the same way.
    other: Option<&'static str>,
}

impl Pair {
    /// True when the text before a closing tag is not reasoning.
    pub(super) fn is_other(self, before: &str) -> bool {
        self.other.is_some_and(|it| before.contains(it))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Open(Pair),
    Close(Pair),
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
pub(super) fn next_tag(text: &str, from: usize, pairs: &[Pair]) -> Option<(usize, Tag)> {
    let bytes = text.as_bytes().get(from..)?;
    memchr::memchr_iter(b'<', bytes).find_map(|at| {
        let rest = bytes.get(at..)?;
        let tags = pairs.iter().flat_map(|it| [Tag::Open(*it), Tag::Close(*it)]);
        let mut found = tags.filter(|it| rest.starts_with(it.text().as_bytes()));
        found.next().map(|tag| (from + at, tag))
    })
}

const fn pair(open: &'static str, close: &'static str) -> Pair {
    Pair { open, close, other: None }
}

/// Every message of this format ends with `<|end|>`, those of other channels too.
const ANALYSIS: Pair =
    Pair { open: "<|channel|>analysis<|message|>", close: "<|end|>", other: Some("<|channel|>") };

const THOUGHT: Pair = pair("<|channel>thought", "<channel|>");

pub(super) const THINK: &[Pair] = &[pair("<think>", "</think>"), pair("<thinking>", "</thinking>")];
pub(super) const HARMONY: &[Pair] = &[ANALYSIS];
pub(super) const GEMMA: &[Pair] = &[THOUGHT];
pub(super) const ALL: &[Pair] =
    &[pair("<think>", "</think>"), pair("<thinking>", "</thinking>"), ANALYSIS, THOUGHT];
