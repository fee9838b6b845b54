//! Takes secrets out of texts that others wrote.

use super::Request;
use super::headers::REDACTED;

/// What must not be seen, in every spelling in which it may come back.
#[derive(Clone, Default)]
pub(crate) struct Scrubber {
    /// Longest first, so that no part of a longer one is left.
    needles: Vec<Vec<u8>>,
}

impl Scrubber {
    /// What a request must not show: credentials of its headers and of its URL.
    pub(crate) fn of(request: &Request) -> Self {
        let mut scrubber = Self::default();
        for value in request.headers.secrets() {
            scrubber.add(value);
            // `Bearer …`: what comes back is the token, without the scheme.
            if let Some((_, token)) = value.split_once(' ') {
                scrubber.add(token.trim());
            }
        }
        super::url::secrets(&request.url).for_each(|value| scrubber.add(value));
        scrubber
    }

    /// Adds a text. Those of fewer than four bytes are passed over: they would be found everywhere.
    pub(crate) fn add(&mut self, text: &str) {
        if text.len() < SHORTEST {
            return;
        }
        let json = serde_json::to_string(text).unwrap_or_default();
        let json = json.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or_default();
        for spelling in [text.to_owned(), json.to_owned(), encoded(text), decoded(text)] {
            let spelling = spelling.into_bytes();
            if spelling.len() >= SHORTEST && !self.needles.contains(&spelling) {
                self.needles.push(spelling);
            }
        }
        self.needles.sort_by_key(|it| std::cmp::Reverse(it.len()));
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        for needle in &other.needles {
            if !self.needles.contains(needle) {
                self.needles.push(needle.clone());
            }
        }
        self.needles.sort_by_key(|it| std::cmp::Reverse(it.len()));
    }

    /// A text without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// Bytes without secrets.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.chunks(&[bytes]).concat()
    }

    /// The beginning of a text that was cut off: also without a secret of which only the beginning is there.
    pub(crate) fn beginning(&self, bytes: &[u8]) -> Vec<u8> {
        let cut = self.needles.iter().map(|needle| begun(bytes, needle)).max().unwrap_or(0);
        let kept = bytes.get(..bytes.len() - cut).unwrap_or_default();
        let mut out = self.bytes(kept);
        if cut > 0 {
            out.extend_from_slice(REDACTED.as_bytes());
        }
        out
    }

    /// The chunks of one body without secrets, also without those that go over a border. What stands for a secret
    /// stands in the chunk where it began.
    pub(crate) fn chunks(&self, chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let whole = chunks.concat();
        let found = self.find(&whole);
        let mut found = found.into_iter().peekable();
        let mut out = Vec::with_capacity(chunks.len());
        let mut at = 0;
        let mut border = 0;
        for chunk in chunks {
            border += chunk.len();
            let mut clean = Vec::with_capacity(chunk.len());
            while let Some((start, end)) = found.next_if(|(start, _)| *start < border) {
                clean.extend_from_slice(whole.get(at..start).unwrap_or_default());
                clean.extend_from_slice(REDACTED.as_bytes());
                at = end;
            }
            clean.extend_from_slice(whole.get(at..border).unwrap_or_default());
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

/// Says nothing of what it looks for.
impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scrubber({} spellings)", self.needles.len())
    }
}

/// How many bytes at the end may be the beginning of this, without all of it being there.
fn begun(bytes: &[u8], needle: &[u8]) -> usize {
    let longest = bytes.len().min(needle.len().saturating_sub(1));
    let begins = |len: &usize| needle.get(..*len).is_some_and(|it| bytes.ends_with(it));
    (SHORTEST..=longest).rev().find(begins).unwrap_or(0)
}

/// With everything percent-encoded that a query value may not have.
fn encoded(text: &str) -> String {
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
fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let byte = tail.first_chunk::<2>().filter(|_| *first == b'%');
        let byte = byte.and_then(|it| u8::from_str_radix(str::from_utf8(it).ok()?, 16).ok());
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&out).into_owned()
}

const SHORTEST: usize = 4;
