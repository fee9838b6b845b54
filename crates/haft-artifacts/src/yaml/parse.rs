//! One YAML document as a flat list of nodes, bounded in depth and size.
//!
//! Scripts of the `haft` crate have a YAML reader of their own, because they need something else: the
//! position of every value for errors, no aliases and no tags, only scalars that JSON has as well, and no
//! dependency on the feature `formats` of this crate. Both use the same parser.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use haft_core::json::Document;
use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use crate::invariant;

/// The limits of one document.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "two bounds, named where they are given")]
pub struct YamlLimits {
    /// The deepest nesting of collections, with aliases followed.
    pub depth: usize,
    /// Values and bytes of text, counted together, with aliases followed.
    pub size: usize,
}

/// Why a text is not one YAML document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
#[non_exhaustive]
pub struct YamlParseError {
    /// The line of the error, counted from 0.
    pub line: usize,
    /// The character in that line, counted from 0.
    pub column: usize,
    /// What is wrong.
    pub reason: Cow<'static, str>,
}

/// Parses a text of one YAML document into JSON; a text without a document is `null`.
///
/// ```
/// use haft_artifacts::yaml::{YamlLimits, parse_document};
///
/// let limits = YamlLimits { depth: 10, size: 1000 };
/// let document = parse_document("ports: [80, 443]", limits)?;
/// assert_eq!(document.root().to_string(), r#"{"ports":[80,443]}"#);
/// # Ok::<(), haft_artifacts::yaml::YamlParseError>(())
/// ```
///
/// # Errors
///
/// The text is not YAML, has more than one document, or exceeds the limits.
pub fn parse_document(text: &str, limits: YamlLimits) -> Result<Document, YamlParseError> {
    // The parser treats NUL as the end of the text.
    if let Some(at) = memchr::memchr(0, text.as_bytes()) {
        let before = invariant::text(text, ..at);
        let column = before.chars().rev().take_while(|it| *it != '\n').count();
        let reason = "a NUL character, which YAML forbids".into();
        return Err(YamlParseError { line: before.matches('\n').count(), column, reason });
    }
    let mut reader = EventReader::new(limits);
    let mut parser = Parser::new_from_str(text);
    let mut ended = false;
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| YamlParseError {
            line: error.marker().line().saturating_sub(1),
            column: error.marker().col(),
            reason: error.info().to_owned().into(),
        })?;
        match event {
            Event::DocumentStart(_) if ended => {
                return Err(error_at(span, "more text follows after the end of the document"));
            }
            Event::DocumentEnd => ended = true,
            event => reader.handle_event(event, span)?,
        }
    }
    Ok(reader.flat.to_document())
}

/// A document in the order of its text.
#[derive(Debug, Default)]
pub(super) struct FlatDocument {
    pub(super) entries: Vec<FlatNode>,
    /// The texts of all scalars, one after the other.
    text: String,
}

/// A value. The children of a collection follow it, keys and values of a mapping in turn.
#[derive(Clone, Copy, Debug)]
pub(super) enum FlatNode {
    Scalar {
        form: ScalarForm,
        column: u16,
        line: u32,
        start: u32,
        len: u32,
    },
    /// `end` is the index after the last child.
    Sequence {
        end: u32,
    },
    Mapping {
        end: u32,
    },
    /// An alias.
    Alias {
        target: u32,
    },
}

/// How the text of a scalar is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarForm {
    /// The text decides the type.
    Plain,
    /// A tag says that the text decides the type.
    Tagged,
    Text,
}

impl FlatDocument {
    pub(super) fn text(&self, start: u32, len: u32) -> &str {
        invariant::text(&self.text, start as usize..start as usize + len as usize)
    }

    pub(super) fn entry(&self, at: usize) -> Option<FlatNode> {
        self.entries.get(at).copied()
    }

    /// The index after a value.
    pub(super) fn after(&self, at: usize) -> usize {
        match self.entry(at) {
            Some(FlatNode::Sequence { end } | FlatNode::Mapping { end }) => end as usize,
            _ => at + 1,
        }
    }

    /// The indices of a collection's children.
    pub(super) fn children(&self, at: usize) -> impl Iterator<Item = usize> {
        let mut next = at + 1;
        let end = self.after(at);
        std::iter::from_fn(move || {
            let child = (next < end).then_some(next)?;
            next = self.after(child);
            Some(child)
        })
    }

    /// The indices of a mapping's keys and values.
    pub(super) fn members(&self, at: usize) -> impl Iterator<Item = (usize, usize)> {
        let mut children = self.children(at);
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// Looks at the keys of a mapping.
    fn scan_keys(&self, at: usize) -> KeyScan {
        let mut seen = HashSet::new();
        let mut complex_bytes = 0_usize;
        for (key, _) in self.members(at) {
            let text = self.key(key);
            if let Cow::Owned(text) = &text {
                complex_bytes = complex_bytes.saturating_add(text.len());
            }
            if !seen.insert(text) {
                let duplicate = Some((key, self.key(key).into_owned()));
                return KeyScan { duplicate, complex_bytes };
            }
        }
        KeyScan { duplicate: None, complex_bytes }
    }
}

/// The keys of a mapping.
struct KeyScan {
    /// The first key that is there twice.
    duplicate: Option<(usize, String)>,
    /// The bytes of the keys that are collections, as text.
    complex_bytes: usize,
}

/// Builds the flat document from the events of the parser.
#[derive(Debug)]
struct EventReader {
    limits: YamlLimits,
    flat: FlatDocument,
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, AnchoredNode>,
    /// Values and bytes so far, including those that aliases stand for.
    size: usize,
}

/// A collection whose end was not read yet.
#[derive(Debug)]
struct OpenCollection {
    at: usize,
    anchor: usize,
    size_before: usize,
    /// Collections below this one.
    height: usize,
}

/// A value that an alias can stand for.
#[derive(Clone, Copy, Debug)]
struct AnchoredNode {
    at: u32,
    size: usize,
    height: usize,
}

impl EventReader {
    fn new(limits: YamlLimits) -> Self {
        let flat = FlatDocument::default();
        let open = Vec::new();
        let anchors = HashMap::new();
        Self { limits, flat, open, anchors, size: 0 }
    }

    fn handle_event(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlParseError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let form = scalar_form(style, tag.as_deref());
                self.push_scalar(&text, form, anchor, span)
            }
            Event::Alias(anchor) => self.push_alias(anchor, span),
            Event::SequenceStart(anchor, _) => {
                self.open_collection(FlatNode::Sequence { end: 0 }, anchor, span)
            }
            Event::MappingStart(anchor, _) => {
                self.open_collection(FlatNode::Mapping { end: 0 }, anchor, span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close_collection(span),
            _ => Ok(()),
        }
    }

    fn push_scalar(
        &mut self,
        text: &str,
        form: ScalarForm,
        anchor: usize,
        span: Span,
    ) -> Result<(), YamlParseError> {
        let size = 1 + text.len();
        self.check_size(size, span)?;
        self.record_anchor(anchor, self.flat.entries.len(), size, 0);
        let start = invariant::to_u32(self.flat.text.len());
        let len = invariant::to_u32(text.len());
        let line = invariant::to_u32(span.start.line());
        // Only errors name the column, and a column beyond 65535 is as hard to find as that one.
        let column = span.start.col().min(u16::MAX.into()) as u16;
        self.flat.text.push_str(text);
        self.flat.entries.push(FlatNode::Scalar { form, column, line, start, len });
        Ok(())
    }

    fn push_alias(&mut self, anchor: usize, span: Span) -> Result<(), YamlParseError> {
        let Some(AnchoredNode { at, size, height }) = self.anchors.get(&anchor).copied() else {
            return Err(error_at(span, "an alias stands inside the value it names"));
        };
        self.check_size(size, span)?;
        self.check_depth(height, span)?;
        self.flat.entries.push(FlatNode::Alias { target: at });
        Ok(())
    }

    fn open_collection(
        &mut self,
        entry: FlatNode,
        anchor: usize,
        span: Span,
    ) -> Result<(), YamlParseError> {
        self.check_depth(1, span)?;
        let size_before = self.size;
        self.check_size(1, span)?;
        self.open.push(OpenCollection {
            at: self.flat.entries.len(),
            anchor,
            size_before,
            height: 0,
        });
        self.flat.entries.push(entry);
        Ok(())
    }

    fn close_collection(&mut self, span: Span) -> Result<(), YamlParseError> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let behind = invariant::to_u32(self.flat.entries.len());
        if let Some(FlatNode::Sequence { end } | FlatNode::Mapping { end }) =
            self.flat.entries.get_mut(open.at)
        {
            *end = behind;
        }
        if let Some(FlatNode::Mapping { .. }) = self.flat.entry(open.at) {
            let KeyScan { duplicate, complex_bytes } = self.flat.scan_keys(open.at);
            if let Some((key, name)) = duplicate {
                return Err(self.duplicate_key_error(key, &name, span));
            }
            // A key that is a collection becomes its JSON text, and one in another one is escaped with every level.
            self.check_size(complex_bytes, span)?;
        }
        let height = open.height + 1;
        if let Some(around) = self.open.last_mut() {
            around.height = around.height.max(height);
        }
        self.record_anchor(open.anchor, open.at, self.size - open.size_before, height);
        Ok(())
    }

    fn record_anchor(&mut self, anchor: usize, at: usize, size: usize, height: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, AnchoredNode { at: invariant::to_u32(at), size, height });
        }
    }

    /// Makes sure that this many more levels are allowed here.
    fn check_depth(&mut self, levels: usize, span: Span) -> Result<(), YamlParseError> {
        if self.open.len() + levels > self.limits.depth {
            return Err(error_at(span, "the values are nested too deeply"));
        }
        if let Some(around) = self.open.last_mut() {
            around.height = around.height.max(levels);
        }
        Ok(())
    }

    fn check_size(&mut self, size: usize, span: Span) -> Result<(), YamlParseError> {
        self.size = self.size.saturating_add(size);
        if self.size > self.limits.size {
            return Err(error_at(
                span,
                "the values are too large once aliases are followed and keys are written as text",
            ));
        }
        Ok(())
    }

    fn duplicate_key_error(&self, key: usize, name: &str, span: Span) -> YamlParseError {
        let name: String = name.chars().take(80).collect();
        let reason = format!("the key `{name}` stands twice in one mapping").into();
        match self.flat.entry(key) {
            Some(FlatNode::Scalar { line, column, .. }) => {
                let line = (line as usize).saturating_sub(1);
                YamlParseError { line, column: usize::from(column), reason }
            }
            _ => YamlParseError { reason, ..error_at(span, "") },
        }
    }
}

fn scalar_form(style: ScalarStyle, tag: Option<&Tag>) -> ScalarForm {
    let by_style = if style == ScalarStyle::Plain { ScalarForm::Plain } else { ScalarForm::Text };
    match tag {
        None => by_style,
        Some(tag) if tag.is_yaml_core_schema() => match tag.suffix.as_str() {
            "int" | "float" | "bool" | "null" => ScalarForm::Tagged,
            _ => ScalarForm::Text,
        },
        // `!` alone.
        Some(tag) if tag.handle.is_empty() && tag.suffix == "!" => ScalarForm::Text,
        Some(_) => by_style,
    }
}

fn error_at(span: Span, reason: &'static str) -> YamlParseError {
    let line = span.start.line().saturating_sub(1);
    YamlParseError { line, column: span.start.col(), reason: reason.into() }
}
