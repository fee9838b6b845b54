//! The names of the tools that the model was shown.

use std::sync::Arc;

use super::cursor::is_name_part;

/// Sorted names; copies share them.
#[derive(Clone, Debug)]
pub(super) struct OfferedNames {
    names: Arc<[String]>,
    /// Bytes of the longest one.
    longest: usize,
}

impl OfferedNames {
    pub(super) fn new(names: &[&str]) -> Self {
        let mut names: Vec<String> =
            names.iter().filter(|it| !it.is_empty()).map(|it| (*it).to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        let longest = names.iter().map(String::len).max().unwrap_or(0);
        Self { names: names.into(), longest }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.binary_search_by(|it| it.as_str().cmp(name)).is_ok()
    }

    /// Whether an offered name begins with this text.
    pub(super) fn has_prefix(&self, start: &str) -> bool {
        let at = self.names.partition_point(|it| it.as_str() < start);
        self.names.get(at).is_some_and(|it| it.starts_with(start))
    }

    /// Where the first offered name begins that stands right before `open` in `text[from..to]`, and is no
    /// part of a longer word.
    pub(super) fn find(&self, text: &str, from: usize, to: usize, open: u8) -> Option<usize> {
        if self.names.is_empty() {
            return None;
        }
        let bytes = text.as_bytes().get(from..to)?;
        memchr::memchr_iter(open, bytes)
            .map(|at| from + at)
            .filter_map(|end| self.word_before(text, end).map(|start| (start, end)))
            .find(|(start, end)| {
                *start >= from && text.get(*start..*end).is_some_and(|it| self.has(it))
            })
            .map(|(start, _)| start)
    }

    /// How many bytes at the end of `text[from..]` can be the beginning of an offered name.
    pub(super) fn held_back(&self, text: &str, from: usize) -> usize {
        let word = self.word_before(text, text.len()).filter(|start| *start >= from);
        let word = word.and_then(|start| text.get(start..)).unwrap_or_default();
        if self.has_prefix(word) { word.len() } else { 0 }
    }

    /// Where the word that ends at `end` begins, or `None` if it is too long to be offered or stands
    /// inside something that is quoted.
    fn word_before(&self, text: &str, end: usize) -> Option<usize> {
        let before = text.get(..end)?;
        let mut start = end;
        for it in before.chars().rev() {
            if !is_name_part(it) {
                return is_free(it).then_some(start);
            }
            start -= it.len_utf8();
            if end - start > self.longest {
                return None;
            }
        }
        Some(start)
    }
}

/// True when a call can begin right behind this character: it is not the beginning of a quotation, nor a
/// part of a longer name.
pub(super) fn is_free(before: char) -> bool {
    !is_name_part(before) && !matches!(before, '"' | '\'' | '\\' | '/' | ':' | '@' | '$' | '#')
}
