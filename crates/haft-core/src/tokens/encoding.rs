//! The encodings, by name.

use std::fmt;
use std::str::FromStr;

use super::UnknownEncoding;

/// An encoding that tokens are counted in.
///
/// ```
/// use haft_core::tokens::Encoding;
///
/// assert_eq!("o200k_base".parse::<Encoding>()?, Encoding::O200kBase);
/// assert_eq!(Encoding::Claude.as_str(), "claude");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// GPT-2; counts as [`R50kBase`](Self::R50kBase) does.
    Gpt2,
    /// GPT-3.
    R50kBase,
    /// GPT-3 models for code.
    P50kBase,
    /// GPT-3 models that edit.
    P50kEdit,
    /// GPT-3.5 and GPT-4.
    Cl100kBase,
    /// GPT-4o and later.
    O200kBase,
    /// Gemini.
    Gemini,
    /// Gemma; the vocabulary of Gemini.
    Gemma,
    /// Llama 2, without the token that begins a text.
    Llama2,
    /// Claude, whose tokens are not published.
    Claude,
}

impl Encoding {
    /// All encodings, in the order in which they are listed to users.
    pub const ALL: &[Self] = &[
        Self::Gpt2,
        Self::R50kBase,
        Self::P50kBase,
        Self::P50kEdit,
        Self::Cl100kBase,
        Self::O200kBase,
        Self::Gemini,
        Self::Gemma,
        Self::Llama2,
        Self::Claude,
    ];

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gpt2 => "gpt2",
            Self::R50kBase => "r50k_base",
            Self::P50kBase => "p50k_base",
            Self::P50kEdit => "p50k_edit",
            Self::Cl100kBase => "cl100k_base",
            Self::O200kBase => "o200k_base",
            Self::Gemini => "gemini",
            Self::Gemma => "gemma",
            Self::Llama2 => "llama2",
            Self::Claude => "claude",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        let found = Self::ALL.iter().find(|encoding| encoding.as_str() == name);
        found.copied().ok_or_else(|| UnknownEncoding::new(name, std::iter::empty()))
    }
}
