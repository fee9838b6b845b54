//! `JSONPath`: finding values in a document by a path that a model wrote.
//!
//! The language is RFC 9535 in full, and the spellings that other dialects taught models to write. A path is parsed once, is immutable and is cheap to clone. Whatever is not a path is a
//! [`PathError`] that says where, what was expected and what to write instead: no malformed path
//! silently matches nothing.
//!
//! Evaluation walks the [`ValueRef`]s of a document, allocates nothing per value and stays within
//! [`SelectionLimits`]. It recurses only into nested filters, and into lists and objects that are compared
//! with each other; both are bounded. So neither a hostile path nor a hostile document can exhaust
//! anything.
//!
//! # What is added to RFC 9535
//!
//! | Spelling | Meaning |
//! |---|---|
//! | `store.book`, `.a`, `[0]`, `..a` | the leading `$` is optional |
//! | white space around the path | ignored |
//! | `$.content-type` | outside of filters a name may contain `-` |
//! | `===`, `!==` | `==`, `!=` |
//! | `@.s =~ /x/i`, `/x/i.test(@.s)` | `search(@.s, '(?i)x')`; flags `i`, `m`, `g` and `u` |
//! | `@.tags.length > 2` | in comparisons: the member `length`, or else the length of a list or string |
//! | `[(@.length-1)]` | `[-1]` |
//!
//! A pattern that stands in the path and does not compile is refused, while RFC 9535 asks for no match. What else other
//! dialects know (parents, member names, arithmetic, scripts, methods) is refused with a hint. A path of RFC 9535 selects
//! what the RFC says, except where a filter compares a `length` that is no member. In particular `[?@.a]` asks whether `a`
//! exists, not whether it is true.

pub(crate) mod ast;
mod children;
mod compare;
mod display;
mod error;
mod filter;
mod locate;
mod parse;
mod pattern;
mod selection;
mod walk;

#[cfg(test)]
mod tests;

use std::str::FromStr;
use std::sync::Arc;

pub use error::PathError;
pub use locate::{LocatedIter, PathIter};
pub use selection::{Selection, SelectionLimits, Truncation};
pub use walk::{VisitBudget, VisitsExhausted};

use ast::{Segment, SegmentReach, Selector};
use haft_core::invariant::OrReport as _;
use haft_core::json::ValueRef;

/// Longest path that is parsed, in bytes.
pub const MAX_PATH: usize = 4 * 1024;

/// Deepest nesting of filters, parentheses and function calls inside each other.
pub const MAX_NESTING: usize = 32;

/// A parsed path.
///
/// The text that [`Display`](std::fmt::Display) writes is normalised: equal paths have equal texts,
/// however they were spelled, and it parses to the same path again. It keeps to
/// the grammar of RFC 9535 even if the path was spelled in another way. Escapes can make it longer than the
/// text that was parsed.
///
/// ```
/// use haft_core::json::Document;
/// use haft_artifacts::jsonpath::JsonPath;
///
/// let doc = Document::parse(r#"{"items": [{"id": 1, "p": 5}, {"id": 2, "p": 15}]}"#)?;
/// let path = JsonPath::parse("$['items'][?@.p>10].id")?;
/// let found = path.select(doc.root());
/// assert_eq!(found.iter().map(|it| it.as_i64()).collect::<Vec<_>>(), [Some(2)]);
/// assert_eq!(found.paths().collect::<Vec<_>>(), ["$['items'][1]['id']"]);
/// assert_eq!(path.to_string(), "$.items[?@.p > 10].id");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct JsonPath {
    segments: Arc<[Segment]>,
    /// Segments before this one belong to the prefix that was split off.
    start: usize,
    /// How many segments from `start` on are plain steps.
    plain: usize,
}

/// One step of a path's [prefix](JsonPath::prefix).
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "code that follows a prefix must handle every step")]
pub enum PathStep {
    /// Into the member of this name, if the value is an object. Of members with the same name the
    /// last one counts.
    Name(Box<str>),
    /// Into the element at this position, if the value is a list.
    Index(u64),
    /// Into every element of a list, or every member of an object, in document order. Of members
    /// with the same name the last one counts.
    Wildcard,
}

/// Why the segments of a path exist.
const STARTS_WITHIN: &str = "a path starts within its segments";

impl JsonPath {
    /// Parses a path that a model wrote: RFC 9535, and what the [module](self) lists.
    ///
    /// ```
    /// use haft_artifacts::jsonpath::JsonPath;
    ///
    /// let path = JsonPath::parse("store.book[?(@.title =~ /^the/i)]")?;
    /// assert_eq!(path.to_string(), "$.store.book[?search(@.title, '(?i)^the')]");
    ///
    /// let error = JsonPath::parse("$[?price > 10]").unwrap_err();
    /// assert_eq!((error.offset, &*error.hint), (3, "filters need `@`: try `[?@.price > 10]`"));
    /// # Ok::<(), haft_artifacts::jsonpath::PathError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text is neither, it is longer than [`MAX_PATH`], nested deeper than [`MAX_NESTING`], or has a number beyond the
    /// range of a double or a pattern that does not compile.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        parse::path(text).map(Self::new)
    }

    fn new(segments: Vec<Segment>) -> Self {
        Self::starting_at(segments.into(), 0)
    }

    fn starting_at(segments: Arc<[Segment]>, start: usize) -> Self {
        let own = segments.get(start..).or_report_default(STARTS_WITHIN);
        let plain = if own.iter().any(Segment::looks_at_root) {
            0
        } else {
            own.iter().take_while(|it| it.plain_step().is_some()).count()
        };
        Self { segments, start, plain }
    }

    /// The values that the path selects, in the order of RFC 9535, within the default [`SelectionLimits`].
    /// `view` is the path's `$`. A value that is selected twice is there twice.
    ///
    /// ```
    /// use haft_core::json::Document;
    /// use haft_artifacts::jsonpath::JsonPath;
    ///
    /// let document = Document::parse(r#"{"users": [{"name": "Ada"}, {"name": "Bob"}]}"#)?;
    /// let found = JsonPath::parse("$.users[*].name")?.select(document.root());
    /// let names: Vec<_> = found.iter().filter_map(|name| name.as_str()).collect();
    /// assert_eq!(names, ["Ada", "Bob"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn select<'d>(&self, view: ValueRef<'d>) -> Selection<'d> {
        self.select_with(view, &SelectionLimits::default())
    }

    /// [`JsonPath::select`] with custom limits.
    #[must_use]
    pub fn select_with<'d>(&self, view: ValueRef<'d>, limits: &SelectionLimits) -> Selection<'d> {
        let mut budget = VisitBudget::new(limits.max_nodes_visited);
        selection::select(self.segments(), view, limits.max_matches, &mut budget)
    }

    /// [`JsonPath::select`] within a budget that evaluations share. If the budget is used up, the selection is
    /// [truncated](Selection::truncated).
    #[must_use]
    pub fn select_within<'d>(&self, view: ValueRef<'d>, budget: &mut VisitBudget) -> Selection<'d> {
        let max_matches = SelectionLimits::default().max_matches;
        selection::select(self.segments(), view, max_matches, budget)
    }

    /// Whether the path selects anything. Stops at the first value; false if none was found within
    /// the default [`SelectionLimits`].
    ///
    /// ```
    /// use haft_core::json::Document;
    /// use haft_artifacts::jsonpath::JsonPath;
    ///
    /// let document = Document::parse(r#"{"a": {"b": 1}}"#)?;
    /// assert!(JsonPath::parse("$.a.b")?.matches(document.root()));
    /// assert!(!JsonPath::parse("$.a.c")?.matches(document.root()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn matches(&self, view: ValueRef<'_>) -> bool {
        let mut budget = VisitBudget::new(SelectionLimits::default().max_nodes_visited);
        self.matches_within(view, &mut budget).unwrap_or(false)
    }

    /// [`JsonPath::matches`] within a budget that evaluations share.
    ///
    /// # Errors
    ///
    /// The budget is used up before a value was found.
    pub fn matches_within(
        &self,
        view: ValueRef<'_>,
        budget: &mut VisitBudget,
    ) -> Result<bool, VisitsExhausted> {
        selection::any(self.segments(), view, budget)
    }

    /// The leading steps that can be followed in a text from front to back, without a tree of it: names,
    /// indexes that count from the front, and wildcards.
    ///
    /// Following them from a value, each step from every value that the step before has found, and
    /// then evaluating [`JsonPath::after_prefix`] on every value found, in order, selects what the
    /// whole path selects from that value, in the same order. To keep that true, the prefix is
    /// empty when a filter looks at `$`, because the rest would take the found value for the root.
    ///
    /// ```
    /// use haft_artifacts::jsonpath::{JsonPath, PathStep};
    ///
    /// let path = JsonPath::parse("$.items[*].tags[?@ == 'x']")?;
    /// let steps: Vec<&PathStep> = path.prefix().collect();
    /// assert_eq!(
    ///     steps,
    ///     [&PathStep::Name("items".into()), &PathStep::Wildcard, &PathStep::Name("tags".into())],
    /// );
    /// assert_eq!(path.after_prefix().to_string(), "$[?@ == 'x']");
    /// # Ok::<(), haft_artifacts::jsonpath::PathError>(())
    /// ```
    pub fn prefix(&self) -> impl Iterator<Item = &PathStep> {
        self.segments().iter().take(self.plain).filter_map(Segment::plain_step)
    }

    /// The part of the path that remains to be evaluated on a value that [`JsonPath::prefix`] selects; `$` if there is
    /// none.
    #[must_use]
    pub fn after_prefix(&self) -> Self {
        Self { segments: Arc::clone(&self.segments), start: self.start + self.plain, plain: 0 }
    }

    /// Whether the path selects at most one value, whatever the document: it only has names and
    /// indexes.
    ///
    /// ```
    /// use haft_artifacts::jsonpath::JsonPath;
    ///
    /// assert!(JsonPath::parse("$.users[0].name")?.is_singular());
    /// assert!(!JsonPath::parse("$.users[*].name")?.is_singular());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_singular(&self) -> bool {
        self.segments().iter().all(|it| it.only_child().is_some_and(Selector::is_singular))
    }

    /// Whether the path begins with positions, filters or `*`, and not with names.
    pub(crate) fn selects_elements(&self) -> bool {
        let is_name = |it: &Selector| matches!(it, Selector::Step(PathStep::Name(_)));
        let first = self.segments().first();
        first.is_some_and(|it| {
            it.reach == SegmentReach::Children && !it.selectors.iter().any(is_name)
        })
    }

    /// Whether a filter compares something with a number that stands in the path.
    #[cfg(feature = "formats")]
    pub(crate) fn compares_with_number(&self) -> bool {
        let mut selectors = self.segments().iter().flat_map(|segment| &segment.selectors);
        selectors.any(|it| matches!(it, Selector::Filter(filter) if filter.compares_with_number()))
    }

    /// The path without its first `count` segments; `$` if there are no more.
    ///
    /// Evaluated on the values that those segments lead to, it selects what the whole path selects,
    /// unless the path [looks at the root](Self::looks_at_root).
    pub(crate) fn without_first(&self, count: usize) -> Self {
        let start = self.start.saturating_add(count).min(self.segments.len());
        Self::starting_at(Arc::clone(&self.segments), start)
    }

    /// Whether a filter refers to `$`.
    pub(crate) fn looks_at_root(&self) -> bool {
        self.segments().iter().any(Segment::looks_at_root)
    }

    /// The segments behind `$`, for evaluation on content that is too large for a tree.
    pub(crate) fn segments(&self) -> &[Segment] {
        self.segments.get(self.start..).or_report_default(STARTS_WITHIN)
    }
}

/// Equal when the normalised texts are.
impl PartialEq for JsonPath {
    fn eq(&self, other: &Self) -> bool {
        self.segments() == other.segments()
    }
}

/// As [`JsonPath::parse`].
impl FromStr for JsonPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}
