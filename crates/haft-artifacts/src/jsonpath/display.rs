//! The normalised text of a path, and of a place in a document.

use std::fmt::{self, Display, Formatter, Write};

use super::ast::{
    Comparison, FilterExpr, MatchExtent, Matches, Operand, Operator, PathQuery, PatternSource,
    QueryRoot, Segment, SegmentReach, Selector, Singular, Slice,
};
use super::parse::{is_name_char, is_name_first};
use super::{JsonPath, PathStep};

impl Display for JsonPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('$')?;
        self.segments().iter().try_for_each(|it| it.fmt(f))
    }
}

impl Display for Segment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let [Selector::Step(PathStep::Name(name))] = self.selectors.as_slice()
            && name.chars().all(is_name_char)
            && name.chars().next().is_some_and(is_name_first)
        {
            f.write_str(if self.reach == SegmentReach::Children { "." } else { ".." })?;
            return f.write_str(name);
        }
        if self.reach == SegmentReach::Descendants {
            f.write_str("..")?;
        }
        f.write_char('[')?;
        write_list(f, &self.selectors, ",")?;
        f.write_char(']')
    }
}

impl Display for Selector {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(PathStep::Name(name)) => write_quoted(name, f),
            Self::Step(PathStep::Index(index)) => index.fmt(f),
            Self::Step(PathStep::Wildcard) => f.write_char('*'),
            Self::FromEnd(index) => write!(f, "-{index}"),
            Self::Slice(slice) => slice.fmt(f),
            Self::Filter(expr) => write!(f, "?{expr}"),
        }
    }
}

impl Display for Slice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(start) = self.start {
            start.fmt(f)?;
        }
        f.write_char(':')?;
        if let Some(end) = self.end {
            end.fmt(f)?;
        }
        if self.step == 1 { Ok(()) } else { write!(f, ":{}", self.step) }
    }
}

impl Display for FilterExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Or(parts) => write_list(f, parts, " || "),
            Self::And(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    f.write_str(if at > 0 { " && " } else { "" })?;
                    match part {
                        Self::Or(_) => write!(f, "({part})")?,
                        _ => part.fmt(f)?,
                    }
                }
                Ok(())
            }
            Self::Not(inner) => match &**inner {
                Self::Exists(_) | Self::Matches(_) => write!(f, "!{inner}"),
                _ => write!(f, "!({inner})"),
            },
            Self::Compare(comparison) => comparison.fmt(f),
            Self::Exists(query) => query.fmt(f),
            Self::Matches(matches) => matches.fmt(f),
        }
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let operator = match self.operator {
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
        };
        write!(f, "{} {operator} {}", self.left, self.right)
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(literal) => match literal.root().as_str() {
                Some(text) => write_quoted(text, f),
                None => literal.root().fmt(f),
            },
            Self::Singular(query) => query.fmt(f),
            Self::Length(operand) => write!(f, "length({operand})"),
            Self::Count(query) => write!(f, "count({query})"),
            Self::Value(query) => write!(f, "value({query})"),
        }
    }
}

impl Display for Singular {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.origin.fmt(f)?;
        self.steps.iter().try_for_each(|step| {
            Segment { reach: SegmentReach::Children, selectors: vec![step.clone()] }.fmt(f)
        })
    }
}

impl Display for PathQuery {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.origin.fmt(f)?;
        self.segments.iter().try_for_each(|it| it.fmt(f))
    }
}

impl Display for QueryRoot {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char(if *self == Self::Root { '$' } else { '@' })
    }
}

impl Display for Matches {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = if self.extent == MatchExtent::Whole { "match" } else { "search" };
        write!(f, "{name}({}, ", self.text)?;
        match &self.pattern {
            PatternSource::Literal(pattern) => write_quoted(pattern.source(), f)?,
            PatternSource::Found(operand) => operand.fmt(f)?,
        }
        f.write_char(')')
    }
}

fn write_list<T: Display>(f: &mut Formatter<'_>, items: &[T], separator: &str) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        f.write_str(if at > 0 { separator } else { "" })?;
        item.fmt(f)?;
    }
    Ok(())
}

/// A string as normalised paths write it: in single quotes, escaped only where it must be.
pub(super) fn write_quoted(text: &str, out: &mut impl Write) -> fmt::Result {
    out.write_char('\'')?;
    for char in text.chars() {
        match char {
            '\'' => out.write_str("\\'")?,
            '\\' => out.write_str("\\\\")?,
            '\u{8}' => out.write_str("\\b")?,
            '\u{c}' => out.write_str("\\f")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            '\0'..' ' => write!(out, "\\u{:04x}", u32::from(char))?,
            _ => out.write_char(char)?,
        }
    }
    out.write_char('\'')
}
