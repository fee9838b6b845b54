//! Filter expressions and functions.

use super::{BLANK, PathParser, hints};
use crate::jsonpath::PathError;
use crate::jsonpath::PathStep;
use crate::jsonpath::ast::{
    Comparison, FilterExpr, LastLength, MatchExtent, Matches, Operand, Operator, PathQuery,
    PatternSource, QueryRoot, Segment, Selector, Singular,
};
use crate::jsonpath::pattern::FilterPattern;
use haft_core::json::{Document, JsonWriter};

/// What stands on one side of a comparison, or alone.
pub(super) enum FilterTerm {
    Operand(Operand),
    Query(PathQuery),
    /// A call that is true or false.
    Logical(FilterExpr),
}

impl PathParser<'_> {
    /// The cursor stands behind blanks, here and in the following.
    pub(super) fn parse_or(&mut self) -> Result<FilterExpr, PathError> {
        let mut parts = Vec::new();
        loop {
            match self.parse_and()? {
                FilterExpr::Or(inner) => parts.extend(inner),
                other => parts.push(other),
            }
            self.skip_blank();
            if !self.eat_token("||") {
                return Ok(join_unless_single(parts, FilterExpr::Or));
            }
            self.skip_blank();
        }
    }

    fn parse_and(&mut self) -> Result<FilterExpr, PathError> {
        let mut parts = Vec::new();
        loop {
            match self.parse_basic()? {
                FilterExpr::And(inner) => parts.extend(inner),
                other => parts.push(other),
            }
            self.skip_blank();
            if !self.eat_token("&&") {
                return Ok(join_unless_single(parts, FilterExpr::And));
            }
            self.skip_blank();
        }
    }

    fn parse_basic(&mut self) -> Result<FilterExpr, PathError> {
        if self.eat_token("!") {
            self.skip_blank();
            let inner = if self.peek() == Some('(') {
                self.parse_parenthesis()?
            } else {
                self.parse_test()?
            };
            self.refuse_operator(hints::NOT)?;
            return Ok(FilterExpr::Not(Box::new(inner)));
        }
        if self.peek() == Some('(') {
            let inner = self.parse_parenthesis()?;
            self.refuse_operator(hints::PARENTHESIS)?;
            return Ok(inner);
        }
        let start = self.at;
        let left = self.parse_term()?;
        let behind = self.at;
        self.skip_blank();
        if self.eat_token("=~") {
            let text = self.to_operand(left, start)?;
            self.skip_blank();
            return self.parse_regex_operand(text);
        }
        let Some(operator) = self.parse_operator() else {
            self.at = behind;
            return self.existence_test(left, start);
        };
        let left = self.to_operand(left, start)?;
        self.skip_blank();
        let start = self.at;
        let right = self.parse_term()?;
        let right = self.to_operand(right, start)?;
        Ok(FilterExpr::Compare(Box::new(Comparison { left, operator, right })))
    }

    fn parse_parenthesis(&mut self) -> Result<FilterExpr, PathError> {
        self.at += 1;
        self.parse_nested(|it| {
            it.skip_blank();
            let inner = it.parse_or()?;
            it.skip_blank();
            if it.eat_token(")") { Ok(inner) } else { Err(it.error("`)`", it.hint_behind_term())) }
        })
    }

    fn parse_test(&mut self) -> Result<FilterExpr, PathError> {
        let start = self.at;
        let term = self.parse_term()?;
        self.existence_test(term, start)
    }

    /// What stands alone: a query asks whether anything is there.
    fn existence_test(&self, term: FilterTerm, start: usize) -> Result<FilterExpr, PathError> {
        match term {
            FilterTerm::Query(query) => Ok(FilterExpr::Exists(query)),
            FilterTerm::Logical(expr) => Ok(expr),
            FilterTerm::Operand(_) => {
                let mut at = self.at;
                let rest = self.remaining_text();
                at += rest.len() - rest.trim_start_matches(BLANK).len();
                let hint = self.hint_uncompared(start, at);
                Err(self.error_at(at, "a comparison such as `== 1`", hint))
            }
        }
    }

    fn parse_operator(&mut self) -> Option<Operator> {
        const OPERATORS: [(&str, Operator); 6] = [
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let (_, operator) = OPERATORS.into_iter().find(|(token, _)| self.eat_token(token))?;
        if matches!(operator, Operator::Equal | Operator::NotEqual) {
            self.eat_token("=");
        }
        Some(operator)
    }

    fn refuse_operator(&mut self, hint: &'static str) -> Result<(), PathError> {
        let behind = self.at;
        self.skip_blank();
        let at = self.at;
        if self.parse_operator().is_some() {
            return Err(self.error_at(at, "`&&`, `||`, `)` or `]`", hint));
        }
        self.at = behind;
        Ok(())
    }

    pub(super) fn parse_term(&mut self) -> Result<FilterTerm, PathError> {
        match self.peek() {
            Some('@') => self.parse_query(QueryRoot::Current),
            Some('$') => self.parse_query(QueryRoot::Root),
            Some('\'' | '"') => {
                let mut out = JsonWriter::new();
                out.string(&self.parse_string()?);
                Ok(FilterTerm::Operand(Operand::Literal(out.finish())))
            }
            Some('-' | '0'..='9') => {
                Ok(FilterTerm::Operand(Operand::Literal(self.parse_number()?)))
            }
            Some('a'..='z') => self.parse_word(),
            Some('/') => self.parse_regex_test().map(FilterTerm::Logical),
            _ => Err(self.error("`@`, `$`, a literal or a function", self.hint_in_filter())),
        }
    }

    fn parse_query(&mut self, origin: QueryRoot) -> Result<FilterTerm, PathError> {
        self.at += 1;
        if let Some(hint) = self.hint_behind_origin(origin) {
            return Err(self.error("a segment such as `.name` or `[0]`", hint));
        }
        let mut segments = Vec::new();
        self.parse_segments(&mut segments)?;
        Ok(FilterTerm::Query(PathQuery { origin, segments }))
    }

    /// `true`, `false`, `null` or a call.
    fn parse_word(&mut self) -> Result<FilterTerm, PathError> {
        let start = self.at;
        let word = self.take_while(|it| matches!(it, 'a'..='z' | '0'..='9' | '_'));
        if self.peek() == Some('(') {
            self.at += 1;
            return self.parse_nested(|it| it.parse_function_call(word, start));
        }
        let literal = match word {
            "true" | "false" | "null" => Document::parse(word).ok(),
            _ => None,
        };
        let Some(literal) = literal else {
            self.at = start;
            return Err(self.error("`@`, `$`, a literal or a function", self.hint_in_filter()));
        };
        Ok(FilterTerm::Operand(Operand::Literal(literal)))
    }

    /// Behind the opening parenthesis.
    fn parse_function_call(&mut self, name: &str, start: usize) -> Result<FilterTerm, PathError> {
        let term = match name {
            "length" => FilterTerm::Operand(Operand::Length(Box::new(self.parse_argument()?))),
            "count" => FilterTerm::Operand(Operand::Count(self.parse_query_argument()?)),
            "value" => FilterTerm::Operand(Operand::Value(self.parse_query_argument()?)),
            "match" => FilterTerm::Logical(self.parse_pattern_test(MatchExtent::Whole)?),
            "search" => FilterTerm::Logical(self.parse_pattern_test(MatchExtent::Part)?),
            _ => return Err(self.error_at(start, "a known function", hints::FUNCTIONS)),
        };
        self.skip_blank();
        if self.eat_token(")") { Ok(term) } else { Err(self.error("`)`", hints::FUNCTIONS)) }
    }

    fn parse_pattern_test(&mut self, extent: MatchExtent) -> Result<FilterExpr, PathError> {
        let text = self.parse_argument()?;
        self.skip_blank();
        if !self.eat_token(",") {
            return Err(self.error("`,` and a pattern", hints::FUNCTIONS));
        }
        self.skip_blank();
        let start = self.at;
        let argument = self.parse_argument()?;
        let literal = match &argument {
            Operand::Literal(literal) => literal.root().as_str(),
            _ => None,
        };
        let pattern = match literal {
            Some(source) => PatternSource::Literal(self.compile_pattern(source, extent, start)?),
            None => PatternSource::Found(argument),
        };
        Ok(FilterExpr::Matches(Box::new(Matches { extent, text, pattern })))
    }

    /// A pattern that does not compile matches nothing by RFC 9535. A model had better know.
    pub(super) fn compile_pattern(
        &self,
        source: &str,
        extent: MatchExtent,
        start: usize,
    ) -> Result<FilterPattern, PathError> {
        let pattern = FilterPattern::new(source, extent);
        if !pattern.is_valid() {
            return Err(self.error_at(start, "a regular expression", hints::PATTERN));
        }
        Ok(pattern)
    }

    pub(super) fn parse_argument(&mut self) -> Result<Operand, PathError> {
        self.skip_blank();
        let start = self.at;
        let term = self.parse_term()?;
        self.to_operand(term, start)
    }

    fn parse_query_argument(&mut self) -> Result<PathQuery, PathError> {
        self.skip_blank();
        let start = self.at;
        match self.parse_term()? {
            FilterTerm::Query(query) => Ok(query),
            _ => Err(self.error_at(start, "a path such as `@.items[*]`", hints::FUNCTIONS)),
        }
    }

    /// What can be compared: at most one value.
    fn to_operand(&self, term: FilterTerm, start: usize) -> Result<Operand, PathError> {
        match term {
            FilterTerm::Operand(operand) => Ok(operand),
            FilterTerm::Query(query) => {
                let PathQuery { origin, segments } = query;
                let steps: Option<Vec<Selector>> = segments.iter().map(singular_step).collect();
                let Some(steps) = steps else {
                    return Err(self.error_at(start, "a path to a single value", hints::SINGULAR));
                };
                let ends_in_length = matches!(
                    steps.last(),
                    Some(Selector::Step(PathStep::Name(name))) if **name == *"length"
                );
                let length =
                    if ends_in_length { LastLength::MemberOrLength } else { LastLength::Member };
                Ok(Operand::Singular(Singular { origin, steps, length }))
            }
            FilterTerm::Logical(_) => Err(self.error_at(start, "a value", hints::LOGICAL)),
        }
    }
}

fn singular_step(segment: &Segment) -> Option<Selector> {
    segment.only_child().filter(|it| it.is_singular()).cloned()
}

fn join_unless_single(
    mut parts: Vec<FilterExpr>,
    join: impl FnOnce(Vec<FilterExpr>) -> FilterExpr,
) -> FilterExpr {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            join(parts)
        }
    }
}
