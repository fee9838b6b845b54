//! Whether a filter holds for a value.

use super::ast::{
    FilterExpr, LastLength, Matches, Operand, PathQuery, PatternSource, QueryRoot, Singular,
};
use super::children;
use super::compare::{self, OperandValue};
use super::pattern::FilterPattern;
use super::walk::{PathEvaluation, PathWalk, VisitBudget, VisitsExhausted, select_child};
use haft_core::json::{ValueKind, ValueRef};

/// What compiling a pattern from the document costs, in values: once, and for each of its bytes.
const COMPILE: usize = 5_000;
const COMPILE_BYTE: usize = 200;

impl FilterExpr {
    /// Whether it holds for a value, which is both `@` and `$`, within a budget.
    pub(crate) fn holds_within(
        &self,
        view: ValueRef<'_>,
        budget: &mut VisitBudget,
    ) -> Result<bool, VisitsExhausted> {
        let mut evaluation = PathEvaluation::new(view, budget.take());
        let held = evaluation.work.values(1).and_then(|()| self.holds(view, &mut evaluation));
        *budget = evaluation.work;
        held
    }

    /// Recurses as deep as the path is nested, which is bounded.
    pub(super) fn holds<'p, 'd>(
        &'p self,
        current: ValueRef<'d>,
        evaluation: &mut PathEvaluation<'p, 'd>,
    ) -> Result<bool, VisitsExhausted> {
        match self {
            Self::Or(parts) => {
                for part in parts {
                    if part.holds(current, evaluation)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::And(parts) => {
                for part in parts {
                    if !part.holds(current, evaluation)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Not(inner) => Ok(!inner.holds(current, evaluation)?),
            Self::Compare(comparison) => {
                let left = comparison.left.value(current, evaluation)?;
                let right = comparison.right.value(current, evaluation)?;
                compare::holds(left, comparison.operator, right, &mut evaluation.work)
            }
            Self::Exists(query) => Ok(query.values(1, current, evaluation)?.0 > 0),
            Self::Matches(matches) => matches.holds(current, evaluation),
        }
    }
}

impl Matches {
    fn holds<'p, 'd>(
        &'p self,
        current: ValueRef<'d>,
        evaluation: &mut PathEvaluation<'p, 'd>,
    ) -> Result<bool, VisitsExhausted> {
        let OperandValue::Node(text) = self.text.value(current, evaluation)? else {
            return Ok(false);
        };
        let Some(text) = text.as_str() else { return Ok(false) };
        // Four times the price of a comparison.
        evaluation.work.text(text.len().saturating_mul(4))?;
        match &self.pattern {
            PatternSource::Literal(pattern) => Ok(pattern.is_match(text)),
            PatternSource::Found(operand) => {
                let OperandValue::Node(source) = operand.value(current, evaluation)? else {
                    return Ok(false);
                };
                let Some(source) = source.as_str() else { return Ok(false) };
                let known = evaluation.found_pattern.take();
                let pattern = match known.filter(|it| it.is_for(source, self.extent)) {
                    Some(pattern) => pattern,
                    None => {
                        evaluation.work.values(COMPILE + COMPILE_BYTE * source.len())?;
                        FilterPattern::new(source, self.extent)
                    }
                };
                let found = pattern.is_match(text);
                evaluation.found_pattern = Some(pattern);
                Ok(found)
            }
        }
    }
}

impl Operand {
    fn value<'v, 'p: 'v, 'd: 'v>(
        &'p self,
        current: ValueRef<'d>,
        evaluation: &mut PathEvaluation<'p, 'd>,
    ) -> Result<OperandValue<'v>, VisitsExhausted> {
        Ok(match self {
            Self::Literal(literal) => OperandValue::Node(literal.root()),
            Self::Singular(query) => query.value(current, evaluation)?,
            Self::Length(operand) => match operand.value(current, evaluation)? {
                OperandValue::Node(view) => length(view, evaluation)?,
                OperandValue::Nothing | OperandValue::Size(_) => OperandValue::Nothing,
            },
            Self::Count(query) => {
                OperandValue::Size(query.values(usize::MAX, current, evaluation)?.0)
            }
            // The second value is enough to know that it is not alone.
            Self::Value(query) => match query.values(2, current, evaluation)? {
                (1, Some(only)) => OperandValue::Node(only),
                _ => OperandValue::Nothing,
            },
        })
    }
}

impl Singular {
    fn value<'d>(
        &self,
        current: ValueRef<'d>,
        evaluation: &mut PathEvaluation<'_, 'd>,
    ) -> Result<OperandValue<'d>, VisitsExhausted> {
        let mut node = self.origin.of(current, evaluation);
        let mut rest = self.steps.as_slice();
        while let Some((selector, behind)) = rest.split_first() {
            let Some(child) = select_child(node, selector, &mut evaluation.work)? else {
                let is_last = behind.is_empty() && self.length == LastLength::MemberOrLength;
                return if is_last && matches!(node.kind(), ValueKind::Array | ValueKind::String) {
                    length(node, evaluation)
                } else {
                    Ok(OperandValue::Nothing)
                };
            };
            node = child;
            rest = behind;
        }
        Ok(OperandValue::Node(node))
    }
}

impl PathQuery {
    /// How many values it finds, and the last of them; stops at `most`.
    fn values<'p, 'd>(
        &'p self,
        most: usize,
        current: ValueRef<'d>,
        evaluation: &mut PathEvaluation<'p, 'd>,
    ) -> Result<(usize, Option<ValueRef<'d>>), VisitsExhausted> {
        let origin = self.origin.of(current, evaluation);
        let mut walk = PathWalk::new(&self.segments, origin, evaluation);
        let mut count = 0;
        let mut last = None;
        while count < most
            && let Some(view) = walk.next(evaluation)?
        {
            count += 1;
            last = Some(view);
        }
        walk.finish(evaluation);
        Ok((count, last))
    }
}

impl QueryRoot {
    fn of<'d>(self, current: ValueRef<'d>, evaluation: &PathEvaluation<'_, 'd>) -> ValueRef<'d> {
        match self {
            Self::Current => current,
            Self::Root => evaluation.root,
        }
    }
}

/// The function `length`: characters, elements or members.
fn length<'v>(
    view: ValueRef<'_>,
    evaluation: &mut PathEvaluation<'_, '_>,
) -> Result<OperandValue<'v>, VisitsExhausted> {
    Ok(match (view.as_str(), view.kind()) {
        (Some(text), _) => {
            evaluation.work.text(text.len())?;
            OperandValue::Size(text.chars().count())
        }
        (None, ValueKind::Array) => OperandValue::Size(view.len()),
        (None, ValueKind::Object) => {
            evaluation.work.values(view.len())?;
            OperandValue::Size(children::count(view))
        }
        _ => OperandValue::Nothing,
    })
}
