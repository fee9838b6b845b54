//! Filter expressions and functions.

use super::{BLANK, PathParser, PathSyntax, hints};
use crate::json::{Document, JsonWriter};
use crate::jsonpath::PathError;
use crate::jsonpath::PathStep;
use crate::jsonpath::ast::{
    Comparison, Expr, Extent, LastLength, Matches, Operand, Operator, PathQuery, PatternSource,
    QueryRoot, Segment, Selector, Singular,
};
use crate::jsonpath::pattern::FilterPattern;

/// What stands on one side of a comparison, or alone.
pub(super) enum Term {
    Operand(Operand),
    Query(PathQuery),
    /// A call that is true or false.
    Logical(Expr),
}

impl PathParser<'_> {
    /// The cursor stands behind blanks, here and in the following.
    pub(super) fn or(&mut self) -> Result<Expr, PathError> {
        let mut parts = Vec::new();
        loop {
            match self.and()? {
                Expr::Or(inner) => parts.extend(inner),
                other => parts.push(other),
            }
            self.skip_blank();
            if !self.eat("||") {
                return Ok(single(parts, Expr::Or));
            }
            self.skip_blank();
        }
    }

    fn and(&mut self) -> Result<Expr, PathError> {
        let mut parts = Vec::new();
        loop {
            match self.basic()? {
                Expr::And(inner) => parts.extend(inner),
                other => parts.push(other),
            }
            self.skip_blank();
            if !self.eat("&&") {
                return Ok(single(parts, Expr::And));
            }
            self.skip_blank();
        }
    }

    fn basic(&mut self) -> Result<Expr, PathError> {
        if self.eat("!") {
            self.skip_blank();
            let inner = if self.peek() == Some('(') { self.parenthesis()? } else { self.test()? };
            self.refuse_operator(hints::NOT)?;
            return Ok(Expr::Not(Box::new(inner)));
        }
        if self.peek() == Some('(') {
            let inner = self.parenthesis()?;
            self.refuse_operator(hints::PARENTHESIS)?;
            return Ok(inner);
        }
        let start = self.at;
        let left = self.term()?;
        let behind = self.at;
        self.skip_blank();
        if self.mode == PathSyntax::Lenient && self.eat("=~") {
            let text = self.operand(left, start)?;
            self.skip_blank();
            return self.regex_operand(text);
        }
        let Some(operator) = self.operator() else {
            self.at = behind;
            return self.truth(left, start);
        };
        let left = self.operand(left, start)?;
        self.skip_blank();
        let start = self.at;
        let right = self.term()?;
        let right = self.operand(right, start)?;
        Ok(Expr::Compare(Box::new(Comparison { left, operator, right })))
    }

    fn parenthesis(&mut self) -> Result<Expr, PathError> {
        self.at += 1;
        self.nested(|it| {
            it.skip_blank();
            let inner = it.or()?;
            it.skip_blank();
            if it.eat(")") { Ok(inner) } else { Err(it.error("`)`", it.hint_behind_term())) }
        })
    }

    fn test(&mut self) -> Result<Expr, PathError> {
        let start = self.at;
        let term = self.term()?;
        self.truth(term, start)
    }

    /// What stands alone: a query asks whether anything is there.
    fn truth(&self, term: Term, start: usize) -> Result<Expr, PathError> {
        match term {
            Term::Query(query) => Ok(Expr::Exists(query)),
            Term::Logical(expr) => Ok(expr),
            Term::Operand(_) => {
                let mut at = self.at;
                let rest = self.rest();
                at += rest.len() - rest.trim_start_matches(BLANK).len();
                let hint = self.hint_uncompared(start, at);
                Err(self.error_at(at, "a comparison such as `== 1`", hint))
            }
        }
    }

    fn operator(&mut self) -> Option<Operator> {
        const STRICT: [(&str, Operator); 6] = [
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let (_, operator) = STRICT.into_iter().find(|(token, _)| self.eat(token))?;
        if self.mode == PathSyntax::Lenient
            && matches!(operator, Operator::Equal | Operator::NotEqual)
        {
            self.eat("=");
        }
        Some(operator)
    }

    fn refuse_operator(&mut self, hint: &'static str) -> Result<(), PathError> {
        let behind = self.at;
        self.skip_blank();
        let at = self.at;
        if self.operator().is_some() {
            return Err(self.error_at(at, "`&&`, `||`, `)` or `]`", hint));
        }
        self.at = behind;
        Ok(())
    }

    pub(super) fn term(&mut self) -> Result<Term, PathError> {
        match self.peek() {
            Some('@') => self.query(QueryRoot::Current),
            Some('$') => self.query(QueryRoot::Root),
            Some('\'' | '"') => {
                let mut out = JsonWriter::new();
                out.string(&self.string()?);
                Ok(Term::Operand(Operand::Literal(out.finish())))
            }
            Some('-' | '0'..='9') => Ok(Term::Operand(Operand::Literal(self.number()?))),
            Some('a'..='z') => self.word(),
            Some('/') if self.mode == PathSyntax::Lenient => self.regex_test().map(Term::Logical),
            _ => Err(self.error("`@`, `$`, a literal or a function", self.hint_in_filter())),
        }
    }

    fn query(&mut self, origin: QueryRoot) -> Result<Term, PathError> {
        self.at += 1;
        if let Some(hint) = self.hint_behind_origin(origin) {
            return Err(self.error("a segment such as `.name` or `[0]`", hint));
        }
        let mut segments = Vec::new();
        self.segments(&mut segments)?;
        Ok(Term::Query(PathQuery { origin, segments }))
    }

    /// `true`, `false`, `null` or a call.
    fn word(&mut self) -> Result<Term, PathError> {
        let start = self.at;
        let word = self.take_while(|it| matches!(it, 'a'..='z' | '0'..='9' | '_'));
        if self.peek() == Some('(') {
            self.at += 1;
            return self.nested(|it| it.call(word, start));
        }
        let literal = match word {
            "true" | "false" | "null" => Document::parse(word).ok(),
            _ => None,
        };
        let Some(literal) = literal else {
            self.at = start;
            return Err(self.error("`@`, `$`, a literal or a function", self.hint_in_filter()));
        };
        Ok(Term::Operand(Operand::Literal(literal)))
    }

    /// Behind the opening parenthesis.
    fn call(&mut self, name: &str, start: usize) -> Result<Term, PathError> {
        let term = match name {
            "length" => Term::Operand(Operand::Length(Box::new(self.argument()?))),
            "count" => Term::Operand(Operand::Count(self.query_argument()?)),
            "value" => Term::Operand(Operand::Value(self.query_argument()?)),
            "match" => Term::Logical(self.matches(Extent::Whole)?),
            "search" => Term::Logical(self.matches(Extent::Part)?),
            _ => return Err(self.error_at(start, "a known function", hints::FUNCTIONS)),
        };
        self.skip_blank();
        if self.eat(")") { Ok(term) } else { Err(self.error("`)`", hints::FUNCTIONS)) }
    }

    fn matches(&mut self, extent: Extent) -> Result<Expr, PathError> {
        let text = self.argument()?;
        self.skip_blank();
        if !self.eat(",") {
            return Err(self.error("`,` and a pattern", hints::FUNCTIONS));
        }
        self.skip_blank();
        let start = self.at;
        let argument = self.argument()?;
        let literal = match &argument {
            Operand::Literal(literal) => literal.root().as_str(),
            _ => None,
        };
        let pattern = match literal {
            Some(source) => PatternSource::Literal(self.pattern(source, extent, start)?),
            None => PatternSource::Found(argument),
        };
        Ok(Expr::Matches(Box::new(Matches { extent, text, pattern })))
    }

    /// A pattern that does not compile matches nothing by RFC 9535. A model had better know.
    pub(super) fn pattern(
        &self,
        source: &str,
        extent: Extent,
        start: usize,
    ) -> Result<FilterPattern, PathError> {
        let pattern = FilterPattern::new(source, extent);
        if self.mode == PathSyntax::Lenient && !pattern.is_valid() {
            return Err(self.error_at(start, "a regular expression", hints::PATTERN));
        }
        Ok(pattern)
    }

    pub(super) fn argument(&mut self) -> Result<Operand, PathError> {
        self.skip_blank();
        let start = self.at;
        let term = self.term()?;
        self.operand(term, start)
    }

    fn query_argument(&mut self) -> Result<PathQuery, PathError> {
        self.skip_blank();
        let start = self.at;
        match self.term()? {
            Term::Query(query) => Ok(query),
            _ => Err(self.error_at(start, "a path such as `@.items[*]`", hints::FUNCTIONS)),
        }
    }

    /// What can be compared: at most one value.
    fn operand(&self, term: Term, start: usize) -> Result<Operand, PathError> {
        match term {
            Term::Operand(operand) => Ok(operand),
            Term::Query(query) => {
                let PathQuery { origin, segments } = query;
                let steps: Option<Vec<Selector>> = segments.iter().map(singular_step).collect();
                let Some(steps) = steps else {
                    return Err(self.error_at(start, "a path to a single value", hints::SINGULAR));
                };
                let ends_in_length = matches!(
                    steps.last(),
                    Some(Selector::Step(PathStep::Name(name))) if **name == *"length"
                );
                let length = if ends_in_length && self.mode == PathSyntax::Lenient {
                    LastLength::MemberOrLength
                } else {
                    LastLength::Member
                };
                Ok(Operand::Singular(Singular { origin, steps, length }))
            }
            Term::Logical(_) => Err(self.error_at(start, "a value", hints::LOGICAL)),
        }
    }
}

fn singular_step(segment: &Segment) -> Option<Selector> {
    segment.only_child().filter(|it| it.is_singular()).cloned()
}

fn single(mut parts: Vec<Expr>, join: impl FnOnce(Vec<Expr>) -> Expr) -> Expr {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            join(parts)
        }
    }
}
