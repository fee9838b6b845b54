//! What sort of content an artifact has.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The kind of an artifact's content, by name. It determines which queries the model can use on it.
///
/// The names are open: a custom format has its own. A kind that no format reads is treated as text, because text
/// queries work on any content.
///
/// ```
/// use haft_core::artifact::ArtifactKind;
///
/// const LOG: ArtifactKind = ArtifactKind::named("access-log");
/// assert_eq!("access-log".parse(), Ok(LOG));
/// assert!("Access Log".parse::<ArtifactKind>().is_err());
/// assert_eq!(ArtifactKind::default(), ArtifactKind::TEXT);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArtifactKind(Cow<'static, str>);

/// A text that cannot be the name of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name of an artifact kind is 1 to 32 lower-case letters, digits and `-`")]
#[non_exhaustive]
pub struct InvalidArtifactKind;

impl ArtifactKind {
    /// Plain lines of text.
    pub const TEXT: Self = Self::named("text");
    /// JSON, whose notation is detected: one value, one value per line, or JSON5.
    pub const JSON: Self = Self::named("json");
    /// One JSON value per line.
    pub const JSONL: Self = Self::named("jsonl");
    /// Another name for one JSON value per line.
    pub const NDJSON: Self = Self::named("ndjson");
    /// JSON5.
    pub const JSON5: Self = Self::named("json5");
    /// Markdown.
    pub const MARKDOWN: Self = Self::named("markdown");
    /// YAML.
    pub const YAML: Self = Self::named("yaml");
    /// XML.
    pub const XML: Self = Self::named("xml");
    /// Rows of fields, separated by commas, semicolons, tabs or bars.
    pub const CSV: Self = Self::named("csv");

    /// A kind by a name that is known when the program is compiled.
    ///
    /// # Panics
    ///
    /// The name is not 1 to 32 lower-case letters, digits and `-`. In a `const`, where it should be used, this is a
    /// compile error.
    #[must_use]
    #[expect(clippy::panic, reason = "meant for constants, where it stops the compiler")]
    pub const fn named(name: &'static str) -> Self {
        if !is_name(name.as_bytes()) {
            panic!("the name of an artifact kind is 1 to 32 lower-case letters, digits and `-`");
        }
        Self(Cow::Borrowed(name))
    }

    /// The kind by the extension of a file name; text if the extension is unknown.
    ///
    /// ```
    /// use haft_core::artifact::ArtifactKind;
    ///
    /// assert_eq!(ArtifactKind::of_file_name("data/Prices.CSV"), ArtifactKind::CSV);
    /// assert_eq!(ArtifactKind::of_file_name("notes"), ArtifactKind::TEXT);
    /// ```
    #[must_use]
    pub fn of_file_name(path: &str) -> Self {
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let (_, extension) = name.rsplit_once('.').unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "json" | "geojson" | "ipynb" => Self::JSON,
            "jsonl" | "ndjson" => Self::JSONL,
            "json5" | "jsonc" => Self::JSON5,
            "md" | "markdown" | "mdx" => Self::MARKDOWN,
            "csv" | "tsv" => Self::CSV,
            "yaml" | "yml" => Self::YAML,
            "xml" | "svg" | "rss" | "atom" | "xhtml" => Self::XML,
            _ => Self::TEXT,
        }
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Plain text.
impl Default for ArtifactKind {
    fn default() -> Self {
        Self::TEXT
    }
}

impl FromStr for ArtifactKind {
    type Err = InvalidArtifactKind;

    fn from_str(name: &str) -> Result<Self, InvalidArtifactKind> {
        name.to_owned().try_into()
    }
}

impl TryFrom<String> for ArtifactKind {
    type Error = InvalidArtifactKind;

    fn try_from(name: String) -> Result<Self, InvalidArtifactKind> {
        if is_name(name.as_bytes()) { Ok(Self(Cow::Owned(name))) } else { Err(InvalidArtifactKind) }
    }
}

impl From<ArtifactKind> for String {
    fn from(kind: ArtifactKind) -> Self {
        kind.0.into_owned()
    }
}

impl fmt::Display for ArtifactKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

const fn is_name(mut name: &[u8]) -> bool {
    if name.is_empty() || name.len() > 32 {
        return false;
    }
    while let [first, rest @ ..] = name {
        if !matches!(first, b'a'..=b'z' | b'0'..=b'9' | b'-') {
            return false;
        }
        name = rest;
    }
    true
}
