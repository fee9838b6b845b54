//! Where a value lives in a store, parsed once.

use std::fmt;
use std::sync::Arc;

/// The place of a value: a list of keys and array indices.
///
/// From text, segments are separated by dots and there is no escape; the empty text is the one
/// segment `""`. From a list, every element is one segment, so keys that contain dots are
/// reachable. An empty list is the place of the store itself, which can be read but not written.
///
/// A path is cheap to clone; keep one around instead of parsing the same text again and again.
///
/// ```
/// use haft_core::stash::{StashPath, Stash};
///
/// let store = Stash::new();
/// store.set(["hosts", "example.org"], 1)?;
/// assert!(store.has(["hosts", "example.org"]));
/// assert!(!store.has("hosts.example.org"));
/// assert_eq!(StashPath::from("a.b.0").segments().collect::<Vec<_>>(), ["a", "b", "0"]);
/// # Ok::<(), haft_core::stash::StashError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct StashPath(Arc<[StashSegment]>);

/// One step of a path. What it means depends on the container it is applied to.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct StashSegment {
    key: Arc<str>,
    /// The key as an array index, or `None` unless it is spelled as one.
    index: Option<usize>,
}

impl StashPath {
    /// The segments, outermost first.
    #[must_use]
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|segment| &*segment.key)
    }

    pub(super) fn steps(&self) -> &[StashSegment] {
        &self.0
    }

    /// The first `len` segments.
    pub(super) fn prefix(&self, len: usize) -> Self {
        self.0.iter().take(len).cloned().collect()
    }
}

impl StashSegment {
    pub(super) fn new(key: Arc<str>) -> Self {
        let index = array_index(&key);
        Self { key, index }
    }

    pub(super) fn key(&self) -> &Arc<str> {
        &self.key
    }

    pub(super) fn index(&self) -> Option<usize> {
        self.index
    }
}

/// The index that `key` spells: digits without leading zeros. Saturates, which is past every limit.
fn array_index(key: &str) -> Option<usize> {
    let canonical = key == "0"
        || (!key.is_empty() && !key.starts_with('0') && key.bytes().all(|it| it.is_ascii_digit()));
    canonical.then(|| key.parse().unwrap_or(usize::MAX))
}

impl FromIterator<StashSegment> for StashPath {
    fn from_iter<I: IntoIterator<Item = StashSegment>>(segments: I) -> Self {
        Self(segments.into_iter().collect())
    }
}

impl<S: AsRef<str>> FromIterator<S> for StashPath {
    fn from_iter<I: IntoIterator<Item = S>>(segments: I) -> Self {
        segments.into_iter().map(|it| StashSegment::new(Arc::from(it.as_ref()))).collect()
    }
}

impl From<&str> for StashPath {
    fn from(text: &str) -> Self {
        text.split('.').collect()
    }
}

impl From<&String> for StashPath {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for StashPath {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&Self> for StashPath {
    fn from(path: &Self) -> Self {
        path.clone()
    }
}

impl<S: AsRef<str>> From<&[S]> for StashPath {
    fn from(segments: &[S]) -> Self {
        segments.iter().collect()
    }
}

impl<S: AsRef<str>, const N: usize> From<&[S; N]> for StashPath {
    fn from(segments: &[S; N]) -> Self {
        segments.iter().collect()
    }
}

impl<S: AsRef<str>, const N: usize> From<[S; N]> for StashPath {
    fn from(segments: [S; N]) -> Self {
        segments.iter().collect()
    }
}

impl<S: AsRef<str>> From<Vec<S>> for StashPath {
    fn from(segments: Vec<S>) -> Self {
        segments.iter().collect()
    }
}

/// The segments joined by dots. Keys with dots make this ambiguous; [`StashPath::segments`] is exact.
impl fmt::Display for StashPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.segments().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            f.write_str(segment)?;
        }
        Ok(())
    }
}

impl fmt::Debug for StashPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.segments()).finish()
    }
}
