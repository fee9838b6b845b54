//! Regular expressions, read the way JSON Schema reads them.

use regex::Regex;

/// A `pattern` constraint: its text as the model sees it, and the compiled form.
///
/// ```
/// use haft_core::schema::Pattern;
///
/// let pattern = Pattern::new("^[a-z]+$");
/// assert!(pattern.is_match("paris") && !pattern.is_match("Paris"));
/// assert!(!Pattern::new("(").is_match("("), "a pattern that does not compile matches nothing");
/// ```
#[derive(Clone, Debug)]
pub struct Pattern {
    source: String,
    compiled: Result<Regex, String>,
}

/// Compiled patterns larger than this are refused, so that a schema cannot exhaust memory.
const MAX_COMPILED: usize = 1024 * 1024;

impl Pattern {
    /// Compiles a pattern. An error in it is reported when a tool is built with the schema.
    #[must_use]
    pub fn new(source: &str) -> Self {
        let compiled = jsonschema_regex::to_rust_regex(source)
            .map_err(|()| not_ecmascript(source))
            .and_then(|translated| {
                regex::RegexBuilder::new(&translated)
                    .size_limit(MAX_COMPILED)
                    .build()
                    .map_err(|error| reason(&error, translated == source))
            });
        Self { source: source.to_owned(), compiled }
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether it matches somewhere in `text`. A pattern that did not compile matches nothing.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled.as_ref().is_ok_and(|regex| regex.is_match(text))
    }

    /// Why it did not compile.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.compiled.as_ref().err().map(String::as_str)
    }
}

/// Why a text is not an ECMAScript pattern. The translation does not say, so the text is read as the translated one is.
fn not_ecmascript(source: &str) -> String {
    match Regex::new(source) {
        Err(error @ regex::Error::Syntax(_)) => reason(&error, true),
        _ => "it is not an ECMAScript pattern".to_owned(),
    }
}

/// Why a pattern cannot be compiled. It has the place if it is the text that the user wrote.
fn reason(error: &regex::Error, is_as_written: bool) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "it is too large when compiled".to_owned(),
        _ => {
            // The last line of a syntax error says what is wrong; the ones above draw the place.
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            match marked_character(&text).filter(|_| is_as_written) {
                Some(at) => format!("{last}, at character {at}"),
                None => last.to_owned(),
            }
        }
    }
}

/// The character that the drawing of a syntax error marks, counted from 1; nothing for a pattern of several lines.
fn marked_character(drawing: &str) -> Option<usize> {
    const INDENT: usize = 4;
    let is_mark = |line: &&str| !line.trim().is_empty() && line.trim().chars().all(|it| it == '^');
    let mark = drawing.lines().find(is_mark)?;
    let before = mark.len() - mark.trim_start().len();
    Some(before.checked_sub(INDENT)? + 1)
}
