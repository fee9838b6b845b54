//! What a call would change, for the person who approves it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a call would change, in a form to read. It informs the person who approves the call; the approval binds the
/// arguments. The text may contain untrusted content: a program that prints it must escape control characters.
///
/// ```
/// use haft_core::tool::{CallPreview, PreviewKind};
///
/// let preview = CallPreview::diff("-one\n+two\n");
/// assert_eq!((preview.kind, preview.is_cut), (PreviewKind::Diff, false));
/// let long = CallPreview::text("line\n".repeat(100_000));
/// assert!(long.is_cut && long.text.len() <= CallPreview::MAX_BYTES);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct CallPreview {
    /// What the text is.
    pub kind: PreviewKind,
    /// The text.
    pub text: String,
    /// Whether lines at the end were left out.
    #[serde(default, rename = "cut", skip_serializing_if = "is_false")]
    pub is_cut: bool,
}

/// What the text of a [`CallPreview`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PreviewKind {
    /// A unified diff.
    Diff,
    /// Words.
    Text,
}

impl CallPreview {
    /// The maximum number of bytes that a preview has. Lines that do not fit are left out.
    pub const MAX_BYTES: usize = 32 * 1024;

    /// A unified diff.
    #[must_use]
    pub fn diff(text: impl Into<String>) -> Self {
        Self::new(PreviewKind::Diff, text.into())
    }

    /// Words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(PreviewKind::Text, text.into())
    }

    fn new(kind: PreviewKind, mut text: String) -> Self {
        let is_cut = text.len() > Self::MAX_BYTES;
        if is_cut {
            let end = (0..=Self::MAX_BYTES).rev().find(|at| text.is_char_boundary(*at));
            text.truncate(end.unwrap_or_default());
            // A line is shown whole, unless it is the only one.
            if let Some(end) = text.rfind('\n') {
                text.truncate(end + 1);
            }
        }
        Self { kind, text, is_cut }
    }
}

/// The text, and that lines were left out.
impl fmt::Display for CallPreview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.is_cut { f.write_str("(further lines are left out)\n") } else { Ok(()) }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde requires")]
fn is_false(value: &bool) -> bool {
    !value
}
