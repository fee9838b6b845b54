//! Errors in the script of an agent, with their lines.

use std::fmt;
use std::path::{Path, PathBuf};

use haft::executors::InvalidScript;

use crate::user_error::{SourceLocation, UserError};

/// Everything that is wrong with a script.
#[derive(Debug)]
pub(crate) struct ScriptErrors {
    file: PathBuf,
    error: InvalidScript,
}

impl ScriptErrors {
    pub(super) fn new(file: &Path, error: InvalidScript) -> Self {
        Self { file: file.to_owned(), error }
    }

    /// The errors one by one.
    pub(crate) fn list(&self) -> Vec<UserError> {
        let errors = self.error.faults.iter().map(|fault| {
            let line = fault.place.map(|(line, _)| line);
            let key = (!fault.pointer.is_empty()).then(|| fault.pointer.clone());
            let location = SourceLocation { file: self.file.clone(), line, key };
            UserError::new(fault.what.as_str()).at(location)
        });
        errors.collect()
    }
}

impl fmt::Display for ScriptErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.list().iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ScriptErrors {}
