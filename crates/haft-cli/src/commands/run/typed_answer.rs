//! Answers that have to fit a JSON Schema.

use std::fs::File;
use std::io::{IsTerminal as _, Read as _, stdout};
use std::path::Path;

use anyhow::Result;
use haft::schema::ForeignSchemaError;
use haft::turn::{AnswerFormat, TurnHistory, TurnReport};
use serde_json::Value;

use crate::commands::print_text;
use crate::output::{EventLine, OutcomeLine};
use crate::text_file::file_error;
use crate::user_error::{SourceLocation, UserError};

/// How many bytes a schema may have.
const MAX_SCHEMA: u64 = 1024 * 1024;

/// Reads the file of `--schema`.
pub(super) fn read_answer_format(file: &Path) -> Result<AnswerFormat> {
    let location = SourceLocation { file: file.to_owned(), line: None, key: None };
    let mut text = String::new();
    let shown = file.display();
    File::open(file)
        .and_then(|it| it.take(MAX_SCHEMA + 1).read_to_string(&mut text))
        .map_err(|error| file_error(format!("cannot read the schema `{shown}`"), file, error))?;
    if text.len() as u64 > MAX_SCHEMA {
        let error = UserError::new(format!("the schema has more than {MAX_SCHEMA} bytes"));
        return Err(error.at(location).into());
    }
    let schema: Value = serde_json::from_str(&text).map_err(|error| {
        let line = Some(error.line());
        UserError::new(format!("the schema is not JSON: {error}"))
            .at(SourceLocation { line, ..location.clone() })
    })?;
    let format = AnswerFormat::from_json_schema(schema).map_err(|error| match error {
        ForeignSchemaError::NotAnObject { found } => UserError::new(format!(
            "the answer must be an object: the schema has {found}"
        ))
        .hint("put a list into a field: {\"type\": \"object\", \"properties\": {\"items\": …}}"),
        error => UserError::new(error.to_string()),
    });
    Ok(format.map_err(|error| error.at(location))?)
}

/// Reads the format that a stored turn must answer in; nothing if it may answer in any.
pub(super) fn read_stored_format(history: &TurnHistory) -> Result<Option<AnswerFormat>> {
    let stored = history.stash.get(AnswerFormat::STASH_KEY).cloned();
    Ok(stored.map(AnswerFormat::from_stored).transpose()?)
}

/// Prints the answer of a completed turn: to read on a terminal, else as one line.
pub(super) fn print_answer(
    format: &AnswerFormat,
    report: &TurnReport,
    as_event: bool,
) -> Result<()> {
    let Ok(answer) = format.check(report.text()) else { return Ok(()) };
    let answer = answer.to_value();
    let text = match as_event {
        true => {
            let turn = report.turn.as_str();
            let line = EventLine::Outcome(OutcomeLine::Answer { turn, answer });
            serde_json::to_string(&line)?
        }
        false if stdout().is_terminal() => serde_json::to_string_pretty(&answer)?,
        false => answer.to_string(),
    };
    print_text(&format!("{text}\n"))?;
    Ok(())
}
