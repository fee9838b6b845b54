//! The canonical text: one spelling per JSON value, which the call id hashes.
//!
//! No white space; keys sorted by UTF-16 code units; strings and numbers as ECMAScript's
//! `JSON.stringify` writes them, except that integers keep all their digits. Of duplicate keys the
//! last one counts.

use std::cmp::Ordering;

use super::writer::{write_key_node, write_scalar};
use super::{Document, Node, ValueRef};

use crate::invariant::OrReport as _;

/// The canonical text of a value.
///
/// ```
/// use haft_core::json::{Document, canonical_text};
///
/// let doc = Document::parse(r#"{"b": 1.0, "a": [1e2, 9007199254740993]}"#)?;
/// assert_eq!(canonical_text(doc.root()), r#"{"a":[100,9007199254740993],"b":1}"#);
/// # Ok::<(), haft_core::json::ParseError>(())
/// ```
#[must_use]
pub fn canonical_text(view: ValueRef<'_>) -> String {
    let mut out = Vec::new();
    canonicalize(view, &mut out, &mut SortScratch::default());
    // Made of whole strings and ASCII, so it is text.
    String::from_utf8(out).unwrap_or_default()
}

/// Appends the canonical text of a value.
///
/// ```
/// use haft_core::json::{Document, write_canonical};
///
/// let mut text = String::from("args: ");
/// write_canonical(Document::parse(r#"{"b": 1, "a": 2}"#)?.root(), &mut text);
/// assert_eq!(text, r#"args: {"a":2,"b":1}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_canonical(view: ValueRef<'_>, out: &mut String) {
    out.push_str(&canonical_text(view));
}

/// Room for sorting keys. Kept and passed again, it makes canonicalisation free of allocation.
#[derive(Debug, Default)]
pub(crate) struct SortScratch(Vec<SortKey>);

impl SortScratch {
    /// Gives back memory beyond `entries` keys.
    pub(crate) fn shrink_to(&mut self, entries: usize) {
        self.0.shrink_to(entries);
    }
}

/// Appends the canonical text of a value and returns whether an object in it has a duplicate key.
pub(crate) fn canonicalize(
    view: ValueRef<'_>,
    out: &mut Vec<u8>,
    scratch: &mut SortScratch,
) -> bool {
    match canonical_source(view) {
        Some(source) => {
            out.extend_from_slice(source.as_bytes());
            false
        }
        None => canonicalize_value(view, out, scratch),
    }
}

/// The source text of a whole document, if it is canonical already and has no key twice.
fn canonical_source(view: ValueRef<'_>) -> Option<&str> {
    let doc = view.doc();
    if !doc.is_compact || view.index() != 0 {
        return None;
    }
    let mut values = (0..doc.nodes.len()).map(|at| ValueRef::at(doc, at));
    // The beginnings of keys mostly differ, and then their order is that of the keys.
    let is_sorted =
        values.all(|value| value.member_keys().map(key_prefix).is_sorted_by(|a, b| a < b));
    doc.source().filter(|_| is_sorted)
}

fn canonicalize_value(view: ValueRef<'_>, out: &mut Vec<u8>, scratch: &mut SortScratch) -> bool {
    match view.node() {
        Node::Array { .. } => {
            let mut duplicates = false;
            out.push(b'[');
            for (at, element) in view.elements().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                duplicates |= canonicalize_value(element, out, scratch);
            }
            out.push(b']');
            duplicates
        }
        Node::Object { .. } => canonicalize_object(view, out, scratch),
        _ => {
            write_scalar(view, out);
            false
        }
    }
}

fn canonicalize_object(view: ValueRef<'_>, out: &mut Vec<u8>, scratch: &mut SortScratch) -> bool {
    let doc = view.doc();
    let base = scratch.0.len();
    let mut duplicates = scratch.add_members(view);
    out.push(b'{');
    for at in base..scratch.0.len() {
        let Some(key) = scratch.0.get(at) else { break };
        let key = ValueRef::of_node(doc, key.node);
        if at > base {
            out.push(b',');
        }
        write_key_node(key, out);
        duplicates |= canonicalize_value(key.next_node(), out, scratch);
    }
    out.push(b'}');
    scratch.0.truncate(base);
    duplicates
}

impl SortScratch {
    /// Adds the keys of the members that count, in order, and returns whether there is a duplicate.
    fn add_members(&mut self, object: ValueRef<'_>) -> bool {
        let doc = object.doc();
        let base = self.0.len();
        self.0.extend(object.member_keys().map(SortKey::new));
        let keys = self.0.get_mut(base..).unwrap_or_default();
        // Again by the beginnings of the keys, which are compared faster.
        if have_rising_prefixes(keys) {
            return false;
        }
        keys.sort_unstable();
        if have_rising_prefixes(keys) {
            return false;
        }
        sort_keys(doc, keys);
        if keys.is_sorted_by(|a, b| a.compare(*b, doc).is_lt()) {
            return false;
        }
        // Equal keys stand in document order, and the last of them counts.
        let mut last = base;
        for at in base + 1..self.0.len() {
            let (Some(key), Some(kept)) = (self.0.get(at).copied(), self.0.get_mut(last)) else {
                break;
            };
            if kept.compare(key, doc).is_eq() {
                *kept = key;
            } else {
                last += 1;
                if let Some(place) = self.0.get_mut(last) {
                    *place = key;
                }
            }
        }
        self.0.truncate(last + 1);
        true
    }
}

/// A key ready for comparison. It is ordered by its beginning, and then by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SortKey {
    /// The first eight bytes, so that most comparisons do not touch the text.
    prefix: u64,
    node: u32,
}

impl SortKey {
    #[inline]
    fn new(key: ValueRef<'_>) -> Self {
        Self { prefix: key_prefix(key), node: super::writer::offset(key.index()) }
    }

    #[inline]
    fn compare(self, other: Self, doc: &Document) -> Ordering {
        self.prefix.cmp(&other.prefix).then_with(|| {
            let text = |it: Self| ValueRef::of_node(doc, it.node).as_str().unwrap_or_default();
            compare_utf16(text(self), text(other))
        })
    }
}

fn have_rising_prefixes(keys: &[SortKey]) -> bool {
    keys.is_sorted_by(|a, b| a.prefix < b.prefix)
}

/// Sorts by key, and equal keys by position, so that the one that counts comes last.
fn sort_keys(doc: &Document, keys: &mut [SortKey]) {
    keys.sort_unstable_by(|a, b| a.compare(*b, doc).then(a.node.cmp(&b.node)));
}

/// The first eight bytes of a key as a number in the order of [`compare_utf16`], padded with zeros.
#[inline]
fn key_prefix(key: ValueRef<'_>) -> u64 {
    let (window, len) = key.str_window();
    let word = match window.first_chunk::<8>() {
        Some(word) => u64::from_be_bytes(*word),
        None => window
            .iter()
            .enumerate()
            .fold(0, |word, (at, byte)| word | u64::from(*byte) << (56 - 8 * at.min(7))),
    };
    let word = match len {
        0 => 0,
        1..8 => word & (u64::MAX << (64 - 8 * len)),
        _ => word,
    };
    if word & 0x8080_8080_8080_8080 == 0 {
        return word;
    }
    u64::from_be_bytes(word.to_be_bytes().map(utf16_rank))
}

/// The place of a byte in the order of UTF-16. That is the order of UTF-8, except that characters
/// beyond U+FFFF (lead bytes F0 to F4) are surrogate pairs there and come before U+E000 to U+FFFF
/// (lead bytes EE and EF).
const fn utf16_rank(byte: u8) -> u8 {
    match byte {
        0xEE | 0xEF => byte + 5,
        0xF0..=0xF4 => byte - 2,
        _ => byte,
    }
}

/// Compares by UTF-16 code units.
fn compare_utf16(a: &str, b: &str) -> Ordering {
    let differing = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    differing.map_or_else(|| a.len().cmp(&b.len()), |(a, b)| utf16_rank(a).cmp(&utf16_rank(b)))
}

/// The first member, in document order, whose key the same object already has.
pub(super) fn duplicate_key(doc: &Document) -> Option<String> {
    let mut scratch = Vec::new();
    let objects = (0..doc.nodes.len()).map(|at| ValueRef::at(doc, at));
    let repeated = objects.filter_map(|object| repeated_key(object, &mut scratch)).min()?;
    Some(pointer_to_key(doc, repeated))
}

/// The key node of the first repeated member of one object.
fn repeated_key(object: ValueRef<'_>, scratch: &mut Vec<SortKey>) -> Option<u32> {
    let members = object.members().len();
    if members < 2 || (members <= MAX_PAIRWISE && !small_object_repeats_key(object)) {
        return None;
    }
    let doc = object.doc();
    scratch.clear();
    scratch.extend(object.member_keys().map(SortKey::new));
    sort_keys(doc, scratch);
    let pairs = scratch.iter().zip(scratch.iter().skip(1));
    pairs.filter(|(a, b)| a.compare(**b, doc).is_eq()).map(|(_, b)| b.node).min()
}

/// Objects of at most this many members are compared pair by pair.
const MAX_PAIRWISE: usize = 16;

/// Whether a small object has a key twice; allocates nothing.
fn small_object_repeats_key(object: ValueRef<'_>) -> bool {
    let mut keys = [""; MAX_PAIRWISE];
    let mut count = 0;
    for (slot, (key, _)) in keys.iter_mut().zip(object.members()) {
        *slot = key;
        count += 1;
    }
    let mut rest = keys.get(..count).or_report_default("no more slots than keys are filled");
    while let Some((key, others)) = rest.split_first() {
        if others.contains(key) {
            return true;
        }
        rest = others;
    }
    false
}

/// The JSON pointer of the member whose key is this node.
fn pointer_to_key(doc: &Document, key: u32) -> String {
    let mut out = String::new();
    let mut at = doc.root();
    loop {
        out.push('/');
        if let Node::Array { .. } = at.node() {
            let Some((index, next)) = at.elements().enumerate().find(|(_, it)| it.end() > key)
            else {
                return out;
            };
            out.push_str(itoa::Buffer::new().format(index));
            at = next;
        } else {
            let Some((name, next)) = at.members().find(|(_, it)| it.end() > key) else {
                return out;
            };
            out.push_str(&name.replace('~', "~0").replace('/', "~1"));
            if next.index() == key as usize + 1 {
                return out;
            }
            at = next;
        }
    }
}
