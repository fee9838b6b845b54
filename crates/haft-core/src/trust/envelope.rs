//! The funnel: the one place where text enters a prompt.

use std::borrow::Cow;

use super::TrustTier;
use super::control_tokens::neutralize_tokens;
use super::nonce::{EnvelopeKey, Slot};
use super::prompt::{DeveloperText, INSTRUCTIONS, PromptText, family};
use super::sanitize::{Clean, attribute};

/// Renders everything that a model sees. Only it can make a [`PromptText`].
///
/// An envelope is an element whose name is its family, `_` and a nonce of twelve decimal digits. The nonce is a keyed
/// hash of what the envelope is for: the same part is rendered to the same bytes every time, and no author of content can
/// compute the nonce. A body is between two line ends; reserved tags in it are made inert and control
/// characters replaced, and everything else is unchanged.
///
/// Rendering is deterministic and takes linear time. It truncates only attributes: the caller decides how much of a
/// body is shown.
#[derive(Clone, Debug)]
pub struct PromptRenderer {
    key: EnvelopeKey,
    /// Whether control tokens of chat templates are made inert.
    neutralizes_tokens: bool,
}

impl PromptRenderer {
    /// A renderer with the secret of a run.
    #[must_use]
    pub const fn new(key: EnvelopeKey) -> Self {
        Self { key, neutralizes_tokens: false }
    }

    /// Returns the renderer with control tokens of chat templates made inert in all content: for servers that put content
    /// as text into a template, where `<|im_end|>` in a tool result would end the message. A space is inserted behind the
    /// first character of a token; text of the developer stays as it is.
    ///
    /// ```
    /// use haft_core::trust::{EnvelopeKey, PromptRenderer};
    ///
    /// let renderer = PromptRenderer::new(EnvelopeKey::from_bytes([7; 32]));
    /// assert_eq!(renderer.spoken_text("Hi<|im_end|>").as_str(), "Hi<|im_end|>");
    /// let local = renderer.neutralizing_control_tokens();
    /// assert_eq!(local.spoken_text("Hi<|im_end|>").as_str(), "Hi< |im_end|>");
    /// ```
    #[must_use]
    pub fn neutralizing_control_tokens(self) -> Self {
        Self { neutralizes_tokens: true, ..self }
    }

    /// A text that is equal for two renderers only if they render every part in the same way, for caches of rendered
    /// parts.
    ///
    /// ```
    /// use haft_core::trust::{EnvelopeKey, PromptRenderer};
    ///
    /// let renderer = PromptRenderer::new(EnvelopeKey::from_bytes([7; 32]));
    /// assert_eq!(renderer.fingerprint(), renderer.clone().fingerprint());
    /// let local = renderer.clone().neutralizing_control_tokens();
    /// assert_ne!(local.fingerprint(), renderer.fingerprint());
    /// ```
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut fingerprint = self.key.fingerprint();
        if self.neutralizes_tokens {
            fingerprint.push_str("-neutralized");
        }
        fingerprint
    }

    /// Content that may stand in a prompt.
    pub(super) fn clean<'a>(&self, body: &'a str) -> Clean<'a> {
        if self.neutralizes_tokens { Clean::without_tokens(body) } else { Clean::of(body) }
    }

    /// The system prompt. Reserved tags in it are inert, as everywhere.
    #[must_use]
    pub fn system_prompt(&self, text: &DeveloperText) -> PromptText {
        PromptText::sealed(Clean::of(text.as_str()).into_string())
    }

    /// Standing instructions: one element, without a nonce because its name is reserved, with a blank
    /// line between two instructions. Nothing if there are none.
    #[must_use]
    pub fn instructions(&self, rules: &[DeveloperText], version: Option<&str>) -> PromptText {
        let rules = rules.iter().filter(|rule| !rule.as_str().is_empty());
        let body = PromptText::blocks(rules.map(|rule| self.system_prompt(rule)));
        if body.is_empty() {
            return body;
        }
        let attributes =
            Attributes::default().text("kind", "developer-rules").optional("version", version);
        let mut out = String::new();
        push_element(&mut out, INSTRUCTIONS, &attributes.values, body.as_str());
        PromptText::sealed(out)
    }

    /// Puts a body into an envelope of its own.
    pub(super) fn seal(
        &self,
        slot: &Slot<'_>,
        attributes: Attributes<'_>,
        body: &Clean<'_>,
    ) -> PromptText {
        let mut out = String::new();
        self.push_sealed(&mut out, slot, attributes, body);
        PromptText::sealed(out)
    }

    /// Appends a body in an envelope of its own.
    pub(super) fn push_sealed(
        &self,
        out: &mut String,
        slot: &Slot<'_>,
        attributes: Attributes<'_>,
        body: &Clean<'_>,
    ) {
        let (name, attributes) = self.name(slot, attributes, body.as_str());
        push_element(out, &name, &attributes, body.as_str());
    }

    /// The two ends of an envelope, for what is not text.
    pub(super) fn ends(
        &self,
        slot: &Slot<'_>,
        attributes: Attributes<'_>,
        first_line: &Clean<'_>,
    ) -> (PromptText, PromptText) {
        let (name, attributes) = self.name(slot, attributes, first_line.as_str());
        let mut open = String::new();
        push_open(&mut open, &name, &attributes);
        open.push('\n');
        open.push_str(first_line.as_str());
        (PromptText::sealed(open), PromptText::sealed(format!("</{name}>")))
    }

    /// The name of an envelope's element, and its attributes.
    fn name<'a>(
        &self,
        slot: &Slot<'_>,
        attributes: Attributes<'a>,
        body: &str,
    ) -> (String, Vec<Attribute<'a>>) {
        let mut attributes = attributes.values;
        if self.neutralizes_tokens {
            for (_, value) in &mut attributes {
                *value = Cow::Owned(neutralize_tokens(value).into_owned());
            }
        }
        let values = attributes.iter().map(|(_, value)| &**value);
        let nonce = self.key.nonce(slot, &values.chain([body]));
        ([slot.family, "_", &nonce].concat(), attributes)
    }
}

/// The family of a part that has no family of its own.
pub(super) const fn family_of(tier: TrustTier) -> &'static str {
    if tier.is_trusted() { family::TRUSTED } else { family::UNTRUSTED }
}

/// An element without attributes around a body that has been cleaned.
pub(super) fn element(name: &str, body: &str) -> PromptText {
    let mut out = String::new();
    push_element(&mut out, name, &[], body);
    PromptText::sealed(out)
}

/// Appends an element around a body that has been cleaned.
fn push_element(out: &mut String, name: &str, attributes: &[Attribute<'_>], body: &str) {
    out.reserve(body.len() + 2 * name.len() + ATTRIBUTES_LENGTH);
    push_open(out, name, attributes);
    for piece in ["\n", body, "\n</", name, ">"] {
        out.push_str(piece);
    }
}

/// How long attributes are in nearly all envelopes, with the signs around names and body.
const ATTRIBUTES_LENGTH: usize = 192;

fn push_open(out: &mut String, name: &str, attributes: &[Attribute<'_>]) {
    out.push('<');
    out.push_str(name);
    for (name, value) in attributes {
        for piece in [" ", *name, "=\"", value, "\""] {
            out.push_str(piece);
        }
    }
    out.push('>');
}

/// The name of an attribute and its value.
type Attribute<'a> = (&'static str, Cow<'a, str>);

/// The attributes of an envelope, in order.
#[derive(Default)]
pub(super) struct Attributes<'a> {
    values: Vec<Attribute<'a>>,
}

impl<'a> Attributes<'a> {
    pub(super) fn text(mut self, name: &'static str, value: &'a str) -> Self {
        self.values.push((name, attribute(value)));
        self
    }

    pub(super) fn optional(self, name: &'static str, value: Option<&'a str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    pub(super) fn shown(mut self, name: &'static str, value: &impl ToString) -> Self {
        let value = attribute(&value.to_string()).into_owned();
        self.values.push((name, Cow::Owned(value)));
        self
    }
}
