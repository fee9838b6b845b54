//! Text from other sources that is outside of envelopes: descriptions and schemas of tools, and arguments of calls.

use std::borrow::Cow;

use super::TrustTier;
use super::control_tokens::neutralize_tokens;
use super::envelope::PromptRenderer;
use super::fold::is_invisible;
use super::sanitize::neutralize;
use crate::json::{Document, JsonWriter, ValueKind, ValueRef};

/// A text from another source in the definition of a tool, such as the description that a server gives its tool.
///
/// A model reads the definitions of tools outside of any envelope. So reserved tags and control tokens in such a text are inert, invisible
/// characters are removed, it is truncated after [`MAX_CHARS`](Self::MAX_CHARS) characters, and the model is told that
/// a third party wrote it unless its tier is first-party.
///
/// ```
/// use haft_core::trust::{ForeignText, TrustTier};
///
/// let text = ForeignText::new("Adds.</untrusted_content>\u{202E}", TrustTier::ThirdPartyPublic);
/// assert_eq!(text.as_str(), "Adds.&lt;/untrusted_content>");
/// assert_eq!(text.tier(), TrustTier::ThirdPartyPublic);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignText {
    text: String,
    tier: TrustTier,
}

impl ForeignText {
    /// The maximum number of characters of a text; the rest is removed.
    pub const MAX_CHARS: usize = 4096;

    /// A text with the tier of its source.
    #[must_use]
    pub fn new(text: &str, tier: TrustTier) -> Self {
        let seen = text.chars().filter(|ch| !is_invisible(*ch));
        let cut = seen.clone().count() > Self::MAX_CHARS;
        let mut text: String = seen.take(Self::MAX_CHARS).collect();
        if cut {
            text.push('…');
        }
        Self { text: sanitized_definition(&text).into_owned(), tier }
    }

    /// The text, which may stand in the definition of a tool.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }

    /// The tier of its source.
    #[must_use]
    pub const fn tier(&self) -> TrustTier {
        self.tier
    }
}

/// Makes the reserved tags and the control tokens of chat templates in a text of a tool definition inert, also if the
/// developer of the application wrote the text. Templates put definitions into the turn of the system, whichever server
/// applies them.
///
/// ```
/// use haft_core::trust::sanitized_definition;
///
/// assert_eq!(sanitized_definition("Reads <b>.</message>"), "Reads <b>.&lt;/message>");
/// assert_eq!(sanitized_definition("Adds.<|im_end|>"), "Adds.< |im_end|>");
/// ```
#[must_use]
pub fn sanitized_definition(text: &str) -> Cow<'_, str> {
    match neutralize_tokens(text) {
        Cow::Borrowed(text) => neutralize(text),
        Cow::Owned(text) => Cow::Owned(neutralize(&text).into_owned()),
    }
}

impl PromptRenderer {
    /// The arguments of a call as they may stand in a request: the same text, unless a key or a string in them has a reserved
    /// tag or, where that matters, a control token.
    ///
    /// ```
    /// use haft_core::trust::{EnvelopeKey, PromptRenderer};
    ///
    /// let renderer = PromptRenderer::new(EnvelopeKey::from_bytes([7; 32]));
    /// assert_eq!(renderer.call_args(r#"{"a": 1.50}"#), r#"{"a": 1.50}"#);
    /// let escaped = r#"{"a":"\u003c/message>"}"#;
    /// assert_eq!(renderer.call_args(escaped), r#"{"a":"&lt;/message>"}"#);
    /// ```
    #[must_use]
    pub fn call_args<'a>(&self, args: &'a str) -> Cow<'a, str> {
        let plain = self.clean(args);
        if !args.contains('\\') {
            return plain.into_cow();
        }
        // An escape can hide a tag from a look at the text, and not from the model.
        let Ok(document) = Document::parse(args) else { return plain.into_cow() };
        if self.is_clean(document.root()) {
            return plain.into_cow();
        }
        let mut out = JsonWriter::new();
        self.write_clean(document.root(), &mut out);
        Cow::Owned(out.finish().root().to_string())
    }

    /// Whether no key and no string of a value has to change. As deep as documents are, which is bounded.
    fn is_clean(&self, value: ValueRef<'_>) -> bool {
        let is_same = |text: &str| matches!(self.clean(text).into_cow(), Cow::Borrowed(_));
        match value.kind() {
            ValueKind::String => value.as_str().is_none_or(is_same),
            ValueKind::Array => value.elements().all(|it| self.is_clean(it)),
            ValueKind::Object => value.members().all(|(key, it)| is_same(key) && self.is_clean(it)),
            _ => true,
        }
    }

    /// Writes a value with every key and every string cleaned. Numbers keep their digits.
    fn write_clean(&self, value: ValueRef<'_>, out: &mut JsonWriter) {
        match value.kind() {
            ValueKind::String => {
                out.string(&self.clean(value.as_str().unwrap_or_default()).into_cow());
            }
            ValueKind::Array => {
                out.array(|out| value.elements().for_each(|it| self.write_clean(it, out)));
            }
            ValueKind::Object => {
                out.object(|out| {
                    for (key, it) in value.members() {
                        self.write_clean(it, out.key(&self.clean(key).into_cow()));
                    }
                });
            }
            _ => {
                out.view(value);
            }
        }
    }
}
