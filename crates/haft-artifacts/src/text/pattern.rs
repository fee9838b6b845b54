//! Regular expressions that match within lines.

use memchr::memchr;
use regex_automata::Input;
use regex_automata::meta::{Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_syntax::ParserBuilder;
use regex_syntax::ast::ErrorKind;
use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look,
};

use super::error::TextError;
use super::grep::GrepOptions;
use super::inner_literal::InnerLiterals;
use super::line::strip_carriage_return;

/// A pattern in two forms. Both search in linear time.
///
/// `across` runs over many lines at once. No match of it contains an LF, and wherever `within` matches in
/// a line, it matches in that line too. It may also match before a CR in the middle of a line, so a
/// line with a CR is tested by `within`, which sees the text of that line alone.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    across: Regex,
    within: Regex,
    /// What is looked for before `across` is.
    literals: Option<InnerLiterals>,
}

impl Pattern {
    pub(super) fn new(pattern: &str, options: &GrepOptions) -> Result<Self, TextError> {
        if pattern.len() > MAX_PATTERN_BYTES {
            let problem =
                format!("it has {} bytes, and {MAX_PATTERN_BYTES} are the most", pattern.len());
            return Err(TextError::Pattern { problem, hint: Some("search for a part of it") });
        }
        let parsed = ParserBuilder::new()
            .utf8(false)
            .nest_limit(MAX_NESTING)
            .case_insensitive(options.ignore_case)
            .multi_line(options.multi_line)
            .dot_matches_new_line(options.dot_all)
            .build()
            .parse(pattern)
            .map_err(|error| pattern_error(&error))?;
        let across = restrict_to_lines(&parsed);
        let literals = InnerLiterals::of(&across);
        Ok(Self { across: compile(&across)?, within: compile(&parsed)?, literals })
    }

    /// Where the first match ends, from `start` on and up to `end`.
    pub(super) fn find_end(&self, lines: &[u8], start: usize, end: usize) -> Option<usize> {
        let search = |start, end| self.find_end_plainly(lines, start, end);
        match &self.literals {
            None => search(start, end),
            Some(literals) => match literals.find_end(lines, (start, end), search) {
                Ok(found) => found,
                Err(rest) if rest <= end => search(rest, end),
                Err(_) => None,
            },
        }
    }

    /// The same without literals.
    pub(super) fn find_end_plainly(&self, lines: &[u8], start: usize, end: usize) -> Option<usize> {
        let input = Input::new(lines).range(start..end).earliest(true);
        self.across.search_half(&input).map(|found| found.offset())
    }

    /// Whether a line in which a match was found matches on its own.
    pub(super) fn matches_line(&self, line: &[u8]) -> bool {
        memchr(b'\r', line).is_none() || self.within.is_match(strip_carriage_return(line))
    }
}

fn compile(hir: &Hir) -> Result<Regex, TextError> {
    let config = Config::new()
        .utf8_empty(false)
        .nfa_size_limit(Some(MAX_COMPILED_BYTES))
        .which_captures(WhichCaptures::Implicit);
    Regex::builder().configure(config).build_from_hir(hir).map_err(|error| {
        let problem = match error.size_limit() {
            Some(limit) => format!("compiled it takes more than {limit} bytes"),
            None => error.to_string(),
        };
        TextError::Pattern { problem, hint: Some("use smaller counts in its repetitions") }
    })
}

fn pattern_error(error: &regex_syntax::Error) -> TextError {
    let (problem, hint) = match error {
        regex_syntax::Error::Parse(error) => {
            let hint = match error.kind() {
                ErrorKind::UnsupportedLookAround => Some(
                    "look-around does not exist here; search without it, and narrow the matches by a second query",
                ),
                ErrorKind::UnsupportedBackreference => {
                    Some("back-references do not exist here; write out what is to be repeated")
                }
                ErrorKind::RepetitionMissing
                | ErrorKind::GroupUnclosed
                | ErrorKind::GroupUnopened
                | ErrorKind::ClassUnclosed
                | ErrorKind::RepetitionCountUnclosed
                | ErrorKind::RepetitionCountDecimalEmpty => {
                    Some("put `\\` before a character that stands for itself")
                }
                _ => None,
            };
            (format!("{}, at character {}", error.kind(), error.span().start.column), hint)
        }
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), None),
        other => (other.to_string(), None),
    };
    TextError::Pattern { problem, hint }
}

/// The same pattern, made to match within a line when it runs over many.
fn restrict_to_lines(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) if literal.0.contains(&b'\n') => Hir::fail(),
        HirKind::Literal(literal) => Hir::literal(literal.0.clone()),
        HirKind::Class(Class::Unicode(class)) => {
            let mut class = class.clone();
            class.difference(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(class)) => {
            let mut class = class.clone();
            class.difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n')]));
            Hir::class(Class::Bytes(class))
        }
        HirKind::Look(Look::Start | Look::StartLF) => Hir::look(Look::StartLF),
        // Before an LF, and before the CR that does not belong to the text of a line.
        HirKind::Look(Look::End | Look::EndLF) => Hir::look(Look::EndCRLF),
        HirKind::Look(look) => Hir::look(*look),
        HirKind::Repetition(repetition) => Hir::repetition(regex_syntax::hir::Repetition {
            sub: Box::new(restrict_to_lines(&repetition.sub)),
            ..repetition.clone()
        }),
        HirKind::Capture(capture) => restrict_to_lines(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(restrict_to_lines).collect()),
        HirKind::Alternation(parts) => {
            Hir::alternation(parts.iter().map(restrict_to_lines).collect())
        }
    }
}

const MAX_PATTERN_BYTES: usize = 4 * 1024;
const MAX_NESTING: u32 = 100;
const MAX_COMPILED_BYTES: usize = 4 * 1024 * 1024;

/// Checks that a pattern can be searched for.
///
/// ```
/// use haft_artifacts::text::{GrepOptions, check_pattern};
///
/// assert!(check_pattern("error|warning", &GrepOptions::new()).is_ok());
/// assert!(check_pattern("(unclosed", &GrepOptions::new()).is_err());
/// ```
///
/// # Errors
///
/// The pattern is not a regular expression, or it is too large; the error says why.
pub fn check_pattern(pattern: &str, options: &GrepOptions) -> Result<(), TextError> {
    Pattern::new(pattern, options).map(|_| ())
}
