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
            .map_err(|()| "it is not an ECMAScript pattern".to_owned())
            .and_then(|translated| {
                regex::RegexBuilder::new(&translated)
                    .size_limit(MAX_COMPILED)
                    .build()
                    .map_err(|error| reason(&error))
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

fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "it is too large when compiled".to_owned(),
        _ => {
            // The last line of a syntax error says what is wrong; the ones above draw the place.
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
    }
}
