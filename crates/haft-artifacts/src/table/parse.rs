//! Reads SQL.

use super::statement::{
    Aggregate, AggregateFunction, ArithmeticOperator, ColumnName, CompareOperator, Condition,
    InvalidSql, OrderKey, OutputColumn, Statement, Value,
};

/// Reads one `SELECT`.
pub(super) fn parse(text: &str) -> Result<Statement, InvalidSql> {
    if text.len() > MAX_BYTES {
        return Err(InvalidSql::new(format_args!("it has more than {MAX_BYTES} bytes")));
    }
    let mut tokens = tokenize(text)?;
    if tokens.last() == Some(&Token::Sign(";")) {
        tokens.pop();
    }
    let mut parser =
        Parser { tokens, at: 0, depth: 0, knows_outputs: false, statement: Statement::default() };
    parser.select()?;
    match parser.peek() {
        None => Ok(parser.statement),
        Some(_) => Err(parser.unexpected("the end")),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A name or a keyword, as it was written.
    Word(String),
    /// A name in double quotes, backticks or brackets.
    Quoted(String),
    Text(String),
    Number(String),
    /// A JSONPath.
    Path(String),
    Sign(&'static str),
}

/// The longer ones first.
const SIGNS: [&str; 17] =
    ["<=", ">=", "<>", "!=", "==", "=", "<", ">", "(", ")", ",", "*", "+", "-", "/", ".", ";"];

fn tokenize(text: &str) -> Result<Vec<Token>, InvalidSql> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => {
                let (content, length) = quoted(rest, '\'')?;
                tokens.push(Token::Text(content));
                length
            }
            '"' | '`' => {
                let (content, length) = quoted(rest, first)?;
                tokens.push(Token::Quoted(content));
                length
            }
            '$' => {
                let length = path_length(rest);
                tokens.push(Token::Path(rest.get(..length).unwrap_or_default().to_owned()));
                length
            }
            it if it.is_ascii_digit() => {
                let is_part = |it: char| it.is_ascii_alphanumeric() || it == '.';
                let length = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
                let number = rest.get(..length).unwrap_or_default();
                if number.parse::<f64>().is_err() {
                    return Err(InvalidSql::new(format_args!("`{number}` is not a number")));
                }
                tokens.push(Token::Number(number.to_owned()));
                length
            }
            it if it == '_' || it.is_alphabetic() => {
                let is_part = |it: char| it == '_' || it.is_alphanumeric();
                let length = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
                tokens.push(Token::Word(rest.get(..length).unwrap_or_default().to_owned()));
                length
            }
            other => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                let Some(sign) = sign else {
                    return Err(InvalidSql::new(format_args!("`{other}` has no meaning here")));
                };
                tokens.push(Token::Sign(sign));
                sign.len()
            }
        };
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(tokens)
}

/// A text in quotes, which are doubled inside it, and how many bytes it takes.
fn quoted(text: &str, quote: char) -> Result<(String, usize), InvalidSql> {
    let mut content = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character != quote {
            content.push(character);
        } else if characters.next_if(|(_, next)| *next == quote).is_some() {
            content.push(quote);
        } else {
            return Ok((content, at + 1));
        }
    }
    Err(InvalidSql::new(format_args!("a text that begins with {quote} has no end")))
}

/// How long the JSONPath is with which a text begins: up to a blank outside of brackets and quotes.
fn path_length(text: &str) -> usize {
    let (mut depth, mut quote) = (0_u32, None);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), it) if open == it => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '[' | '(') => depth += 1,
            (None, ']' | ')') => depth = depth.saturating_sub(1),
            (None, it) if depth == 0 && (it.is_whitespace() || it == ';') => return at,
            (None, _) => {}
        }
    }
    text.len()
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    /// How many conditions and values are around the current one.
    depth: usize,
    /// Whether names may be those of columns of the result.
    knows_outputs: bool,
    statement: Statement,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(it)) if it.eq_ignore_ascii_case(word))
    }

    /// Takes a keyword if it comes next.
    fn word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(it)) if *it == sign);
        self.at += usize::from(found);
        found
    }

    fn expect_word(&mut self, word: &str) -> Result<(), InvalidSql> {
        if self.word(word) { Ok(()) } else { Err(self.unexpected(word)) }
    }

    fn expect_sign(&mut self, sign: &str) -> Result<(), InvalidSql> {
        if self.sign(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn unexpected(&self, expected: &str) -> InvalidSql {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some(Token::Word(it) | Token::Quoted(it) | Token::Number(it) | Token::Path(it)) => {
                format!("`{it}`")
            }
            Some(Token::Text(it)) => format!("'{it}'"),
            Some(Token::Sign(it)) => format!("`{it}`"),
        };
        InvalidSql::new(format_args!("expected {expected} but found {found}"))
    }

    fn select(&mut self) -> Result<(), InvalidSql> {
        self.expect_word("SELECT")?;
        self.statement.is_distinct = self.word("DISTINCT");
        if !self.sign("*") {
            self.outputs()?;
        }
        if self.word("FROM") {
            self.source()?;
        }
        if self.word("WHERE") {
            self.statement.condition = Some(self.condition()?);
        }
        if self.word("GROUP") {
            self.expect_word("BY")?;
            loop {
                let value = self.value_or_output()?;
                self.statement.group_by.push(value);
                if !self.sign(",") {
                    break;
                }
            }
        }
        if self.word("HAVING") {
            self.knows_outputs = true;
            self.statement.having = Some(self.condition()?);
        }
        if self.word("ORDER") {
            self.expect_word("BY")?;
            self.order()?;
        }
        if self.word("LIMIT") {
            self.statement.limit = Some(self.count()?);
        }
        if self.word("OFFSET") {
            self.statement.offset = self.count()?;
        }
        Ok(())
    }

    fn outputs(&mut self) -> Result<(), InvalidSql> {
        loop {
            let start = self.at;
            let value = self.value()?;
            let name = self.tokens.get(start..self.at).map(written).unwrap_or_default();
            let has_as = self.word("AS");
            let name = match self.peek() {
                Some(Token::Quoted(name)) => Some(name.clone()),
                Some(Token::Word(name)) if has_as || !is_keyword(name) => Some(name.clone()),
                _ if has_as => return Err(self.unexpected("a name")),
                _ => None,
            }
            .inspect(|_| self.at += 1)
            .unwrap_or(name);
            self.statement.outputs.push(OutputColumn { value, name });
            if !self.sign(",") {
                return Ok(());
            }
        }
    }

    fn source(&mut self) -> Result<(), InvalidSql> {
        match self.peek().cloned() {
            Some(Token::Path(path)) => self.statement.source = Some(path),
            Some(Token::Text(name) | Token::Quoted(name)) if name.starts_with('$') => {
                self.statement.source = Some(name);
            }
            Some(Token::Word(_) | Token::Text(_) | Token::Quoted(_)) => {}
            _ => return Err(self.unexpected("a name")),
        }
        self.at += 1;
        // A file name such as `data.csv`.
        while self.sign(".") {
            self.at += 1;
        }
        if self.is_word("JOIN") || self.is_word("INNER") || self.is_word("LEFT") {
            return Err(InvalidSql::new("there is one table, so that there are no joins"));
        }
        Ok(())
    }

    fn order(&mut self) -> Result<(), InvalidSql> {
        loop {
            let value = self.value_or_output()?;
            let is_descending = self.word("DESC");
            if !is_descending {
                self.word("ASC");
            }
            self.statement.order_by.push(OrderKey { value, is_descending });
            if !self.sign(",") {
                return Ok(());
            }
        }
    }

    /// A value, or a column of the result by its name or by its place.
    fn value_or_output(&mut self) -> Result<Value, InvalidSql> {
        let outputs = &self.statement.outputs;
        let found = match self.peek() {
            Some(Token::Number(place)) => {
                let place = place.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
                place.and_then(|it| outputs.get(it))
            }
            Some(Token::Word(name) | Token::Quoted(name)) => {
                outputs.iter().find(|it| it.name.eq_ignore_ascii_case(name))
            }
            _ => None,
        };
        let is_whole = !matches!(
            self.tokens.get(self.at + 1),
            Some(Token::Sign("." | "(" | "+" | "-" | "*" | "/"))
        );
        match found.filter(|_| is_whole).map(|it| it.value.clone()) {
            Some(value) => {
                self.at += 1;
                Ok(value)
            }
            None => self.value(),
        }
    }

    fn count(&mut self) -> Result<u64, InvalidSql> {
        let Some(Token::Number(number)) = self.peek() else {
            return Err(self.unexpected("a number"));
        };
        let count = number.parse().map_err(|_| self.unexpected("a whole number"))?;
        self.at += 1;
        Ok(count)
    }

    fn condition(&mut self) -> Result<Condition, InvalidSql> {
        let mut left = self.conjunction()?;
        while self.word("OR") {
            left = Condition::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Condition, InvalidSql> {
        let mut left = self.negation()?;
        while self.word("AND") {
            left = Condition::And(Box::new(left), Box::new(self.negation()?));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Condition, InvalidSql> {
        if !self.word("NOT") {
            return self.predicate();
        }
        self.nested(|it| Ok(Condition::Not(Box::new(it.negation()?))))
    }

    fn predicate(&mut self) -> Result<Condition, InvalidSql> {
        // A parenthesis opens a condition or a value, which only what follows shows.
        let (start, depth) = (self.at, self.depth);
        if self.sign("(")
            && let Ok(inner) = self.nested(Self::condition)
            && self.sign(")")
        {
            return Ok(inner);
        }
        (self.at, self.depth) = (start, depth);
        let value = self.value()?;
        if self.word("IS") {
            let negated = self.word("NOT");
            self.expect_word("NULL")?;
            return Ok(negate_if(negated, Condition::IsNull(value)));
        }
        let negated = self.word("NOT");
        if self.word("LIKE") || self.word("ILIKE") {
            let Some(Token::Text(pattern) | Token::Quoted(pattern)) = self.peek().cloned() else {
                return Err(self.unexpected("a text such as '%word%'"));
            };
            self.at += 1;
            return Ok(negate_if(negated, Condition::Like(value, pattern.to_lowercase())));
        }
        if self.word("IN") {
            self.expect_sign("(")?;
            let mut values = vec![self.value()?];
            while self.sign(",") {
                values.push(self.value()?);
            }
            self.expect_sign(")")?;
            return Ok(negate_if(negated, Condition::In(value, values)));
        }
        if self.word("BETWEEN") {
            let low = self.value()?;
            self.expect_word("AND")?;
            let high = self.value()?;
            let above = Condition::Compare(value.clone(), CompareOperator::GreaterOrEqual, low);
            let below = Condition::Compare(value, CompareOperator::LessOrEqual, high);
            return Ok(negate_if(negated, Condition::And(Box::new(above), Box::new(below))));
        }
        if negated {
            return Err(self.unexpected("LIKE, IN or BETWEEN"));
        }
        let operator = match self.peek() {
            Some(Token::Sign("=" | "==")) => CompareOperator::Equal,
            Some(Token::Sign("!=" | "<>")) => CompareOperator::NotEqual,
            Some(Token::Sign("<")) => CompareOperator::Less,
            Some(Token::Sign("<=")) => CompareOperator::LessOrEqual,
            Some(Token::Sign(">")) => CompareOperator::Greater,
            Some(Token::Sign(">=")) => CompareOperator::GreaterOrEqual,
            _ => return Err(self.unexpected("a comparison such as `=`")),
        };
        self.at += 1;
        let right = self.value()?;
        if matches!(right, Value::Null) {
            let is_equal = operator == CompareOperator::Equal;
            return Ok(negate_if(!is_equal, Condition::IsNull(value)));
        }
        Ok(Condition::Compare(value, operator, right))
    }

    fn value(&mut self) -> Result<Value, InvalidSql> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some(Token::Sign("+")) => ArithmeticOperator::Add,
                Some(Token::Sign("-")) => ArithmeticOperator::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            left = Value::Arithmetic(Box::new(left), operator, Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Value, InvalidSql> {
        let mut left = self.operand()?;
        loop {
            let operator = match self.peek() {
                Some(Token::Sign("*")) => ArithmeticOperator::Multiply,
                Some(Token::Sign("/")) => ArithmeticOperator::Divide,
                _ => return Ok(left),
            };
            self.at += 1;
            left = Value::Arithmetic(Box::new(left), operator, Box::new(self.operand()?));
        }
    }

    fn operand(&mut self) -> Result<Value, InvalidSql> {
        if self.sign("(") {
            let inner = self.nested(Self::value)?;
            self.expect_sign(")")?;
            return Ok(inner);
        }
        if self.sign("-") {
            return match self.nested(Self::operand)? {
                Value::Text(number) => Ok(Value::Text(format!("-{number}"))),
                value => {
                    let zero = Value::Text("0".to_owned());
                    let operator = ArithmeticOperator::Subtract;
                    Ok(Value::Arithmetic(Box::new(zero), operator, Box::new(value)))
                }
            };
        }
        let Some(token) = self.peek().cloned() else { return Err(self.unexpected("a column")) };
        match token {
            Token::Text(text) | Token::Number(text) => {
                self.at += 1;
                Ok(Value::Text(text))
            }
            Token::Word(word) if self.tokens.get(self.at + 1) == Some(&Token::Sign("(")) => {
                self.at += 2;
                self.aggregate(&word)
            }
            Token::Word(word) if word.eq_ignore_ascii_case("NULL") => {
                self.at += 1;
                Ok(Value::Null)
            }
            Token::Word(word)
                if word.eq_ignore_ascii_case("TRUE") || word.eq_ignore_ascii_case("FALSE") =>
            {
                self.at += 1;
                Ok(Value::Text(word.to_ascii_lowercase()))
            }
            Token::Word(word) if is_keyword(&word) => Err(self.unexpected("a column")),
            Token::Word(name) => self.column(name, false),
            Token::Quoted(name) => self.column(name, true),
            Token::Path(_) => Err(InvalidSql::new(
                "a JSONPath may only stand after FROM; write a column as `name` or `name.name`",
            )),
            Token::Sign(_) => Err(self.unexpected("a column")),
        }
    }

    fn column(&mut self, name: String, is_quoted: bool) -> Result<Value, InvalidSql> {
        self.at += 1;
        let outputs = self.statement.outputs.iter().filter(|_| self.knows_outputs);
        if let Some(output) = outputs.into_iter().find(|it| it.name.eq_ignore_ascii_case(&name)) {
            return Ok(output.value.clone());
        }
        let mut path = vec![name];
        while self.sign(".") {
            match self.peek().cloned() {
                Some(Token::Word(name) | Token::Quoted(name)) => path.push(name),
                _ => return Err(self.unexpected("a name")),
            }
            self.at += 1;
        }
        let column = ColumnName { path, is_quoted };
        Ok(Value::Column(index_of(&mut self.statement.columns, column)))
    }

    /// The aggregate of this name, after its parenthesis.
    fn aggregate(&mut self, name: &str) -> Result<Value, InvalidSql> {
        let function = match name.to_ascii_lowercase().as_str() {
            "count" => AggregateFunction::Count,
            "sum" => AggregateFunction::Sum,
            "avg" | "mean" => AggregateFunction::Avg,
            "min" => AggregateFunction::Min,
            "max" => AggregateFunction::Max,
            _ => return Err(InvalidSql::new(format_args!("there is no function `{name}`"))),
        };
        let is_distinct = self.word("DISTINCT");
        let value = if function == AggregateFunction::Count && self.sign("*") {
            None
        } else {
            Some(self.nested(Self::value)?)
        };
        self.expect_sign(")")?;
        if value.as_ref().is_some_and(has_aggregate) {
            return Err(InvalidSql::new("an aggregate stands in another one"));
        }
        let aggregate = Aggregate { function, value, is_distinct };
        Ok(Value::Aggregate(index_of(&mut self.statement.aggregates, aggregate)))
    }

    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, InvalidSql>,
    ) -> Result<T, InvalidSql> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(InvalidSql::new("it is nested too deeply"));
        }
        let result = read(self);
        self.depth -= 1;
        result
    }
}

fn has_aggregate(value: &Value) -> bool {
    match value {
        Value::Aggregate(_) => true,
        Value::Arithmetic(left, _, right) => has_aggregate(left) || has_aggregate(right),
        Value::Null | Value::Text(_) | Value::Column(_) => false,
    }
}

fn negate_if(negated: bool, condition: Condition) -> Condition {
    if negated { Condition::Not(Box::new(condition)) } else { condition }
}

/// The index of an item, which is added if it is not there.
fn index_of<T: PartialEq>(items: &mut Vec<T>, item: T) -> usize {
    items.iter().position(|it| *it == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}

fn is_keyword(word: &str) -> bool {
    let words = [
        "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "BY", "LIMIT", "OFFSET", "AND",
        "OR", "NOT", "AS", "ASC", "DESC", "LIKE", "ILIKE", "IN", "IS", "BETWEEN", "DISTINCT",
    ];
    words.iter().any(|it| it.eq_ignore_ascii_case(word))
}

/// How tokens were written, for the name of a column of the result.
fn written(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        match token {
            Token::Word(it) | Token::Quoted(it) | Token::Number(it) | Token::Path(it) => {
                if text.ends_with(|last: char| last.is_alphanumeric()) {
                    text.push(' ');
                }
                text.push_str(it);
            }
            Token::Text(it) => text.push_str(it),
            Token::Sign(it) => text.push_str(it),
        }
    }
    text
}

const MAX_BYTES: usize = 16 * 1024;
const MAX_DEPTH: usize = 64;
