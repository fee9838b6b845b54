//! Repair of JSON text that a model wrote, where it has only one reading.

use super::error::{ParseError, ParseErrorKind};
use super::parse::{JsonParser, ParseFault, strict};
use super::{Document, MAX_TEXT};

use crate::invariant::OrReport as _;

/// One repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Repair {
    /// A code fence around the text was removed.
    CodeFence,
    /// A comma before a closing bracket was removed.
    TrailingComma,
    /// A single-quoted string was read as a string.
    SingleQuotes,
    /// A raw control character inside a string was kept as that character.
    RawControl,
    /// `True`, `False` or `None` was read as the JSON word.
    PythonWord,
}

/// What was done, in words.
impl std::fmt::Display for Repair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::CodeFence => "the code fence was removed",
            Self::TrailingComma => "a comma before a closing bracket was removed",
            Self::SingleQuotes => "single quotes were read as double quotes",
            Self::RawControl => "a raw control character was kept",
            Self::PythonWord => "a word of Python was read as the word of JSON",
        })
    }
}

impl Repair {
    const ALL: [Self; 5] = [
        Self::CodeFence,
        Self::TrailingComma,
        Self::SingleQuotes,
        Self::RawControl,
        Self::PythonWord,
    ];
}

/// The kinds of repair that happened, as a set.
#[derive(Clone, Copy, Default)]
pub(super) struct RepairSet(u8);

impl RepairSet {
    pub(super) const fn note(&mut self, repair: Repair) {
        self.0 |= 1 << repair as u8;
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn list(self) -> Vec<Repair> {
        Repair::ALL.into_iter().filter(|it| self.0 & (1 << *it as u8) != 0).collect()
    }
}

pub(super) fn lenient(text: &str) -> Result<(Document, Vec<Repair>), ParseError> {
    if let Ok(doc) = strict(text) {
        return Ok((doc, Vec::new()));
    }
    let error = |fault: ParseFault| ParseError::new(fault.kind, text, fault.offset);
    let body = JsonBody::find(text).map_err(error)?;
    let mut parsed = JsonParser::<true>::new(text, body.start, body.end).run().map_err(error)?;
    if body.fenced {
        parsed.repairs.note(Repair::CodeFence);
    }
    let repairs = parsed.repairs.list();
    Ok((parsed.into_document(text.to_owned()), repairs))
}

/// The part of a text that should be JSON: without a byte order mark and without a code fence.
struct JsonBody {
    start: usize,
    end: usize,
    fenced: bool,
}

impl JsonBody {
    fn find(text: &str) -> Result<Self, ParseFault> {
        if text.len() > MAX_TEXT {
            return Err(ParseFault { kind: ParseErrorKind::TooLong, offset: MAX_TEXT });
        }
        let rest = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let trimmed = rest.trim();
        let start = text.len() - rest.trim_start().len();
        let end = start + trimmed.len();
        if trimmed.is_empty() {
            return Err(ParseFault { kind: ParseErrorKind::Empty, offset: text.len() });
        }
        let inner = trimmed.trim_start_matches('`');
        let ticks = trimmed.len() - inner.len();
        if ticks < 3 {
            return Ok(Self { start, end, fenced: false });
        }
        let body = inner.trim_end_matches('`');
        if inner.len() - body.len() != ticks {
            // The fence is open, so the text may go on.
            return Err(ParseFault { kind: ParseErrorKind::Truncated, offset: end });
        }
        let body = without_info_word(body);
        let end = end - ticks;
        Ok(Self { start: end - body.len(), end, fenced: true })
    }
}

/// Removes the language name behind an opening fence. A word that could be the value itself stays.
fn without_info_word(body: &str) -> &str {
    let tail =
        body.trim_start_matches(|it: char| it.is_ascii_alphanumeric() || "_+-.".contains(it));
    let word = body.strip_suffix(tail).or_report_default("the tail ends the body");
    let is_value = ["true", "false", "null", "True", "False", "None"].contains(&word);
    if word.starts_with(|it: char| it.is_ascii_alphabetic()) && !is_value { tail } else { body }
}
