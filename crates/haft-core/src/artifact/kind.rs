//! What sort of content an artifact has.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::id::checked_name;

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
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArtifactKind(Cow<'static, str>);

impl ArtifactKind {
    /// Plain lines of text.
    pub const TEXT: Self = Self::named("text");
    /// JSON, whose notation is detected: one value, or one value per line.
    pub const JSON: Self = Self::named("json");
    /// One JSON value per line.
    pub const JSONL: Self = Self::named("jsonl");
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
            "md" | "markdown" | "mdx" => Self::MARKDOWN,
            "csv" | "tsv" => Self::CSV,
            "yaml" | "yml" => Self::YAML,
            "xml" | "svg" | "rss" | "atom" | "xhtml" => Self::XML,
            _ => Self::TEXT,
        }
    }
}

/// Plain text.
impl Default for ArtifactKind {
    fn default() -> Self {
        Self::TEXT
    }
}

checked_name!(
    ArtifactKind,
    "the name of an artifact kind",
    "has to be 1 to 32 lower-case letters, digits and `-`",
    |text| is_name(text.as_bytes())
);

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
