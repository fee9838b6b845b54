//! Headers, of which some must not be seen.

use std::fmt;
use std::sync::Arc;

/// A text that is never printed: a key, a token, a password. Cheap to clone.
///
/// ```
/// use haft_providers::transport::Secret;
///
/// let key = Secret::new("sk-1234");
/// assert_eq!(format!("{key} {key:?}"), "[redacted] [redacted]");
/// assert_eq!(key.expose(), "sk-1234");
/// ```
#[derive(Clone)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Keeps a text from being printed.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself. Whoever asks answers for where it goes.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// The value of a header.
#[derive(Clone)]
pub struct HeaderValue {
    text: Secret,
    secret: bool,
}

impl HeaderValue {
    /// The text itself, also of a secret.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.text.expose()
    }
}

impl From<&str> for HeaderValue {
    fn from(text: &str) -> Self {
        Self { text: text.into(), secret: false }
    }
}

impl From<String> for HeaderValue {
    fn from(text: String) -> Self {
        Self { text: text.into(), secret: false }
    }
}

impl From<Secret> for HeaderValue {
    fn from(text: Secret) -> Self {
        Self { text, secret: true }
    }
}

impl fmt::Debug for HeaderValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.secret { f.write_str(REDACTED) } else { self.expose().fmt(f) }
    }
}

/// Headers in the order in which they were given. Names are compared without regard to letter case.
///
/// When they are printed, values that were given as a [`Secret`] and those of headers that carry credentials by their
/// name (`authorization`, `cookie`, `x-api-key` and the like) read `[redacted]`.
#[derive(Clone, Default)]
pub struct Headers {
    entries: Vec<(String, HeaderValue)>,
}

impl Headers {
    /// No headers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a header. One of that name keeps its place and gets this value; further ones go.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<HeaderValue>) {
        let (name, value) = (name.into(), value.into());
        match self.entries.iter().position(|(it, _)| it.eq_ignore_ascii_case(&name)) {
            None => self.entries.push((name, value)),
            Some(first) => {
                let mut at = 0;
                self.entries.retain(|(it, _)| {
                    at += 1;
                    at - 1 <= first || !it.eq_ignore_ascii_case(&name)
                });
                if let Some(entry) = self.entries.get_mut(first) {
                    *entry = (name, value);
                }
            }
        }
    }

    /// Adds a header, beside others of that name.
    pub fn append(&mut self, name: impl Into<String>, value: impl Into<HeaderValue>) {
        self.entries.push((name.into(), value.into()));
    }

    /// Takes all headers of a name away.
    pub fn remove(&mut self, name: &str) {
        self.entries.retain(|(it, _)| !it.eq_ignore_ascii_case(name));
    }

    /// The value of the first header of a name, also if it is secret.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.entries.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.expose())
    }

    /// All names and values in order, also those that are secret.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(name, value)| (name.as_str(), value.expose()))
    }

    /// All names in order, with the values as they may be shown.
    pub fn shown(&self) -> impl Iterator<Item = (&str, &str)> {
        let shown = |secret, text| if secret { REDACTED } else { text };
        self.entries.iter().map(move |(name, value)| {
            (name.as_str(), shown(value.secret || is_credential(name), value.expose()))
        })
    }

    /// The values that must not be shown.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let entries = self.entries.iter();
        let secret = entries.filter(|(name, value)| value.secret || is_credential(name));
        secret.map(|(_, value)| value.expose())
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.shown()).finish()
    }
}

impl<N: Into<String>, V: Into<HeaderValue>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(headers: I) -> Self {
        let entries = headers.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self { entries: entries.collect() }
    }
}

/// Whether headers of this name carry credentials.
pub(crate) fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    CREDENTIALS.contains(&name.as_str()) || ENDINGS.iter().any(|it| name.ends_with(it))
}

pub(crate) const REDACTED: &str = "[redacted]";
const CREDENTIALS: &[&str] = &["api-key", "cookie", "set-cookie"];
/// `authorization`, `proxy-authorization`, `x-goog-api-key`, `x-amz-security-token`, `ocp-apim-subscription-key` …
const ENDINGS: &[&str] = &[
    "authorization",
    "-api-key",
    "-apikey",
    "-auth-key",
    "-auth-token",
    "-access-token",
    "-security-token",
    "-session-token",
    "-subscription-key",
    "-secret",
    "-password",
];
