//! The block of settings at the top of a document.

use haft_core::json::{Document, ValueKind, ValueRef};
use serde_json::Value;

use super::FrontMatterError;
use super::cursor::is_blank;
use crate::yaml::{YamlLimits, parse_document};

/// Front matter as it is written in the document.
///
/// ```
/// use haft_artifacts::markdown::MarkdownIndex;
///
/// let index = MarkdownIndex::parse("---\ntitle: Notes\ndraft: true\n---\n\n# Notes\n");
/// let settings = index.front_matter()?.expect("there is front matter");
/// assert_eq!(settings["title"], "Notes");
/// assert_eq!(settings["draft"], true);
/// # Ok::<(), haft_artifacts::markdown::FrontMatterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatter {
    pub(super) kind: FrontMatterKind,
    pub(super) end_line: usize,
    pub(super) text: Box<str>,
}

/// The language of front matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrontMatterKind {
    /// Between `---` and `---` or `...`.
    Yaml,
    /// Between `+++` and `+++`.
    Toml,
}

impl FrontMatter {
    /// The language it is written in.
    #[must_use]
    pub fn kind(&self) -> FrontMatterKind {
        self.kind
    }

    /// The line of the opening mark: always the first of the document.
    #[must_use]
    pub fn start_line(&self) -> usize {
        0
    }

    /// The line of the closing mark.
    #[must_use]
    pub fn end_line(&self) -> usize {
        self.end_line
    }

    /// What is between the marks.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The settings as JSON, by the rules of [`crate::yaml`]. An empty block is `null`, and integers
    /// beyond 64 bits are text.
    ///
    /// # Errors
    ///
    /// The text is not YAML, or is too deep or too large when its aliases are followed.
    pub fn parse(&self) -> Result<Value, FrontMatterError> {
        match self.kind {
            FrontMatterKind::Yaml => match parse_document(&self.text, LIMITS) {
                Ok(document) => Ok(value(document.root())),
                // The block begins on the line after its mark.
                Err(fault) => Err(FrontMatterError::Invalid {
                    line: 1 + fault.line,
                    column: fault.column,
                    reason: fault.reason.into(),
                }),
            },
            FrontMatterKind::Toml => Err(FrontMatterError::Toml { end_line: self.end_line }),
        }
    }
}

impl FrontMatterKind {
    pub(super) fn opened_by(line: &[u8]) -> Option<Self> {
        [(Self::Yaml, b"---"), (Self::Toml, b"+++")]
            .into_iter()
            .find(|(_, mark)| line.strip_prefix(*mark).is_some_and(is_blank))
            .map(|(kind, _)| kind)
    }

    pub(super) fn is_closed_by(self, line: &[u8]) -> bool {
        let marks: &[&[u8]] = match self {
            Self::Yaml => &[b"---", b"..."],
            Self::Toml => &[b"+++"],
        };
        marks.iter().any(|mark| line.strip_prefix(*mark).is_some_and(is_blank))
    }
}

/// Recurses as deep as the values are nested, which is bounded.
fn value(view: ValueRef<'_>) -> Value {
    match view.kind() {
        ValueKind::Array => view.elements().map(value).collect(),
        ValueKind::Object => view.members().map(|(key, it)| (key.to_owned(), value(it))).collect(),
        _ => {
            let copy = view.to_value();
            // Whole numbers that do not fit would lose digits.
            let exact = Document::from_value(&copy).is_ok_and(|it| it.root() == view);
            if exact { copy } else { view.to_string().into() }
        }
    }
}

const LIMITS: YamlLimits = YamlLimits { depth: 64, size: 1024 * 1024 };
