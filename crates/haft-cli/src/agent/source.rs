//! Errors in an agent file, and their source locations.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::AgentFile;
use super::file_schema::list_keys;
use crate::user_error::{SourceLocation, UserError, suggestion};

/// An error at a key of the agent file.
#[derive(Debug)]
pub(super) struct AgentFileError {
    /// The parts of the key, outermost first. Empty for an error about the whole file.
    key: Vec<String>,
    message: String,
    hint: Option<String>,
}

impl AgentFileError {
    /// An error at a key, whose parts are given from the outermost to the innermost.
    pub(super) fn at<K: Into<String>>(
        key: impl IntoIterator<Item = K>,
        message: impl fmt::Display,
    ) -> Self {
        let key = key.into_iter().map(Into::into).collect();
        Self { key, message: message.to_string(), hint: None }
    }

    /// An error about the file, or about the table that the caller adds with [`Self::in_table`].
    pub(super) fn whole_file(message: impl fmt::Display) -> Self {
        Self::at([""; 0], message)
    }

    /// Adds advice on how to fix the error.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint with the valid name that is most similar to the wrong one, or with all valid names.
    pub(super) fn suggest<'n>(self, wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        match suggestion(wrong, &names) {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// What is wrong, without its place.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Prefixes the key with the table that contains it.
    pub(super) fn in_table<K: Into<String>>(mut self, outer: impl IntoIterator<Item = K>) -> Self {
        self.key.splice(0..0, outer.into_iter().map(Into::into));
        self
    }
}

/// Collects the errors of the parts of a table, so that all of them can be shown at once.
#[derive(Debug, Default)]
pub(super) struct ErrorList(Vec<AgentFileError>);

impl ErrorList {
    /// Takes a part, or keeps its error.
    pub(super) fn take<T>(&mut self, part: Result<T, AgentFileError>) -> Option<T> {
        part.map_err(|error| self.0.push(error)).ok()
    }

    /// Takes a part, or keeps its errors.
    pub(super) fn take_all<T>(&mut self, part: Result<T, Vec<AgentFileError>>) -> Option<T> {
        part.map_err(|errors| self.0.extend(errors)).ok()
    }

    /// The whole of the parts if none had an error.
    pub(super) fn finish<T>(self, whole: Option<T>) -> Result<T, Vec<AgentFileError>> {
        whole.filter(|_| self.0.is_empty()).ok_or(self.0)
    }
}

/// Replaces the type names of the parser with terms of TOML.
fn rephrase_expected_type(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let expected = match expected {
        "u32" | "u64" | "usize" | "i64" => "an integer",
        "a sequence" => "a list",
        "a map" => "a table",
        "f64" | "a JSON number" => "a number",
        other => other,
    };
    format!("{found}, expected {expected}")
}

/// An example of what belongs in the place of a mistake.
fn example_hint(message: &str, expected: &str) -> Option<String> {
    if let Some(field) = message.strip_prefix("missing field `").and_then(|it| it.strip_suffix('`'))
    {
        let example = match field {
            "argv" => "[\"program\", \"argument\"]",
            "hosts" => "[\"example.org\"]",
            _ => "\"…\"",
        };
        return Some(format!("add it to the table: {field} = {example}"));
    }
    let example = match (message, expected) {
        ("duplicate key", _) => "keep one of them",
        ("unclosed table", _) => {
            "a table begins with its name in brackets on one line: [tools.math]"
        }
        ("invalid basic string" | "invalid literal string", _) => {
            "a text stands in quotes on one line, \"text\"; three quotes on each side allow several lines"
        }
        (_, "a string") => "write text in quotes: \"text\"",
        (_, "u32" | "u64" | "usize" | "i64") => "write a number without quotes: 12",
        (_, "f64" | "a number") => "write a number without quotes: 0.5",
        (_, "a boolean") => "write true or false without quotes",
        (_, "a sequence") => "write a list: [\"one\", \"two\"]",
        (_, "a map") => "write a table: { key = \"value\" }",
        (message, _) if message.starts_with("unclosed") || message.starts_with("extra") => {
            "see whether a quote or a bracket is missing here or in the line before"
        }
        _ => return None,
    };
    Some(example.to_owned())
}

const LIST_FOR_TABLE: &str = "expected a table, found a list";

/// The text of an agent file and its path.
#[derive(Debug)]
pub(super) struct AgentSource {
    path: PathBuf,
    text: String,
}

impl AgentSource {
    pub(super) fn new(path: &Path, text: String) -> Self {
        Self { path: path.to_owned(), text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Adds the file, the line and the key to an error.
    pub(super) fn locate(&self, error: AgentFileError) -> UserError {
        let line = self.line_of_key(&error.key);
        let located = UserError::new(error.message).at(self.location(line, &error.key));
        match error.hint {
            Some(hint) => located.hint(hint),
            None => located,
        }
    }

    /// Converts an error of the TOML parser to the same form.
    pub(super) fn explain_parse_error(&self, error: &toml::de::Error) -> UserError {
        let offset = error.span().map(|span| span.start);
        let line = offset.map(|it| self.line_at_offset(it));
        let key = offset.and_then(|it| self.key_at_offset(it)).unwrap_or_default();
        let message = error.message();
        let (first, expected) = message.split_once(", expected ").unwrap_or((message, ""));
        let is_name_error = first.starts_with("unknown ") || first.starts_with("missing ");
        let text = match message {
            _ if is_name_error => first.to_owned(),
            "recursion limit" => "the file is nested too deeply".to_owned(),
            _ if expected.starts_with("struct ") => LIST_FOR_TABLE.to_owned(),
            _ => rephrase_expected_type(message),
        };
        // The message of an unknown field names it.
        let key = if first.starts_with("unknown field") { &[] } else { key.as_slice() };
        let error = UserError::new(text).at(self.location(line, key));
        let wrong = first.split('`').nth(1).unwrap_or_default();
        let valid: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        let hint = suggestion(wrong, &valid).filter(|_| is_name_error);
        match hint.or_else(|| example_hint(first, expected)) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// Parses the file and returns every error, up to a limit. What is left of a file with errors is returned without
    /// the keys that have them, so that the rest can be checked as well; nothing for a file that is not TOML.
    pub(super) fn parse(&self) -> (Option<AgentFile>, Vec<UserError>) {
        let (mut root, syntax_errors) = DeTable::parse_recoverable(&self.text);
        if !syntax_errors.is_empty() {
            let errors = syntax_errors.iter().take(MAX_ERRORS);
            return (None, errors.map(|it| self.explain_parse_error(it)).collect());
        }
        let mut lists = Vec::new();
        let mut errors = Vec::new();
        find_misplaced_lists(root.get_ref(), &mut Vec::new(), &mut lists);
        for key in lists {
            remove_key(root.get_mut(), &key);
            errors.push(self.locate(AgentFileError::at(key, LIST_FOR_TABLE)));
        }
        loop {
            let error = match AgentFile::deserialize(toml::Deserializer::from(root.clone())) {
                Ok(file) => return (Some(file), errors),
                Err(error) => error,
            };
            errors.push(self.explain_parse_error(&error));
            let key = error.span().and_then(|span| find_key(root.get_ref(), span.start));
            let is_removed = key.is_some_and(|key| remove_key(root.get_mut(), &key));
            if !is_removed || errors.len() >= MAX_ERRORS {
                return (None, errors);
            }
        }
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A location in this file.
    fn location(&self, line: Option<usize>, key: &[String]) -> SourceLocation {
        let key = (!key.is_empty()).then(|| key.join("."));
        SourceLocation { file: self.path.clone(), line, key }
    }

    /// The number of the line at an offset; the first line is 1.
    fn line_at_offset(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    /// The line of a key, or of its longest prefix that exists.
    fn line_of_key(&self, key: &[String]) -> Option<usize> {
        let root = DeTable::parse(&self.text).ok()?;
        let mut table = Some(root.get_ref());
        let mut offset = None;
        for part in key {
            let Some((name, value)) = table?.iter().find(|(name, _)| name.get_ref() == part) else {
                break;
            };
            offset = Some(name.span().start);
            table = value.get_ref().as_table();
            if table.is_none() {
                break;
            }
        }
        offset.map(|it| self.line_at_offset(it))
    }

    /// The key whose name or value covers an offset.
    fn key_at_offset(&self, offset: usize) -> Option<Vec<String>> {
        let root = DeTable::parse(&self.text).ok()?;
        find_key(root.get_ref(), offset)
    }
}

fn find_key(table: &DeTable<'_>, offset: usize) -> Option<Vec<String>> {
    let mut found = None;
    for (name, value) in table {
        let below = value.get_ref().as_table().and_then(|it| find_key(it, offset));
        if let Some(mut below) = below {
            below.insert(0, name.get_ref().to_string());
            return Some(below);
        }
        if name.span().contains(&offset) || covers(value, offset) {
            found = Some(vec![name.get_ref().to_string()]);
        }
    }
    found
}

/// Removes a key from a table, and says whether it was there.
fn remove_key(table: &mut DeTable<'_>, key: &[String]) -> bool {
    match key {
        [] => false,
        [name] => table.remove(name.as_str()).is_some(),
        [name, below @ ..] => match table.get_mut(name.as_str()).map(Spanned::get_mut) {
            Some(DeValue::Table(inner)) => remove_key(inner, below),
            _ => false,
        },
    }
}

/// The greatest number of errors of one file that are listed.
const MAX_ERRORS: usize = 50;

/// Finds the lists at keys that are not lists in the schema. Serde alone would read a list as the fields of a table in
/// their order.
fn find_misplaced_lists(table: &DeTable<'_>, key: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    for (name, value) in table {
        key.push(name.get_ref().to_string());
        let names: Vec<&str> = key.iter().map(String::as_str).collect();
        let argument_key = match names.as_slice() {
            ["tools", "command" | "http", _, "args", _, below @ ..] => Some(key_in_argument(below)),
            _ => None,
        };
        let is_free_form = matches!(argument_key, Some(["default", ..]))
            || matches!(names.as_slice(), ["options", ..] | ["tools", "http", _, "body", ..]);
        let is_named_table = argument_key == Some(&[])
            || matches!(names.as_slice(), ["tools", "command" | "http", _]);
        match value.get_ref() {
            _ if is_free_form => {}
            DeValue::Table(inner) => find_misplaced_lists(inner, key, found),
            DeValue::Array(_)
                if is_named_table || !list_keys().contains(name.get_ref().as_ref()) =>
            {
                found.push(key.clone());
            }
            // `prepare` is the only list of tables.
            DeValue::Array(items)
                if names.as_slice() == ["prepare"]
                    && items.iter().any(|it| it.get_ref().is_array()) =>
            {
                found.push(key.clone());
            }
            _ => {}
        }
        key.pop();
    }
}

/// The rest of a key inside the argument, the element or the property that it belongs to.
fn key_in_argument<'k, 'n>(key: &'k [&'n str]) -> &'k [&'n str] {
    match key {
        ["items", below @ ..] | ["properties", _, below @ ..] => key_in_argument(below),
        key => key,
    }
}

fn covers(value: &Spanned<DeValue<'_>>, offset: usize) -> bool {
    value.span().contains(&offset)
}
