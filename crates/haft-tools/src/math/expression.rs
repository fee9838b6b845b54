//! Parses and computes expressions in one pass, bounded in length and depth.

use std::fmt;

use super::rational::Number;

/// An error in an expression, and the character at which it occurs, counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExpressionError {
    pub(super) at: usize,
    pub(super) what: String,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at character {}", self.what, self.at)
    }
}

/// The value of an expression.
pub(super) fn compute(text: &str) -> Result<Number, ExpressionError> {
    let mut parser = Parser { text: text.chars().collect(), at: 0, depth: 0 };
    let value = parser.parse_sum()?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(')') => parser.fail("there is no `(` for this `)`"),
        Some(found) => parser.fail(&format!("an operator is missing before `{found}`")),
    }
}

struct Parser {
    text: Vec<char>,
    at: usize,
    depth: usize,
}

type Value = Result<Number, ExpressionError>;

impl Parser {
    fn parse_sum(&mut self) -> Value {
        let mut value = self.parse_product()?;
        loop {
            match self.eat_operator(&['+', '-', '−']) {
                Some('+') => value = value.plus(self.parse_product()?),
                Some(_) => value = value.minus(self.parse_product()?),
                None => return self.finite(value),
            }
        }
    }

    fn parse_product(&mut self) -> Value {
        let mut value = self.parse_signed()?;
        while let Some(operator) = self.eat_operator(&['*', '/', '%', '×', '·', '÷']) {
            let start = self.at;
            let other = self.parse_signed()?;
            let result = match operator {
                '/' | '÷' => value.divided_by(other),
                '%' => value.modulo(other),
                _ => Some(value.times(other)),
            };
            value = result
                .ok_or_else(|| ExpressionError { at: start, what: "division by zero".into() })?;
        }
        self.finite(value)
    }

    /// A sign binds less tightly than a power: `-2^2` is -4.
    fn parse_signed(&mut self) -> Value {
        match self.eat_operator(&['-', '−', '+']) {
            Some('+') => self.parse_nested(Self::parse_signed),
            Some(_) => Ok(self.parse_nested(Self::parse_signed)?.negated()),
            None => self.parse_power(),
        }
    }

    fn parse_power(&mut self) -> Value {
        let base = self.parse_postfix()?;
        let start = self.at;
        let starred = self.peek_at(0) == Some('*') && self.peek_at(1) == Some('*');
        if starred {
            self.at += 2;
        } else if self.eat_operator(&['^']).is_none() {
            return Ok(base);
        }
        // From the right: 2^3^2 is 2^9.
        let exponent = self.parse_nested(Self::parse_signed)?;
        base.power(exponent).ok_or_else(|| ExpressionError {
            at: start + 1,
            what: format!("{base} to the power of {exponent} is not a number that can be told"),
        })
    }

    /// A value and the factorials behind it.
    fn parse_postfix(&mut self) -> Value {
        let mut value = self.parse_value()?;
        while self.eat_operator(&['!']).is_some() {
            let error = || ExpressionError {
                at: self.at,
                what: "a factorial needs an integer from 0 to 170".to_owned(),
            };
            let count = value.as_whole().filter(|it| (0..=170).contains(it)).ok_or_else(error)?;
            value = (1..=count).fold(Number::whole(1), |all, it| all.times(Number::whole(it)));
        }
        self.skip_space();
        Ok(value)
    }

    fn parse_value(&mut self) -> Value {
        self.skip_space();
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let value = self.parse_nested(Self::parse_sum)?;
                self.expect_closing_parenthesis()?;
                Ok(value)
            }
            Some(it) if it.is_ascii_digit() || it == '.' => self.parse_number(),
            Some(it) if it.is_alphabetic() => self.parse_name(),
            Some(')') => self.fail("a value is missing before `)`"),
            Some(',') => self.fail(
                "a value is missing before `,`; write decimals with a point and no separators",
            ),
            Some(found) => self.fail(&format!("`{found}` cannot stand here; a value is missing")),
            None => self.fail("the expression ends where a value is missing"),
        }
    }

    fn parse_number(&mut self) -> Value {
        let start = self.at;
        let mut text = String::new();
        while let Some(it) = self.peek() {
            let exponent = matches!(it, 'e' | 'E') && self.is_exponent();
            let sign = matches!(it, '+' | '-') && text.ends_with(['e', 'E']);
            if it == '_' || it.is_ascii_digit() || it == '.' || exponent || sign {
                text.extend(Some(it).filter(|it| *it != '_'));
                self.at += 1;
            } else {
                break;
            }
        }
        Number::parse(&text).ok_or_else(|| ExpressionError {
            at: start + 1,
            what: format!("`{}` is not a number", crate::preview(&text)),
        })
    }

    /// Whether the `e` at this position begins an exponent.
    fn is_exponent(&self) -> bool {
        let digit = |it: Option<char>| it.is_some_and(|it| it.is_ascii_digit());
        let sign = matches!(self.peek_at(1), Some('+' | '-'));
        digit(self.peek_at(1)) || (sign && digit(self.peek_at(2)))
    }

    /// A constant, or a function and its arguments.
    fn parse_name(&mut self) -> Value {
        let start = self.at;
        let mut name = String::new();
        while let Some(it) = self.peek().filter(|it| it.is_alphanumeric() || *it == '_') {
            name.extend(it.to_lowercase());
            self.at += 1;
        }
        self.skip_space();
        if self.peek() != Some('(') {
            return constant(&name).ok_or_else(|| unknown(&name, start));
        }
        self.at += 1;
        let mut args = Vec::new();
        self.skip_space();
        while self.peek() != Some(')') {
            args.push(self.parse_nested(Self::parse_sum)?);
            self.skip_space();
            match self.peek() {
                Some(',' | ';') if args.len() < MAX_ARGUMENTS => self.at += 1,
                _ => break,
            }
        }
        self.expect_closing_parenthesis()?;
        match apply(&name, &args) {
            Some(Ok(value)) => value.finite().ok_or_else(|| ExpressionError {
                at: start + 1,
                what: format!("`{name}` has no value there"),
            }),
            Some(Err(what)) => Err(ExpressionError { at: start + 1, what }),
            None => Err(unknown(&name, start)),
        }
    }

    fn expect_closing_parenthesis(&mut self) -> Result<(), ExpressionError> {
        self.skip_space();
        match self.peek() {
            Some(')') => {
                self.at += 1;
                Ok(())
            }
            Some(found) => self.fail(&format!("`{found}` stands where `)` is missing")),
            None => self.fail("a `)` is missing"),
        }
    }

    fn parse_nested(&mut self, part: fn(&mut Self) -> Value) -> Value {
        if self.depth == MAX_DEPTH {
            return self.fail("the expression is nested too deeply");
        }
        self.depth += 1;
        let value = part(self);
        self.depth -= 1;
        value
    }

    /// Consumes the next operator, if it is one of these. `**` is not `*`.
    fn eat_operator(&mut self, all: &[char]) -> Option<char> {
        self.skip_space();
        let found = self.peek().filter(|it| all.contains(it))?;
        if found == '*' && self.peek_at(1) == Some('*') {
            return None;
        }
        self.at += 1;
        Some(found)
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn finite(&self, value: Number) -> Value {
        value.finite().ok_or_else(|| ExpressionError {
            at: self.at,
            what: "the result is too large to be told".to_owned(),
        })
    }

    fn fail<T>(&self, what: &str) -> Result<T, ExpressionError> {
        Err(ExpressionError { at: self.at + 1, what: what.to_owned() })
    }
}

fn unknown(name: &str, start: usize) -> ExpressionError {
    let name = crate::preview(name);
    let what = format!("`{name}` is not known; there are {NAMES}");
    ExpressionError { at: start + 1, what }
}

fn constant(name: &str) -> Option<Number> {
    Some(Number::Float(match name {
        "pi" | "π" => std::f64::consts::PI,
        "tau" | "τ" => std::f64::consts::TAU,
        "e" => std::f64::consts::E,
        "phi" | "φ" => 1.618_033_988_749_895,
        _ => return None,
    }))
}

/// Applies a function; `None` if there is no function with this name.
fn apply(name: &str, args: &[Number]) -> Option<Result<Number, String>> {
    let float = |run: fn(f64) -> f64| match args {
        [x] => Ok(Number::Float(run(x.to_f64()))),
        _ => Err(format!("`{name}` takes one argument")),
    };
    let exact = |run: fn(Number) -> Number| match args {
        [x] => Ok(run(*x)),
        _ => Err(format!("`{name}` takes one argument")),
    };
    Some(match name {
        "abs" => exact(Number::absolute),
        "floor" => exact(Number::floor),
        "ceil" => exact(Number::ceiling),
        "trunc" => exact(|x| if x.to_f64() < 0.0 { x.ceiling() } else { x.floor() }),
        "round" => round(args),
        "sqrt" => match args {
            [x] => x.root().ok_or_else(|| "a root of a negative number is not real".to_owned()),
            _ => Err("`sqrt` takes one argument".to_owned()),
        },
        "cbrt" => float(f64::cbrt),
        "exp" => float(f64::exp),
        "ln" => float(f64::ln),
        "log2" => float(f64::log2),
        "log10" => float(f64::log10),
        "log" => match args {
            [x] => Ok(Number::Float(x.to_f64().log10())),
            [x, base] => Ok(Number::Float(x.to_f64().ln() / base.to_f64().ln())),
            _ => Err("`log` takes a number, and a base if it is not 10".to_owned()),
        },
        "sin" => float(f64::sin),
        "cos" => float(f64::cos),
        "tan" => float(f64::tan),
        "asin" => float(f64::asin),
        "acos" => float(f64::acos),
        "atan" => float(f64::atan),
        "sinh" => float(f64::sinh),
        "cosh" => float(f64::cosh),
        "tanh" => float(f64::tanh),
        "deg" => float(f64::to_degrees),
        "rad" => float(f64::to_radians),
        "atan2" => match args {
            [y, x] => Ok(Number::Float(y.to_f64().atan2(x.to_f64()))),
            _ => Err("`atan2` takes two arguments: y, x".to_owned()),
        },
        "min" => extreme(name, args, Number::is_below),
        "max" => extreme(name, args, |new, best| best.is_below(new)),
        "sum" => Ok(args.iter().fold(Number::ZERO, |sum, it| sum.plus(*it))),
        "avg" | "mean" => mean(name, args),
        "gcd" => divisor(args),
        _ => return None,
    })
}

fn round(args: &[Number]) -> Result<Number, String> {
    match args {
        [x] => Ok(x.rounded(0)),
        [x, places] => match places.as_whole().and_then(|it| u32::try_from(it).ok()) {
            Some(places) if places <= 15 => Ok(x.rounded(places)),
            _ => Err("`round` takes from 0 to 15 places".to_owned()),
        },
        _ => Err("`round` takes a number, and places if there are some".to_owned()),
    }
}

fn extreme(
    name: &str,
    args: &[Number],
    better: fn(Number, Number) -> bool,
) -> Result<Number, String> {
    let best = args.iter().copied().reduce(|best, new| if better(new, best) { new } else { best });
    best.ok_or_else(|| format!("`{name}` needs at least one argument"))
}

fn mean(name: &str, args: &[Number]) -> Result<Number, String> {
    let sum = args.iter().fold(Number::ZERO, |sum, it| sum.plus(*it));
    let mean = sum.divided_by(Number::whole(args.len() as i128));
    mean.ok_or_else(|| format!("`{name}` needs at least one argument"))
}

fn divisor(args: &[Number]) -> Result<Number, String> {
    match args {
        [a, b] => {
            let whole = |it: &Number| it.as_whole().filter(|it| *it != i128::MIN);
            let parts = whole(a).zip(whole(b));
            let (mut a, mut b) = parts.ok_or("`gcd` takes integers")?;
            while b != 0 {
                (a, b) = (b, a.checked_rem(b).unwrap_or(0));
            }
            Ok(Number::whole(a.abs()))
        }
        _ => Err("`gcd` takes two integers".to_owned()),
    }
}

pub(super) const NAMES: &str = "pi, e, tau, phi, abs, round, floor, ceil, trunc, sqrt, cbrt, exp, ln, log, log2, log10, \
     sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh, deg, rad, min, max, sum, mean, gcd";
/// The maximum nesting of brackets, signs and powers.
const MAX_DEPTH: usize = 60;
const MAX_ARGUMENTS: usize = 100;
