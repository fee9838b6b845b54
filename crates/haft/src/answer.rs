//! What a turn that completed answers, for programs that await it.

use std::fmt;
use std::future::IntoFuture;

use haft_core::BoxFuture;
use haft_core::answer::AnswerError;

use crate::error::Result;
use crate::turn::{RunningTurn, Turn, TurnReport};

/// The answer of a turn that completed, with the report of the turn. Printing it prints the value.
#[derive(Debug)]
#[non_exhaustive]
pub struct Answer<T = String> {
    /// The text of the assistant's last message, or the value of a [typed](Turn::typed) turn.
    pub value: T,
    /// The report of the turn.
    pub report: TurnReport,
}

impl<T> Answer<T> {
    fn of_report(
        report: TurnReport,
        decode: fn(&TurnReport) -> std::result::Result<T, AnswerError>,
    ) -> Result<Self> {
        let report = report.into_result()?;
        Ok(Self { value: decode(&report)?, report })
    }
}

impl<T: fmt::Display> fmt::Display for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: Send + 'static> IntoFuture for Turn<T> {
    type Output = Result<Answer<T>>;
    type IntoFuture = BoxFuture<'static, Result<Answer<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        let decode = self.decode;
        let report = self.report();
        Box::pin(async move { Answer::of_report(report.await?, decode) })
    }
}

impl<T: Send + 'static> IntoFuture for RunningTurn<T> {
    type Output = Result<Answer<T>>;
    type IntoFuture = BoxFuture<'static, Result<Answer<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        let decode = self.decode;
        Box::pin(async move { Answer::of_report(self.report().await?, decode) })
    }
}
