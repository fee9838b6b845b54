//! A parsed path.

use super::PathStep;
use super::pattern::FilterPattern;
use crate::json::Document;

/// One segment: selectors applied to the children of a value, or also to those of all values below.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Segment {
    pub(super) reach: SegmentReach,
    /// At least one.
    pub(super) selectors: Vec<Selector>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentReach {
    Children,
    Descendants,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Selector {
    Step(PathStep),
    /// The element this far from the end; `1` is the last.
    FromEnd(u64),
    Slice(Slice),
    Filter(FilterExpr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) step: i64,
}

/// A logical expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FilterExpr {
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
pub(super) struct Comparison {
    pub(super) left: Operand,
    pub(super) operator: Operator,
    pub(super) right: Operand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What has at most one value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Literal(Document),
    Singular(Singular),
    Length(Box<Self>),
    Count(PathQuery),
    Value(PathQuery),
}

/// A query that finds at most one value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Singular {
    pub(super) origin: QueryRoot,
    /// Only [`PathStep::Name`], [`PathStep::Index`] and [`Selector::FromEnd`].
    pub(super) steps: Vec<Selector>,
    /// Whether a last step `length` that finds no member means the length of a list or a string.
    pub(super) length: LastLength,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastLength {
    Member,
    MemberOrLength,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct PathQuery {
    pub(super) origin: QueryRoot,
    pub(super) segments: Vec<Segment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryRoot {
    /// `@`
    Current,
    /// `$`
    Root,
}

/// The functions `match` and `search`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matches {
    pub(super) extent: MatchExtent,
    pub(super) text: Operand,
    pub(super) pattern: PatternSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchExtent {
    /// `match`: the whole string.
    Whole,
    /// `search`: some part of it.
    Part,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum PatternSource {
    /// A string literal, compiled when the path is parsed.
    Literal(FilterPattern),
    /// What only the document knows.
    Found(Operand),
}

impl Segment {
    /// The only selector of a child segment that has one.
    pub(super) fn only_child(&self) -> Option<&Selector> {
        match (self.reach, self.selectors.as_slice()) {
            (SegmentReach::Children, [selector]) => Some(selector),
            _ => None,
        }
    }

    pub(super) fn plain_step(&self) -> Option<&PathStep> {
        match self.only_child() {
            Some(Selector::Step(step)) => Some(step),
            _ => None,
        }
    }

    /// Whether a filter in it refers to `$`.
    pub(super) fn looks_at_root(&self) -> bool {
        self.selectors.iter().any(|it| matches!(it, Selector::Filter(expr) if expr.looks_at_root()))
    }
}

impl Selector {
    /// Whether it selects at most one child.
    pub(super) fn is_singular(&self) -> bool {
        matches!(self, Self::Step(PathStep::Name(_) | PathStep::Index(_)) | Self::FromEnd(_))
    }
}

impl FilterExpr {
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
