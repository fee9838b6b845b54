//! One YAML document as a flat list of entries, bounded in depth and size.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use haft_core::json::Document;
use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

/// The bounds of one document.
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
pub struct YamlFault {
    /// The line of the fault, from 0.
    pub line: usize,
    /// The character in that line, from 0.
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
/// assert_eq!(document.to_string(), r#"{"ports":[80,443]}"#);
/// # Ok::<(), haft_artifacts::yaml::YamlFault>(())
/// ```
///
/// # Errors
///
/// The text is not YAML, has more than one document, or exceeds the limits.
pub fn parse_document(text: &str, limits: YamlLimits) -> Result<Document, YamlFault> {
    // The parser takes NUL for the end.
    if let Some(at) = memchr::memchr(0, text.as_bytes()) {
        let before = text.get(..at).unwrap_or_default();
        let column = before.chars().rev().take_while(|it| *it != '\n').count();
        let reason = "a NUL character, which YAML forbids".into();
        return Err(YamlFault { line: before.matches('\n').count(), column, reason });
    }
    let mut reader = Reader::new(limits);
    let mut parser = Parser::new_from_str(text);
    let mut ended = false;
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| YamlFault {
            line: error.marker().line().saturating_sub(1),
            column: error.marker().col(),
            reason: error.info().to_owned().into(),
        })?;
        match event {
            Event::DocumentStart(_) if ended => {
                return Err(fault(span, "more text follows after the end of the document"));
            }
            Event::DocumentEnd => ended = true,
            event => reader.event(event, span)?,
        }
    }
    Ok(reader.flat.document())
}

/// A document in the order of its text.
#[derive(Debug, Default)]
pub(super) struct Flat {
    pub(super) entries: Vec<Entry>,
    /// The texts of all scalars, one behind the other.
    text: String,
}

/// A value. The children of a collection follow it, keys and values of a mapping in turn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    Scalar {
        form: Form,
        column: u16,
        line: u32,
        start: u32,
        len: u32,
    },
    /// `end` is the place behind the last child.
    Sequence {
        end: u32,
    },
    Mapping {
        end: u32,
    },
    /// What an alias stands for.
    Alias {
        target: u32,
    },
}

/// How the text of a scalar is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Its text decides.
    Plain,
    /// A tag says that its text decides.
    Tagged,
    Text,
}

impl Flat {
    pub(super) fn text(&self, start: u32, len: u32) -> &str {
        self.text.get(start as usize..start as usize + len as usize).unwrap_or_default()
    }

    pub(super) fn entry(&self, at: usize) -> Option<Entry> {
        self.entries.get(at).copied()
    }

    /// The place behind a value.
    pub(super) fn after(&self, at: usize) -> usize {
        match self.entry(at) {
            Some(Entry::Sequence { end } | Entry::Mapping { end }) => end as usize,
            _ => at + 1,
        }
    }

    /// The places of a collection's children.
    pub(super) fn children(&self, at: usize) -> impl Iterator<Item = usize> {
        let mut next = at + 1;
        let end = self.after(at);
        std::iter::from_fn(move || {
            let child = (next < end).then_some(next)?;
            next = self.after(child);
            Some(child)
        })
    }

    /// The places of a mapping's keys and values.
    pub(super) fn members(&self, at: usize) -> impl Iterator<Item = (usize, usize)> {
        let mut children = self.children(at);
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// The first key that a mapping has twice.
    fn duplicate(&self, at: usize) -> Option<(usize, String)> {
        let mut seen = HashSet::new();
        let found = self.members(at).find(|(key, _)| !seen.insert(self.key(*key)));
        found.map(|(key, _)| (key, self.key(key).into_owned()))
    }
}

/// Takes the events of a parser.
#[derive(Debug)]
struct Reader {
    limits: YamlLimits,
    flat: Flat,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchor>,
    /// Values and bytes so far, those that aliases stand for included.
    size: usize,
}

/// A collection whose end has not come yet.
#[derive(Debug)]
struct Open {
    at: usize,
    anchor: usize,
    size_before: usize,
    /// Collections below this one.
    height: usize,
}

/// A value that an alias can stand for.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    at: u32,
    size: usize,
    height: usize,
}

impl Reader {
    fn new(limits: YamlLimits) -> Self {
        let (flat, open, anchors) = (Flat::default(), Vec::new(), HashMap::new());
        Self { limits, flat, open, anchors, size: 0 }
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlFault> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let form = form(style, tag.as_deref());
                self.scalar(&text, form, anchor, span)
            }
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::SequenceStart(anchor, _) => self.open(Entry::Sequence { end: 0 }, anchor, span),
            Event::MappingStart(anchor, _) => self.open(Entry::Mapping { end: 0 }, anchor, span),
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        form: Form,
        anchor: usize,
        span: Span,
    ) -> Result<(), YamlFault> {
        let size = 1 + text.len();
        self.grow(size, span)?;
        self.anchor(anchor, self.flat.entries.len(), size, 0);
        let (start, len) = (offset(self.flat.text.len()), offset(text.len()));
        let line = offset(span.start.line());
        let column = u16::try_from(span.start.col()).unwrap_or(u16::MAX);
        self.flat.text.push_str(text);
        self.flat.entries.push(Entry::Scalar { form, column, line, start, len });
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), YamlFault> {
        let Some(Anchor { at, size, height }) = self.anchors.get(&anchor).copied() else {
            return Err(fault(span, "an alias stands inside the value it names"));
        };
        self.grow(size, span)?;
        self.deepen(height, span)?;
        self.flat.entries.push(Entry::Alias { target: at });
        Ok(())
    }

    fn open(&mut self, entry: Entry, anchor: usize, span: Span) -> Result<(), YamlFault> {
        self.deepen(1, span)?;
        let size_before = self.size;
        self.grow(1, span)?;
        self.open.push(Open { at: self.flat.entries.len(), anchor, size_before, height: 0 });
        self.flat.entries.push(entry);
        Ok(())
    }

    fn close(&mut self, span: Span) -> Result<(), YamlFault> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let behind = offset(self.flat.entries.len());
        if let Some(Entry::Sequence { end } | Entry::Mapping { end }) =
            self.flat.entries.get_mut(open.at)
        {
            *end = behind;
        }
        if let Some(Entry::Mapping { .. }) = self.flat.entry(open.at)
            && let Some((key, name)) = self.flat.duplicate(open.at)
        {
            return Err(self.duplicate(key, &name, span));
        }
        let height = open.height + 1;
        if let Some(around) = self.open.last_mut() {
            around.height = around.height.max(height);
        }
        self.anchor(open.anchor, open.at, self.size - open.size_before, height);
        Ok(())
    }

    fn anchor(&mut self, anchor: usize, at: usize, size: usize, height: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, Anchor { at: offset(at), size, height });
        }
    }

    /// Makes sure that so many more levels are allowed here.
    fn deepen(&mut self, levels: usize, span: Span) -> Result<(), YamlFault> {
        if self.open.len() + levels > self.limits.depth {
            return Err(fault(span, "the values are nested too deeply"));
        }
        if let Some(around) = self.open.last_mut() {
            around.height = around.height.max(levels);
        }
        Ok(())
    }

    fn grow(&mut self, size: usize, span: Span) -> Result<(), YamlFault> {
        self.size = self.size.saturating_add(size);
        if self.size > self.limits.size {
            return Err(fault(span, "the values are too large once aliases are followed"));
        }
        Ok(())
    }

    fn duplicate(&self, key: usize, name: &str, span: Span) -> YamlFault {
        let name: String = name.chars().take(80).collect();
        let reason = format!("the key `{name}` stands twice in one mapping").into();
        match self.flat.entry(key) {
            Some(Entry::Scalar { line, column, .. }) => {
                let line = (line as usize).saturating_sub(1);
                YamlFault { line, column: usize::from(column), reason }
            }
            _ => YamlFault { reason, ..fault(span, "") },
        }
    }
}

fn form(style: ScalarStyle, tag: Option<&Tag>) -> Form {
    let by_style = if style == ScalarStyle::Plain { Form::Plain } else { Form::Text };
    match tag {
        None => by_style,
        Some(tag) if tag.is_yaml_core_schema() => match tag.suffix.as_str() {
            "int" | "float" | "bool" | "null" => Form::Tagged,
            _ => Form::Text,
        },
        // `!` alone.
        Some(tag) if tag.handle.is_empty() && tag.suffix == "!" => Form::Text,
        Some(_) => by_style,
    }
}

fn fault(span: Span, reason: &'static str) -> YamlFault {
    let line = span.start.line().saturating_sub(1);
    YamlFault { line, column: span.start.col(), reason: reason.into() }
}

/// YamlLimits keep documents far below 4 GiB.
fn offset(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
