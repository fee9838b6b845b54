//! Where the children of a large container begin.

use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;

use haft_core::json::Document;

use super::cursor::ContentCursor;
use super::error::ScanError;
use super::validate;
use crate::scan::saturating_len;

/// A list, an object or a sequence of lines, with the offsets of some of its children.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) kind: ContainerKind,
    pub(super) start: u64,
    pub(super) end: u64,
    /// How many lists and objects are around its children, itself included.
    pub(super) depth: usize,
    /// The number of children; of objects, members that do not count included.
    pub(super) count: u64,
    marks: ChildOffsets,
    /// The members of an object ordered by the hashes of their names, unless they are too many.
    members: Vec<MemberOffset>,
    /// The last ones of the members whose names occur twice; `None` if that is not known.
    repeated: Option<Vec<MemberOffset>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContainerKind {
    Array,
    Object,
    /// One value per line that is not blank.
    Lines,
}

/// A member of an object: the hash of its name, and where its name begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MemberOffset {
    pub(super) hash: u64,
    pub(super) offset: u64,
}

impl Container {
    /// The offset of a child at or before this one, and how many children to skip from there.
    pub(super) fn locate(&self, child: u64) -> Option<(u64, u64)> {
        if child >= self.count {
            return None;
        }
        let mark = usize::try_from(child / self.marks.stride).ok()?;
        Some((*self.marks.offsets.get(mark)?, child % self.marks.stride))
    }

    /// The offsets of members that may have this name, the last first; `None` if all members have to be
    /// read.
    pub(super) fn candidates(&self, name: &str) -> Option<Vec<u64>> {
        if self.members.len() as u64 != self.count {
            return None;
        }
        let hash = hash_name(name);
        let from = self.members.partition_point(|it| it.hash < hash);
        let equal = self.members.get(from..)?.iter().take_while(|it| it.hash == hash);
        let mut places: Vec<u64> = equal.map(|it| it.offset).collect();
        places.reverse();
        Some(places)
    }

    /// The offsets of all members, in order; `None` if they are not all known.
    pub(super) fn member_places(&self) -> Option<Vec<u64>> {
        if self.kind != ContainerKind::Object || self.members.len() as u64 != self.count {
            return None;
        }
        let mut places: Vec<u64> = self.members.iter().map(|it| it.offset).collect();
        places.sort_unstable();
        Some(places)
    }

    /// Whether a later member has the same name; `None` if that is not known.
    pub(super) fn is_replaced(&self, member: MemberOffset) -> Option<bool> {
        let repeated = self.repeated.as_deref()?;
        let found = repeated.binary_search_by_key(&member.hash, |it| it.hash).ok();
        Some(found.and_then(|at| repeated.get(at)).is_some_and(|it| it.offset != member.offset))
    }
}

/// The offsets of every `stride`-th child.
#[derive(Debug)]
struct ChildOffsets {
    stride: u64,
    offsets: Vec<u64>,
}

impl ChildOffsets {
    fn push(&mut self, child: u64, offset: u64) {
        if !child.is_multiple_of(self.stride) {
            return;
        }
        self.offsets.push(offset);
        if self.offsets.len() > MAX_MARKS {
            let mut odd = true;
            self.offsets.retain(|_| {
                odd = !odd;
                !odd
            });
            self.stride *= 2;
        }
    }
}

/// Collects the index of a container while its children are scanned.
pub(super) struct ContainerBuilder {
    kind: ContainerKind,
    start: u64,
    depth: usize,
    count: u64,
    marks: ChildOffsets,
    members: Vec<MemberOffset>,
}

impl ContainerBuilder {
    pub(super) fn new(kind: ContainerKind, start: u64, depth: usize) -> Self {
        let marks = ChildOffsets { stride: STRIDE, offsets: Vec::new() };
        Self { kind, start, depth, count: 0, marks, members: Vec::new() }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn child(&mut self, offset: u64) {
        self.marks.push(self.count, offset);
        self.count += 1;
    }

    pub(super) fn member(&mut self, member: MemberOffset) {
        if self.members.len() < MAX_NAMES {
            self.members.push(member);
        }
        self.child(member.offset);
    }

    pub(super) fn finish(mut self, end: u64) -> Container {
        self.members.sort_unstable();
        let complete = self.members.len() as u64 == self.count;
        let repeated = (complete || self.kind != ContainerKind::Object)
            .then(|| self.members.chunk_by(|a, b| a.hash == b.hash))
            .map(|groups| {
                groups.filter(|it| it.len() > 1).filter_map(<[MemberOffset]>::last).copied()
            })
            .map(Iterator::collect);
        if !complete || self.members.len() > MAX_MEMBERS {
            self.members = Vec::new();
        }
        self.members.shrink_to_fit();
        let Self { kind, start, depth, count, marks, members } = self;
        Container { kind, start, end, depth, count, marks, members, repeated }
    }
}

/// The containers that were found in a pass and are large enough to be cached.
#[derive(Debug, Default)]
pub(super) struct SurveyedContainers {
    pub(super) containers: Vec<Arc<Container>>,
    /// Smaller containers are not cached.
    pub(super) least_bytes: u64,
}

impl SurveyedContainers {
    /// Caches no container.
    pub(super) fn nothing() -> Self {
        Self { containers: Vec::new(), least_bytes: u64::MAX }
    }

    fn add(&mut self, container: Container) {
        if container.end - container.start >= self.least_bytes {
            self.containers.push(Arc::new(container));
        }
    }
}

/// Skips the value at the cursor, which is nested in `depth` others, and indexes the large containers in
/// it: the value itself and, as long as objects are nested in objects, their members.
pub(super) fn survey(
    cursor: &mut ContentCursor,
    depth: usize,
    surveyed: &mut SurveyedContainers,
) -> Result<(), ScanError> {
    let start = cursor.offset();
    let object = match cursor.peek()? {
        Some(b'{') if depth < haft_core::json::MAX_DEPTH => true,
        Some(b'[') if depth < haft_core::json::MAX_DEPTH => false,
        _ => return cursor.skip_value(depth, u64::MAX).map(|_| ()),
    };
    let kind = if object { ContainerKind::Object } else { ContainerKind::Array };
    let mut builder = ContainerBuilder::new(kind, start, depth + 1);
    cursor.advance(1);
    let close = if object { b'}' } else { b']' };
    if cursor.skip_space()? == Some(close) {
        cursor.advance(1);
        surveyed.add(builder.finish(cursor.offset()));
        return Ok(());
    }
    loop {
        if object {
            let offset = cursor.offset();
            let hash = read_name(cursor)?.hash();
            builder.member(MemberOffset { hash, offset });
            if builder.count <= SURVEYED {
                survey(cursor, depth + 1, surveyed)?;
            } else {
                cursor.skip_value(depth + 1, u64::MAX)?;
            }
        } else {
            builder.child(cursor.offset());
            cursor.skip_value(depth + 1, u64::MAX)?;
        }
        if validate::skip_separator(cursor, object)? {
            surveyed.add(builder.finish(cursor.offset()));
            return Ok(());
        }
    }
}

/// The name of a member.
#[derive(Debug)]
pub(super) enum MemberName {
    Short(String),
    /// Longer than any name in a path: its first bytes as JSON text, the hash and length of all.
    Long {
        start: String,
        hash: u64,
        bytes: u64,
    },
}

impl MemberName {
    pub(super) fn hash(&self) -> u64 {
        match self {
            Self::Short(name) => hash_name(name),
            Self::Long { hash, .. } => *hash,
        }
    }
}

/// Reads a name and stops at the value.
pub(super) fn read_name(cursor: &mut ContentCursor) -> Result<MemberName, ScanError> {
    if cursor.peek()? != Some(b'"') {
        return Err(cursor.expected("a key in double quotes"));
    }
    let start = cursor.offset();
    cursor.mark();
    let short = cursor.skip_string(start + LONGEST_NAME);
    let short = match short {
        Ok(Some(())) if cursor.offset() - start <= LONGEST_NAME => {
            Some(unquote_text(cursor.bytes_since_mark()))
        }
        _ => None,
    };
    cursor.unmark();
    let name = match short {
        Some(Some(text)) => MemberName::Short(text),
        Some(None) => {
            cursor.seek(start);
            validate::string(cursor)?;
            MemberName::Short(String::new())
        }
        None => long_name(cursor, start)?,
    };
    validate::expect_colon(cursor)?;
    Ok(name)
}

#[cold]
fn long_name(cursor: &mut ContentCursor, start: u64) -> Result<MemberName, ScanError> {
    cursor.seek(start);
    cursor.ensure(LONGEST_NAME as usize)?;
    let shown = cursor.rest().get(..LONGEST_NAME as usize).unwrap_or(cursor.rest());
    let shown = String::from_utf8_lossy(shown).into_owned();
    cursor.skip_string(u64::MAX)?;
    let bytes = cursor.offset() - start;
    // Long names are compared by all of their bytes as they are written.
    let mut hasher = DefaultHasher::new();
    let end = cursor.offset();
    cursor.seek(start);
    while cursor.offset() < end {
        cursor.ensure(1)?;
        let left = saturating_len(end - cursor.offset());
        let piece = cursor.rest().get(..left).unwrap_or(cursor.rest());
        let len = piece.len();
        hasher.write(piece);
        cursor.advance(len);
    }
    Ok(MemberName::Long { start: shown, hash: hasher.finish(), bytes })
}

/// The text of a string, from its quotes; `None` if it is not one.
fn unquote_text(quoted: &[u8]) -> Option<String> {
    let inner = quoted.get(1..quoted.len().checked_sub(1)?)?;
    if inner.iter().any(|byte| *byte == b'\\' || *byte < b' ') {
        let doc = Document::parse(&String::from_utf8_lossy(quoted)).ok()?;
        return doc.root().as_str().map(str::to_owned);
    }
    Some(String::from_utf8_lossy(inner).into_owned())
}

/// A 64-bit hash of a name. Equal hashes are taken for equal names.
pub(super) fn hash_name(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// The offset of every 64th child is kept; fewer once there are too many.
const STRIDE: u64 = 64;
const MAX_MARKS: usize = 32 * 1024;
/// A lookup by name scans objects with more members.
const MAX_MEMBERS: usize = 32 * 1024;
/// Members of objects with more members cannot be visited one by one.
const MAX_NAMES: usize = 1024 * 1024;
/// The values of the first members of an object are indexed too.
const SURVEYED: u64 = 64;
/// Six times the longest path, for its escapes.
const LONGEST_NAME: u64 = 32 * 1024;
