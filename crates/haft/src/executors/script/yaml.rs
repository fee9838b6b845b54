//! Reads YAML with the position of every value.
//!
//! The reader of `haft_artifacts::yaml` is another one, because artifacts need other things: it follows
//! aliases, reads all scalars of YAML, has no positions, and exists only with the feature `formats`. Scripts
//! have no aliases and no tags. Both use the same parser.

use std::collections::HashMap;

use haft_core::json::Document;
use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::ScriptFault;
use super::source::{ScriptSource, ValueLocations};

/// Reads one YAML document. Plain scalars that are JSON (`1`, `true`, `null`) have these values, an empty scalar is
/// `null`, and everything else is text.
pub(super) fn read(text: &str) -> Result<ScriptSource, ScriptFault> {
    let mut reader = YamlReader::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| ScriptFault {
            place: Some((error.marker().line(), error.marker().col() + 1)),
            ..ScriptFault::new("", format!("not YAML: {}", error.info()))
        })?;
        match event {
            Event::DocumentStart(_) if !reader.json.is_empty() => {
                return Err(fault_at(
                    span,
                    "a script is one document, and here a second one begins",
                ));
            }
            event => reader.write_event(event, span)?,
        }
    }
    let json = if reader.json.is_empty() { "null".to_owned() } else { reader.json };
    let document = Document::parse_owned(json)
        .map_err(|error| ScriptFault::new("", format!("the script cannot be read: {error}")))?;
    Ok(ScriptSource { document, places: ValueLocations(reader.places) })
}

/// Writes the document as JSON text.
#[derive(Default)]
struct YamlReader {
    json: String,
    open: Vec<OpenCollection>,
    places: HashMap<String, (usize, usize)>,
}

/// A collection that has not ended.
struct OpenCollection {
    pointer: String,
    items: usize,
    kind: CollectionKind,
}

enum CollectionKind {
    Sequence,
    /// The key whose value comes next, and its position.
    Mapping(Option<(String, Span)>),
}

impl YamlReader {
    fn write_event(&mut self, event: Event<'_>, span: Span) -> Result<(), ScriptFault> {
        match event {
            Event::Scalar(text, style, _, _) => self.write_scalar(&text, style, span),
            Event::Alias(_) => Err(fault_at(span, "a script has no aliases; write it out")),
            Event::SequenceStart(..) => self.begin_collection(CollectionKind::Sequence, span),
            Event::MappingStart(..) => self.begin_collection(CollectionKind::Mapping(None), span),
            Event::SequenceEnd | Event::MappingEnd => {
                let close = match self.open.pop().map(|open| open.kind) {
                    Some(CollectionKind::Sequence) => ']',
                    _ => '}',
                };
                self.json.push(close);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn begin_collection(&mut self, kind: CollectionKind, span: Span) -> Result<(), ScriptFault> {
        if matches!(
            self.open.last(),
            Some(OpenCollection { kind: CollectionKind::Mapping(None), .. })
        ) {
            return Err(fault_at(span, "a key is text"));
        }
        if self.open.len() >= DEPTH_LIMIT {
            return Err(fault_at(span, "the values are nested too deeply"));
        }
        let pointer = self.begin_value(span);
        self.json.push(if matches!(kind, CollectionKind::Sequence) { '[' } else { '{' });
        self.open.push(OpenCollection { pointer, items: 0, kind });
        Ok(())
    }

    fn write_scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        span: Span,
    ) -> Result<(), ScriptFault> {
        if let Some(OpenCollection { kind: CollectionKind::Mapping(key @ None), .. }) =
            self.open.last_mut()
        {
            *key = Some((text.to_owned(), span));
            return Ok(());
        }
        self.begin_value(span);
        let is_json = style == ScalarStyle::Plain && !text.starts_with(['"', '[', '{']);
        match text {
            "" | "~" if is_json => self.json.push_str("null"),
            _ if is_json && Document::parse(text).is_ok() => self.json.push_str(text),
            _ => self.write_string(text),
        }
        Ok(())
    }

    /// Writes the separator before a value, and notes its position. Returns its pointer.
    fn begin_value(&mut self, span: Span) -> String {
        let Some(open) = self.open.last_mut() else {
            self.places.insert(String::new(), line_and_column(span));
            return String::new();
        };
        if open.items > 0 {
            self.json.push(',');
        }
        open.items += 1;
        let (pointer, span, key) = match &mut open.kind {
            CollectionKind::Sequence => {
                (format!("{}/{}", open.pointer, open.items - 1), span, None)
            }
            CollectionKind::Mapping(key) => {
                let (key, at) = key.take().unwrap_or((String::new(), span));
                let name = key.replace('~', "~0").replace('/', "~1");
                (format!("{}/{name}", open.pointer), at, Some(key))
            }
        };
        if let Some(key) = key {
            self.write_string(&key);
            self.json.push(':');
        }
        self.places.insert(pointer.clone(), line_and_column(span));
        pointer
    }

    fn write_string(&mut self, text: &str) {
        self.json.push_str(&serde_json::Value::from(text).to_string());
    }
}

fn line_and_column(span: Span) -> (usize, usize) {
    (span.start.line(), span.start.col() + 1)
}

fn fault_at(span: Span, what: &str) -> ScriptFault {
    ScriptFault { place: Some(line_and_column(span)), ..ScriptFault::new("", what) }
}

const DEPTH_LIMIT: usize = 64;
