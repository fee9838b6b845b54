//! What the scanner finds, within limits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::link_definition::DefinitionSource;
use super::scan::Nesting;
use super::{CodeBlock, Heading, LinkDefinition, plain};

/// Headings, code blocks and definitions of a document.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) headings: Vec<Heading>,
    pub(super) code_blocks: Vec<CodeBlock>,
    pub(super) definitions: Definitions,
    /// How much was omitted because of a limit.
    pub(super) omitted: usize,
    /// Headings whose text is still the source, because a definition may follow.
    unrendered: Vec<usize>,
    /// The first nested heading of the open container.
    nested_from: usize,
    /// Whether the open code block is the last of the list.
    is_code_open: bool,
    text_bytes: usize,
}

/// Definitions by normalised label.
#[derive(Debug, Default, Clone)]
pub(super) struct Definitions {
    by_label: HashMap<Box<str>, LinkDefinition>,
    bytes: usize,
}

impl Outline {
    pub(super) fn add_heading(&mut self, depth: u8, source: &[u8], line: usize, nesting: &Nesting) {
        let cut = source.get(..HEADING_LIMIT).unwrap_or(source);
        if self.headings.len() >= ENTRY_LIMIT || self.text_bytes + cut.len() > TEXT_LIMIT {
            self.omitted += 1;
            return;
        }
        self.text_bytes += cut.len();
        let source = String::from_utf8_lossy(cut);
        let text = if source.contains('[') {
            self.unrendered.push(self.headings.len());
            source.into_owned()
        } else {
            plain::heading(&source, &self.definitions)
        };
        let nested = *nesting == Nesting::Nested;
        self.headings.push(Heading {
            depth,
            text: text.into_boxed_str(),
            start_line: line,
            end_line: usize::MAX,
            nested,
        });
        if !nested {
            self.nested_from = self.headings.len();
        }
    }

    /// The outermost container ended before `line`.
    pub(super) fn end_nested(&mut self, line: usize) {
        for heading in self.headings.iter_mut().skip(self.nested_from) {
            heading.end_line = line.saturating_sub(1).max(heading.start_line);
        }
        self.nested_from = self.headings.len();
    }

    /// A code block begins; a fenced one has an info string.
    pub(super) fn begin_code(&mut self, line: usize, info: Option<&[u8]>, nesting: &Nesting) {
        self.is_code_open = self.code_blocks.len() < ENTRY_LIMIT && self.text_bytes < TEXT_LIMIT;
        if !self.is_code_open {
            self.omitted += 1;
            return;
        }
        let lang = info.and_then(|it| plain::language(it.get(..INFO_LIMIT).unwrap_or(it)));
        self.text_bytes += lang.as_ref().map_or(0, |it| it.len());
        self.code_blocks.push(CodeBlock {
            lang,
            start_line: line,
            end_line: line,
            fenced: info.is_some(),
            nested: *nesting == Nesting::Nested,
        });
    }

    pub(super) fn end_code(&mut self, line: usize) {
        if self.is_code_open
            && let Some(block) = self.code_blocks.last_mut()
        {
            block.end_line = line;
        }
        self.is_code_open = false;
    }

    pub(super) fn add_definition(&mut self, source: DefinitionSource<'_>) {
        if !self.definitions.insert(source) {
            self.omitted += 1;
        }
    }

    /// Sets the ends of headings, and writes out the texts that waited for definitions.
    pub(super) fn finish(&mut self, line_count: usize) {
        for &at in &self.unrendered {
            if let Some(heading) = self.headings.get_mut(at) {
                heading.text = plain::heading(&heading.text, &self.definitions).into_boxed_str();
            }
        }
        let last = line_count.saturating_sub(1);
        let mut top = [last; 7];
        let mut nested = [usize::MAX; 7];
        let mut container_end = None;
        for heading in self.headings.iter_mut().rev() {
            let ends = if heading.nested {
                // Headings of one container share its end.
                if container_end != Some(heading.end_line) {
                    container_end = Some(heading.end_line);
                    nested = [usize::MAX; 7];
                }
                &mut nested
            } else {
                heading.end_line = last;
                &mut top
            };
            let depth = usize::from(heading.depth);
            if let Some(end) = ends.get(depth) {
                heading.end_line = heading.end_line.min(*end).max(heading.start_line);
            }
            let before = heading.start_line.saturating_sub(1);
            ends.iter_mut().skip(depth).for_each(|it| *it = before);
        }
        self.headings.shrink_to_fit();
        self.code_blocks.shrink_to_fit();
    }
}

impl Definitions {
    /// The definition of a label, however it is written.
    pub(super) fn get(&self, label: &str) -> Option<&LinkDefinition> {
        if self.by_label.is_empty() {
            return None;
        }
        self.by_label.get(normalise(label).as_str())
    }

    pub(super) fn len(&self) -> usize {
        self.by_label.len()
    }

    /// Adds a definition, unless its label has one. Returns false if a limit is reached.
    fn insert(&mut self, source: DefinitionSource<'_>) -> bool {
        let size = source.label.len() + source.url.len() + source.title.map_or(0, <[u8]>::len);
        let label = normalise(&String::from_utf8_lossy(source.label)).into_boxed_str();
        let is_full = self.by_label.len() >= DEFINITION_LIMIT
            || self.bytes + size > DEFINITION_BYTES
            || size > PARAGRAPH_OF_DEFINITION;
        if let Entry::Vacant(place) = self.by_label.entry(label) {
            if is_full {
                return false;
            }
            self.bytes += size;
            place.insert(LinkDefinition {
                url: plain::unescape(&String::from_utf8_lossy(source.url)),
                title: source.title.map(|it| plain::unescape(&String::from_utf8_lossy(it))),
            });
        }
        true
    }
}

/// A label as it is compared: white space as one space, letters without case.
fn normalise(label: &str) -> String {
    let mut text = plain::one_line(label);
    if text.is_ascii() {
        text.make_ascii_lowercase();
        return text;
    }
    // Through upper case, so that the German sharp s and its capital are the same.
    text.to_lowercase().to_uppercase().to_lowercase()
}

/// The maximum number of headings, and code blocks, of an index.
const ENTRY_LIMIT: usize = 200_000;
/// Bytes of heading texts and languages together.
const TEXT_LIMIT: usize = 16 * 1024 * 1024;
/// Bytes of one heading's source.
const HEADING_LIMIT: usize = 2048;
const INFO_LIMIT: usize = 256;
const DEFINITION_LIMIT: usize = 50_000;
const DEFINITION_BYTES: usize = 4 * 1024 * 1024;
const PARAGRAPH_OF_DEFINITION: usize = 16 * 1024;
