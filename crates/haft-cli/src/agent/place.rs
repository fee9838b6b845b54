//! Where in an agent file something stands, and what is wrong there.

use std::fmt;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::publish::list_keys;
use crate::failure::Failure;

/// Something that is wrong at a key of the agent file.
#[derive(Debug)]
pub(super) struct Fault {
    key: Vec<String>,
    what: String,
    hint: Option<String>,
}

impl Fault {
    /// What is wrong at a key, of which each part is named from the outside in.
    pub(super) fn at<K: Into<String>>(
        key: impl IntoIterator<Item = K>,
        what: impl fmt::Display,
    ) -> Self {
        let key = key.into_iter().map(Into::into).collect();
        Self { key, what: what.to_string(), hint: None }
    }

    /// What to do about it.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The nearest of the names that would have been right, or all of them.
    pub(super) fn known<'n>(self, wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        match known(wrong, &names) {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// The same, further out: this is the key that it stands under.
    pub(super) fn below<K: Into<String>>(mut self, outer: impl IntoIterator<Item = K>) -> Self {
        self.key.splice(0..0, outer.into_iter().map(Into::into));
        self
    }
}

/// What was probably meant: the nearest of the right names, else all of them.
pub(super) fn known(wrong: &str, names: &[&str]) -> Option<String> {
    match haft::schema::nearest(wrong, names.iter().copied()) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None if names.is_empty() => None,
        None => Some(format!("known here are {}", names.join(", "))),
    }
}

/// What the parser expects, in words for people.
fn plainly(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let expected = match expected {
        "u32" | "u64" | "usize" | "i64" => "a whole number",
        "a sequence" => "a list",
        "a map" => "a table",
        other => other,
    };
    format!("{found}, expected {expected}")
}

const LIST: &str = "this is a list, and a table is expected";

/// The text of an agent file and where it comes from.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    text: String,
}

impl Source {
    pub(super) fn new(path: &Path, text: String) -> Self {
        Self { path: path.to_owned(), text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What is wrong, with the file, the line and the key.
    pub(super) fn failure(&self, fault: Fault) -> Failure {
        let key = fault.key.join(".");
        let line = self.line_of(&fault.key);
        let key = if key.is_empty() { String::new() } else { format!("`{key}`: ") };
        let failure = Failure::new(format!("{}: {key}{}", self.place(line), fault.what));
        match fault.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// What the parser says, in the same form.
    pub(super) fn refused(&self, error: &toml::de::Error) -> Failure {
        let offset = error.span().map(|span| span.start);
        let line = offset.map(|it| self.line_at(it));
        let key = offset.and_then(|it| self.key_at(it)).unwrap_or_default().join(".");
        let message = error.message();
        let (first, expected) = message.split_once(", expected ").unwrap_or((message, ""));
        let unknown = first.starts_with("unknown ") || first.starts_with("missing ");
        let what = match message {
            _ if unknown => first.to_owned(),
            "recursion limit" => "the file is nested too deeply".to_owned(),
            _ if expected.starts_with("struct ") => LIST.to_owned(),
            _ => plainly(message),
        };
        let shown = if key.is_empty() || first.starts_with("unknown field") {
            format!("{}: {what}", self.place(line))
        } else {
            format!("{}: `{key}`: {what}", self.place(line))
        };
        let failure = Failure::new(shown);
        let wrong = first.split('`').nth(1).unwrap_or_default();
        let right: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        match known(wrong, &right).filter(|_| unknown) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// Refuses lists where tables are expected: reading alone takes one for the members of a table, by their
    /// order.
    pub(super) fn check_tables(&self) -> Result<(), Fault> {
        match DeTable::parse(&self.text) {
            Ok(root) => tables(root.get_ref(), &mut Vec::new()),
            Err(_) => Ok(()),
        }
    }

    fn place(&self, line: Option<usize>) -> String {
        let path = self.path.display();
        line.map_or_else(|| path.to_string(), |line| format!("{path}:{line}"))
    }

    /// The number of the line at an offset, from 1.
    fn line_at(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    /// The line of a key, or of as much of it as is there.
    fn line_of(&self, key: &[String]) -> Option<usize> {
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
        offset.map(|it| self.line_at(it))
    }

    /// The key whose name or value is at an offset.
    fn key_at(&self, offset: usize) -> Option<Vec<String>> {
        let root = DeTable::parse(&self.text).ok()?;
        find(root.get_ref(), offset)
    }
}

fn find(table: &DeTable<'_>, offset: usize) -> Option<Vec<String>> {
    let mut here = None;
    for (name, value) in table {
        let below = value.get_ref().as_table().and_then(|it| find(it, offset));
        if let Some(mut below) = below {
            below.insert(0, name.get_ref().to_string());
            return Some(below);
        }
        if name.span().contains(&offset) || covers(value, offset) {
            here = Some(vec![name.get_ref().to_string()]);
        }
    }
    here
}

fn tables(table: &DeTable<'_>, key: &mut Vec<String>) -> Result<(), Fault> {
    for (name, value) in table {
        key.push(name.get_ref().to_string());
        let names: Vec<&str> = key.iter().map(String::as_str).collect();
        let free = matches!(
            names.as_slice(),
            ["options", ..]
                | ["tools", "http", _, "body", ..]
                | ["tools", "command" | "http", _, "args", _, "default", ..]
        );
        let named =
            matches!(names.as_slice(), ["tools", "command" | "http", _] | [_, _, _, "args", _]);
        match value.get_ref() {
            _ if free => {}
            DeValue::Table(below) => tables(below, key)?,
            DeValue::Array(_) if named || !list_keys().contains(name.get_ref().as_ref()) => {
                return Err(Fault::at(key.iter(), LIST));
            }
            // The only list of tables.
            DeValue::Array(items)
                if names.as_slice() == ["prepare"]
                    && items.iter().any(|it| it.get_ref().is_array()) =>
            {
                return Err(Fault::at(key.iter(), LIST));
            }
            _ => {}
        }
        key.pop();
    }
    Ok(())
}

fn covers(value: &Spanned<DeValue<'_>>, offset: usize) -> bool {
    value.span().contains(&offset)
}
