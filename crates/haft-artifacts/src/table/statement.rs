//! A parsed `SELECT`.

use std::fmt;

/// A query that is not a `SELECT` of the supported form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("the SQL cannot be read: {problem}; {FORM}")]
pub struct InvalidSql {
    /// What is wrong with it.
    pub problem: String,
}

/// The supported form, for a model that has used another one.
const FORM: &str = "a query is one `SELECT columns FROM data WHERE condition GROUP BY columns ORDER BY columns LIMIT \
                    n` with count, sum, avg, min and max";

impl InvalidSql {
    pub(super) fn new(problem: impl fmt::Display) -> Self {
        Self { problem: problem.to_string() }
    }
}

/// One `SELECT`.
#[derive(Clone, Debug, Default)]
pub(super) struct Statement {
    /// What is shown; empty for `*`.
    pub(super) outputs: Vec<OutputColumn>,
    pub(super) is_distinct: bool,
    /// The JSONPath after `FROM`.
    pub(super) source: Option<String>,
    pub(super) condition: Option<Condition>,
    pub(super) group_by: Vec<Value>,
    pub(super) having: Option<Condition>,
    pub(super) order_by: Vec<OrderKey>,
    pub(super) limit: Option<u64>,
    pub(super) offset: u64,
    /// The columns that values refer to.
    pub(super) columns: Vec<ColumnName>,
    /// The aggregates that values refer to.
    pub(super) aggregates: Vec<Aggregate>,
}

/// A column of the result.
#[derive(Clone, Debug)]
pub(super) struct OutputColumn {
    pub(super) value: Value,
    pub(super) name: String,
}

#[derive(Clone, Debug)]
pub(super) struct OrderKey {
    pub(super) value: Value,
    pub(super) is_descending: bool,
}

/// The name of a column: a path of names in trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnName {
    pub(super) path: Vec<String>,
    /// Whether it stood in double quotes, in which some dialects write text: it is text where there is no such column.
    pub(super) is_quoted: bool,
}

impl fmt::Display for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path.join("."))
    }
}

/// Something that has a value in each record or group.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Text(String),
    /// A column, by its index in the statement.
    Column(usize),
    /// An aggregate, by its index in the statement.
    Aggregate(usize),
    Arithmetic(Box<Self>, ArithmeticOperator, Box<Self>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArithmeticOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Aggregate {
    pub(super) function: AggregateFunction,
    /// `None` for `count(*)`.
    pub(super) value: Option<Value>,
    pub(super) is_distinct: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AggregateFunction {
    Count,
    Sum,
    Avg,
    Min,
    Max,
}

/// Something that holds for a record, a group, or not.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Not(Box<Self>),
    Compare(Value, CompareOperator, Value),
    /// With `%` and `_` in the pattern.
    Like(Value, String),
    In(Value, Vec<Value>),
    IsNull(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompareOperator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}
