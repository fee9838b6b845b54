//! Removal of secrets from text that another party wrote.

use std::fmt;

use http::Request;

use crate::redact::{self, REDACTED};

/// Finds secrets in every spelling in which they may come back (plain, in JSON, percent-encoded) and replaces them.
///
/// ```
/// use haft_http::Scrubber;
///
/// let request = http::Request::get("https://example.com/").header("authorization", "Bearer sk-1234").body(())?;
/// let scrubber = Scrubber::for_request(&request);
/// assert_eq!(scrubber.scrub_text("no such key: sk-1234"), "no such key: [redacted]");
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Scrubber {
    /// Longest first, so that no part of a longer one is left.
    needles: Vec<Vec<u8>>,
}

impl Scrubber {
    /// A scrubber for the credentials in the headers and in the URL of a request.
    #[must_use]
    pub fn for_request<B>(request: &Request<B>) -> Self {
        let mut scrubber = Self::default();
        for value in redact::header_secrets(request.headers()) {
            scrubber.add(&value);
            // `Bearer …`: what comes back is the token, without the scheme.
            if let Some((_, token)) = value.split_once(' ') {
                scrubber.add(token.trim());
            }
        }
        let uri = request.uri().to_string();
        redact::url_secrets(&uri).for_each(|value| scrubber.add(value));
        scrubber
    }

    /// Adds a secret. One of fewer than four bytes is ignored, because it would be found everywhere.
    pub fn add(&mut self, secret: &str) {
        if secret.len() < SHORTEST {
            return;
        }
        let json = serde_json::to_string(secret).unwrap_or_default();
        let json = json.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or_default();
        for spelling in
            [secret.to_owned(), json.to_owned(), percent_encoded(secret), percent_decoded(secret)]
        {
            let spelling = spelling.into_bytes();
            if spelling.len() >= SHORTEST && !self.needles.contains(&spelling) {
                self.needles.push(spelling);
            }
        }
        self.needles.sort_by_key(|it| std::cmp::Reverse(it.len()));
    }

    /// Adds the secrets of another scrubber.
    pub fn extend(&mut self, other: &Self) {
        for needle in &other.needles {
            if !self.needles.contains(needle) {
                self.needles.push(needle.clone());
            }
        }
        self.needles.sort_by_key(|it| std::cmp::Reverse(it.len()));
    }

    /// Returns a text without secrets.
    #[must_use]
    pub fn scrub_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.scrub_bytes(text.as_bytes())).into_owned()
    }

    /// Returns bytes without secrets.
    #[must_use]
    pub fn scrub_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.scrub_chunks(&[bytes]).concat()
    }

    /// Returns the beginning of a longer text without secrets, and without a secret that is truncated at its end.
    #[must_use]
    pub fn scrub_prefix(&self, bytes: &[u8]) -> Vec<u8> {
        let cut = self.needles.iter().map(|needle| partial_len(bytes, needle)).max().unwrap_or(0);
        let (kept, _) = bytes.split_at_checked(bytes.len() - cut).unwrap_or((bytes, &[]));
        let mut out = self.scrub_bytes(kept);
        if cut > 0 {
            out.extend_from_slice(REDACTED.as_bytes());
        }
        out
    }

    /// Returns the chunks of one body without secrets, including secrets that cross the border of two chunks. The
    /// replacement is in the chunk in which the secret began.
    #[must_use]
    pub fn scrub_chunks(&self, chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let whole = chunks.concat();
        let mut found = self.find(&whole).into_iter().peekable();
        let mut out = Vec::with_capacity(chunks.len());
        let mut at = 0;
        let mut border = 0;
        for chunk in chunks {
            border += chunk.len();
            let mut clean = Vec::with_capacity(chunk.len());
            while let Some((start, end)) = found.next_if(|(start, _)| *start < border) {
                if let Some(kept) = whole.get(at..start) {
                    clean.extend_from_slice(kept);
                }
                clean.extend_from_slice(REDACTED.as_bytes());
                at = end;
            }
            // There is no rest if a secret crosses the border.
            if let Some(rest) = whole.get(at..border) {
                clean.extend_from_slice(rest);
            }
            at = at.max(border);
            out.push(clean);
        }
        out
    }

    /// Where secrets are, in order and without overlap.
    fn find(&self, bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        for needle in &self.needles {
            let finder = memchr::memmem::find_iter(bytes, needle);
            found.extend(finder.map(|start| (start, start + needle.len())));
        }
        found.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::with_capacity(found.len());
        for (start, end) in found {
            match merged.last_mut() {
                Some(last) if start < last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        merged
    }
}

/// Prints nothing of what it looks for.
impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scrubber({} spellings)", self.needles.len())
    }
}

/// How many bytes at the end may be the beginning of this needle, without all of it being there.
fn partial_len(bytes: &[u8], needle: &[u8]) -> usize {
    let longest = bytes.len().min(needle.len().saturating_sub(1));
    let begins = |len: &usize| needle.get(..*len).is_some_and(|it| bytes.ends_with(it));
    (SHORTEST..=longest).rev().find(begins).unwrap_or(0)
}

/// With everything percent-encoded that a query value may not have.
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Without percent-encoding.
fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = tail.split_first_chunk::<2>().filter(|_| *first == b'%');
        let decoded = escaped.and_then(|(digits, after)| {
            Some((u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?, after))
        });
        let (byte, after) = decoded.unwrap_or((*first, tail));
        out.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&out).into_owned()
}

const SHORTEST: usize = 4;
