//! The children of a value, where of members with the same name only the last one counts.

use std::collections::HashMap;
use std::vec;

use haft_core::json::{Elements, Members, ValueKind, ValueRef};

/// The children that count, in document order.
#[derive(Debug)]
pub(super) enum Children<'d> {
    Elements(Elements<'d>),
    Members(Members<'d>),
    /// What is left of an object in which a name occurs twice.
    Counted(vec::IntoIter<ValueRef<'d>>),
}

impl<'d> Children<'d> {
    pub(super) fn of(view: ValueRef<'d>) -> Self {
        match view.kind() {
            ValueKind::Object if repeats_a_name(view) => {
                Self::Counted(last_members(view).into_iter())
            }
            ValueKind::Object => Self::Members(view.members()),
            _ => Self::Elements(view.elements()),
        }
    }
}

impl<'d> Iterator for Children<'d> {
    type Item = ValueRef<'d>;

    #[inline]
    fn next(&mut self) -> Option<ValueRef<'d>> {
        match self {
            Self::Elements(it) => it.next(),
            Self::Members(it) => it.next().map(|(_, value)| value),
            Self::Counted(it) => it.next(),
        }
    }
}

/// How many children count.
pub(super) fn count(view: ValueRef<'_>) -> usize {
    match view.kind() {
        ValueKind::Object if repeats_a_name(view) => last_members(view).len(),
        _ => view.len(),
    }
}

fn last_members(view: ValueRef<'_>) -> Vec<ValueRef<'_>> {
    let mut last = HashMap::with_capacity(view.len());
    for (name, value) in view.members() {
        last.insert(name, value.index());
    }
    view.members()
        .filter(|(name, value)| last.get(name) == Some(&value.index()))
        .map(|(_, value)| value)
        .collect()
}

/// What one pass over a list or an object finds out.
#[derive(Debug)]
pub(super) struct ChildSurvey<'d> {
    /// The member that was looked for.
    pub(super) member: Option<ValueRef<'d>>,
    /// The children that count, if one of them is a list or an object.
    pub(super) nested: Option<Children<'d>>,
}

impl<'d> ChildSurvey<'d> {
    /// Looks for a member and for children that have children.
    pub(super) fn of(view: ValueRef<'d>, wanted: Option<&str>) -> Self {
        if view.kind() != ValueKind::Object {
            let nested = view.elements().any(is_container);
            let nested = nested.then(|| Children::Elements(view.elements()));
            return Self { member: None, nested };
        }
        let mut member = None;
        let mut nested = false;
        let mut repeats = view.len() > SMALL;
        let mut marks = NameMarks::default();
        for (name, value) in view.members() {
            if wanted == Some(name) {
                member = Some(value);
            }
            nested |= is_container(value);
            repeats |= marks.repeats(name);
        }
        let nested = nested
            .then(|| if repeats { Children::of(view) } else { Children::Members(view.members()) });
        Self { member, nested }
    }
}

pub(super) fn is_container(view: ValueRef<'_>) -> bool {
    matches!(view.kind(), ValueKind::Array | ValueKind::Object)
}

/// Objects up to this size are compared name by name.
const SMALL: usize = 16;

/// Nearly every object answers after one pass over its names: 256 marks tell that all differ.
fn repeats_a_name(view: ValueRef<'_>) -> bool {
    let mut marks = NameMarks::default();
    let suspicious = view.len() > SMALL || view.members().any(|(name, _)| marks.repeats(name));
    suspicious && compare_names(view)
}

#[derive(Default)]
struct NameMarks([u64; 4]);

impl NameMarks {
    /// False if the name differs from all before it. True if it may not.
    #[inline]
    fn repeats(&mut self, name: &str) -> bool {
        let mark = name_mark(name.as_bytes());
        let bit = 1_u64 << (mark & 63);
        let Some(word) = self.0.get_mut(usize::from(mark >> 6)) else { return true };
        let known = *word & bit != 0;
        *word |= bit;
        known
    }
}

#[cold]
fn compare_names(view: ValueRef<'_>) -> bool {
    if view.len() > SMALL {
        let mut names = std::collections::HashSet::with_capacity(view.len());
        return !view.members().all(|(name, _)| names.insert(name));
    }
    let mut rest = view.members();
    while let Some((name, _)) = rest.next() {
        if rest.clone().any(|(other, _)| other == name) {
            return true;
        }
    }
    false
}

/// Eight bits that differ for most pairs of names.
#[inline]
fn name_mark(name: &[u8]) -> u8 {
    let word = |bytes: Option<&[u8; 4]>| bytes.map(|it| u64::from(u32::from_le_bytes(*it)));
    let (first, last) = match (word(name.first_chunk()), word(name.last_chunk())) {
        (Some(first), Some(last)) => (first, last),
        _ => {
            let byte = |at: usize| name.get(at).copied().map_or(0, u64::from);
            (byte(0) | byte(1) << 8, byte(2))
        }
    };
    let mixed = (first ^ last.rotate_left(29) ^ (name.len() as u64).rotate_left(50))
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed.to_be_bytes().first().copied().unwrap_or_default()
}
