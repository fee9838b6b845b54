//! A parsed path.

use haft_core::invariant::OrReport as _;
use haft_core::json::Document;

use super::PathStep;
use super::pattern::FilterPattern;

/// One segment: selectors applied to the children of a value, or also to those of all values below.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) reach: SegmentReach,
    /// At least one.
    pub(crate) selectors: Vec<Selector>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentReach {
    Children,
    Descendants,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Selector {
    Step(PathStep),
    /// The element this far from the end; `1` is the last.
    FromEnd(u64),
    Slice(Slice),
    Filter(FilterExpr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) start: Option<i64>,
    pub(crate) end: Option<i64>,
    pub(crate) step: i64,
}

/// A logical expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FilterExpr {
    /// At least two, none of them `Or`.
    Or(Vec<Self>),
    /// At least two, none of them `And`.
    And(Vec<Self>),
    Not(Box<Self>),
    Compare(Box<Comparison>),
    Exists(PathQuery),
    Matches(Box<Matches>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) left: Operand,
    pub(crate) operator: Operator,
    pub(crate) right: Operand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What has at most one value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Literal(Document),
    Singular(Singular),
    Length(Box<Self>),
    Count(PathQuery),
    Value(PathQuery),
}

/// A query that finds at most one value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Singular {
    pub(crate) origin: QueryRoot,
    /// Only [`PathStep::Name`], [`PathStep::Index`] and [`Selector::FromEnd`].
    pub(crate) steps: Vec<Selector>,
    /// Whether a last step `length` that finds no member means the length of a list or a string.
    pub(crate) length: LastLength,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLength {
    Member,
    MemberOrLength,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathQuery {
    pub(crate) origin: QueryRoot,
    pub(crate) segments: Vec<Segment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryRoot {
    /// `@`
    Current,
    /// `$`
    Root,
}

/// The functions `match` and `search`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matches {
    pub(crate) extent: MatchExtent,
    pub(crate) text: Operand,
    pub(crate) pattern: PatternSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchExtent {
    /// `match`: the whole string.
    Whole,
    /// `search`: some part of it.
    Part,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PatternSource {
    /// A string literal, compiled when the path is parsed.
    Literal(FilterPattern),
    /// What only the document knows.
    Found(Operand),
}

impl Segment {
    /// The only selector of a child segment that has one.
    pub(crate) fn only_child(&self) -> Option<&Selector> {
        match (self.reach, self.selectors.as_slice()) {
            (SegmentReach::Children, [selector]) => Some(selector),
            _ => None,
        }
    }

    pub(crate) fn plain_step(&self) -> Option<&PathStep> {
        match self.only_child() {
            Some(Selector::Step(step)) => Some(step),
            _ => None,
        }
    }

    /// Whether a filter in it refers to `$`.
    pub(crate) fn looks_at_root(&self) -> bool {
        self.selectors.iter().any(|it| matches!(it, Selector::Filter(expr) if expr.looks_at_root()))
    }
}

impl Selector {
    /// Whether it selects at most one child.
    pub(crate) fn is_singular(&self) -> bool {
        matches!(self, Self::Step(PathStep::Name(_) | PathStep::Index(_)) | Self::FromEnd(_))
    }
}

impl Slice {
    /// The positions that it selects in a list of so many elements, in order.
    pub(crate) fn positions(self, len: u64) -> impl ExactSizeIterator<Item = u64> {
        let (first, step, count) = self.range(len.min(i64::MAX.unsigned_abs()).cast_signed());
        let count =
            usize::try_from(count).or_report("a count is positive and fits memory", usize::MAX);
        (0..count).map(move |at| {
            let at = i64::try_from(at).or_report("a count came from an `i64`", i64::MAX);
            u64::try_from(first.saturating_add(at.saturating_mul(step)))
                .or_report_default("positions lie in the list")
        })
    }

    /// The first position, the distance to the next, and how many there are.
    fn range(self, len: i64) -> (i64, i64, i64) {
        let absolute = |it: i64| if it < 0 { len.saturating_add(it) } else { it };
        let start = self.start.map(absolute);
        let end = self.end.map(absolute);
        let distance = self.step.saturating_abs();
        let count = |span: i64| if span <= 0 { 0 } else { (span - 1) / distance + 1 };
        if self.step > 0 {
            let start = start.unwrap_or(0).clamp(0, len);
            let end = end.unwrap_or(len).clamp(0, len);
            (start, distance, count(end - start))
        } else if self.step < 0 {
            let start = start.unwrap_or(len - 1).clamp(-1, len - 1);
            let end = end.unwrap_or(-1).clamp(-1, len - 1);
            (start, -distance, count(start - end))
        } else {
            (0, 1, 0)
        }
    }
}

impl FilterExpr {
    /// Whether it compares something with a number that stands in the path.
    #[cfg(feature = "formats")]
    pub(super) fn compares_with_number(&self) -> bool {
        match self {
            Self::Or(parts) | Self::And(parts) => parts.iter().any(Self::compares_with_number),
            Self::Not(inner) => inner.compares_with_number(),
            Self::Compare(it) => it.left.is_number() || it.right.is_number(),
            Self::Exists(_) | Self::Matches(_) => false,
        }
    }

    fn looks_at_root(&self) -> bool {
        match self {
            Self::Or(parts) | Self::And(parts) => parts.iter().any(Self::looks_at_root),
            Self::Not(inner) => inner.looks_at_root(),
            Self::Compare(it) => it.left.looks_at_root() || it.right.looks_at_root(),
            Self::Exists(query) => query.looks_at_root(),
            Self::Matches(it) => {
                let found = match &it.pattern {
                    PatternSource::Literal(_) => false,
                    PatternSource::Found(operand) => operand.looks_at_root(),
                };
                found || it.text.looks_at_root()
            }
        }
    }
}

impl Operand {
    #[cfg(feature = "formats")]
    fn is_number(&self) -> bool {
        matches!(self, Self::Literal(literal) if literal.root().as_number().is_some())
    }

    fn looks_at_root(&self) -> bool {
        match self {
            Self::Literal(_) => false,
            Self::Singular(query) => query.origin == QueryRoot::Root,
            Self::Length(operand) => operand.looks_at_root(),
            Self::Count(query) | Self::Value(query) => query.looks_at_root(),
        }
    }
}

impl PathQuery {
    fn looks_at_root(&self) -> bool {
        self.origin == QueryRoot::Root || self.segments.iter().any(Segment::looks_at_root)
    }
}
