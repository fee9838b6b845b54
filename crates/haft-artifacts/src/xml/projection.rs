//! The projection of XML to JSON.

use std::collections::HashMap;
use std::ops::ControlFlow;

use haft_core::json::{self, Document, JsonWriter, ValueKind};

use super::scan::{ElementVisitor, VisitFlow, VisitStop};
use super::text_run::TextRun;
use super::view::AttributeOptions;
use crate::invariant;

/// A document as a flat list of its elements, attributes and texts, in order.
#[derive(Debug)]
pub(super) struct Projection {
    attributes: AttributeOptions,
    names: NameTable,
    /// All texts and values, one after the other.
    text: String,
    items: Vec<ProjectionItem>,
    open: Vec<OpenElement>,
    text_run: TextRun,
    /// About how many bytes the JSON text has.
    size: usize,
}

/// What an element has. The items of an element follow it.
#[derive(Clone, Copy, Debug)]
enum ProjectionItem {
    /// `end` is the index after its last item.
    Element {
        name: u32,
        end: u32,
    },
    Attribute {
        name: u32,
        start: u32,
        len: u32,
    },
    Text {
        start: u32,
        len: u32,
    },
}

/// An element whose end was not read.
#[derive(Debug)]
struct OpenElement {
    at: usize,
    gap: bool,
    has_text: bool,
}

/// The different names, by number.
#[derive(Debug, Default)]
struct NameTable {
    numbers: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
}

/// The projection is nested deeper than JSON documents may be.
#[derive(Debug)]
pub(super) struct TooDeep;

/// Whether text that is a JSON number is written as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumericText {
    AsText,
    AsNumbers,
}

impl Projection {
    pub(super) fn new(attributes: AttributeOptions) -> Self {
        Self {
            attributes,
            names: NameTable::default(),
            text: String::new(),
            items: Vec::new(),
            open: Vec::new(),
            text_run: TextRun::default(),
            size: 0,
        }
    }

    /// The JSON, or an error if it is nested too deeply.
    pub(super) fn to_document(&self, numbers: NumericText) -> Result<Document, TooDeep> {
        let mut out = JsonWriter::new();
        out.try_object(|out| {
            let Some(ProjectionItem::Element { name, .. }) = self.items.first().copied() else {
                return Ok(());
            };
            out.key(self.names.name(name));
            self.write_element(0, (numbers, 1), out)
        })?;
        Ok(out.finish())
    }

    /// Recurses as deep as elements are nested, which is bounded.
    fn write_element(
        &self,
        at: usize,
        (numbers, depth): (NumericText, usize),
        out: &mut JsonWriter,
    ) -> Result<(), TooDeep> {
        let groups = self.groups(at);
        let text = self.element_text(at);
        if groups.is_empty() {
            write_text(&text, numbers, out);
            return Ok(());
        }
        check_depth(depth + 1)?;
        out.try_object(|out| {
            let mut rest = Some(text).filter(|it| !it.is_empty());
            for (name, items) in &groups {
                let key = self.names.name(*name);
                let also = if key == TEXT { rest.take() } else { None };
                out.key(key);
                if items.len() == 1 && also.is_none() {
                    items
                        .iter()
                        .try_for_each(|it| self.write_item(*it, (numbers, depth + 1), out))?;
                    continue;
                }
                check_depth(depth + 2)?;
                out.try_array(|out| {
                    items
                        .iter()
                        .try_for_each(|it| self.write_item(*it, (numbers, depth + 2), out))?;
                    also.iter().for_each(|it| write_text(it, numbers, out));
                    Ok(())
                })?;
            }
            if let Some(text) = rest {
                write_text(&text, numbers, out.key(TEXT));
            }
            Ok(())
        })?;
        Ok(())
    }

    fn write_item(
        &self,
        at: usize,
        level: (NumericText, usize),
        out: &mut JsonWriter,
    ) -> Result<(), TooDeep> {
        if let Some(ProjectionItem::Attribute { start, len, .. }) = self.items.get(at).copied() {
            write_text(self.slice(start, len), level.0, out);
            return Ok(());
        }
        self.write_element(at, level, out)
    }

    /// The attributes and elements of an element by name, in the order of the first occurrence of each name.
    fn groups(&self, at: usize) -> Vec<(u32, Vec<usize>)> {
        let mut groups: Vec<(u32, Vec<usize>)> = Vec::new();
        let mut places = HashMap::new();
        for (at, item) in self.children(at) {
            let (ProjectionItem::Element { name, .. } | ProjectionItem::Attribute { name, .. }) =
                item
            else {
                continue;
            };
            let place = *places.entry(name).or_insert(groups.len());
            match groups.get_mut(place) {
                Some((_, items)) => items.push(at),
                None => groups.push((name, vec![at])),
            }
        }
        groups
    }

    fn element_text(&self, at: usize) -> String {
        let texts = self.children(at).filter_map(|(_, item)| match item {
            ProjectionItem::Text { start, len } => Some(self.slice(start, len)),
            _ => None,
        });
        texts.collect()
    }

    fn children(&self, at: usize) -> impl Iterator<Item = (usize, ProjectionItem)> {
        let end = self.after(at);
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let at = (next < end).then_some(next)?;
            next = self.after(at);
            Some((at, *self.items.get(at)?))
        })
    }

    fn after(&self, at: usize) -> usize {
        match self.items.get(at) {
            Some(ProjectionItem::Element { end, .. }) => *end as usize,
            _ => at + 1,
        }
    }

    fn slice(&self, start: u32, len: u32) -> &str {
        invariant::text(&self.text, start as usize..start as usize + len as usize)
    }

    /// Ends the text before a tag.
    fn end_text_run(&mut self) {
        let Some(open) = self.open.last_mut() else { return };
        let start = self.text.len();
        self.text_run.flush(&mut self.text, &mut open.gap, &mut open.has_text);
        let len = self.text.len() - start;
        if len > 0 {
            self.items.push(ProjectionItem::Text {
                start: invariant::to_u32(start),
                len: invariant::to_u32(len),
            });
        }
    }

    fn reserve(&mut self, bytes: usize) -> VisitFlow {
        self.size += bytes;
        if self.size > PROJECTED_BYTES {
            return ControlFlow::Break(VisitStop::Full { limit: PROJECTED_BYTES });
        }
        ControlFlow::Continue(())
    }
}

impl ElementVisitor for Projection {
    fn open(&mut self, name: &str, attributes: &[(&str, &str)], _: usize) -> VisitFlow {
        self.end_text_run();
        // With its quotes, colon and comma.
        self.reserve(name.len() + 4)?;
        let at = self.items.len();
        self.open.push(OpenElement { at, gap: false, has_text: false });
        let name = self.names.intern(name);
        self.items.push(ProjectionItem::Element { name, end: 0 });
        for (name, value) in attributes {
            let Some(key) = self.attributes.key(name) else { continue };
            self.reserve(key.len() + value.len() + 6)?;
            let name = self.names.intern(&key);
            let start = invariant::to_u32(self.text.len());
            let len = invariant::to_u32(value.len());
            self.text.push_str(value);
            self.items.push(ProjectionItem::Attribute { name, start, len });
        }
        ControlFlow::Continue(())
    }

    fn close(&mut self) -> VisitFlow {
        self.end_text_run();
        let behind = invariant::to_u32(self.items.len());
        let open = self.open.pop();
        if let Some(ProjectionItem::Element { end, .. }) =
            open.and_then(|it| self.items.get_mut(it.at))
        {
            *end = behind;
        }
        ControlFlow::Continue(())
    }

    fn visit_text(&mut self, text: &str, exact: bool) -> VisitFlow {
        let before = self.text_run.len();
        if exact {
            self.text_run.push_exact(text)
        } else {
            self.text_run.push(text)
        }
        self.reserve(self.text_run.len() - before)
    }
}

impl NameTable {
    fn intern(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = invariant::to_u32(self.names.len());
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", |it| it)
    }
}

fn write_text(text: &str, numbers: NumericText, out: &mut JsonWriter) {
    let begins_so = text.starts_with(|it: char| it.is_ascii_digit() || it == '-');
    if numbers == NumericText::AsNumbers
        && begins_so
        && let Ok(number) = Document::parse(text)
        && number.root().kind() == ValueKind::Number
    {
        out.view(number.root());
        return;
    }
    out.string(text);
}

fn check_depth(depth: usize) -> Result<(), TooDeep> {
    if depth > json::MAX_DEPTH { Err(TooDeep) } else { Ok(()) }
}

pub(super) const TEXT: &str = "#text";
/// The maximum number of bytes of the projection as JSON text.
const PROJECTED_BYTES: usize = 16 * 1024 * 1024;
