//! Reads YAML with the position of every value.
//!
//! The reader of `haft_artifacts::yaml` is another one, because artifacts need other things: it follows
//! aliases, reads all scalars of YAML, has no positions, and exists only with the feature `formats`. Scripts
//! have no aliases and no tags. Both use the same parser.

use std::collections::HashMap;

use haft_core::json::Document;
use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::ScriptFault;
use super::source::{Places, Source};

/// Reads one YAML document. Plain scalars that are JSON (`1`, `true`, `null`) are what they say, nothing
/// at all is `null`, and everything else is text.
pub(super) fn read(text: &str) -> Result<Source, ScriptFault> {
    let mut reader = Reader::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| ScriptFault {
            place: Some((error.marker().line(), error.marker().col() + 1)),
            ..ScriptFault::new("", format!("not YAML: {}", error.info()))
        })?;
        match event {
            Event::DocumentStart(_) if !reader.json.is_empty() => {
                return Err(fault(span, "a script is one document, and here a second one begins"));
            }
            event => reader.event(event, span)?,
        }
    }
    let json = if reader.json.is_empty() { "null".to_owned() } else { reader.json };
    let document = Document::parse_owned(json)
        .map_err(|error| ScriptFault::new("", format!("the script cannot be read: {error}")))?;
    Ok(Source { document, places: Places(reader.places) })
}

/// Writes the document as JSON text.
#[derive(Default)]
struct Reader {
    json: String,
    open: Vec<Open>,
    places: HashMap<String, (usize, usize)>,
}

/// A collection whose end has not come yet.
struct Open {
    pointer: String,
    items: usize,
    kind: Kind,
}

enum Kind {
    Sequence,
    /// The key whose value comes next, and where it stands.
    Mapping(Option<(String, Span)>),
}

impl Reader {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), ScriptFault> {
        match event {
            Event::Scalar(text, style, _, _) => self.scalar(&text, style, span),
            Event::Alias(_) => Err(fault(span, "a script has no aliases; write it out")),
            Event::SequenceStart(..) => self.begin(Kind::Sequence, span),
            Event::MappingStart(..) => self.begin(Kind::Mapping(None), span),
            Event::SequenceEnd | Event::MappingEnd => {
                let close = match self.open.pop().map(|open| open.kind) {
                    Some(Kind::Sequence) => ']',
                    _ => '}',
                };
                self.json.push(close);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, kind: Kind, span: Span) -> Result<(), ScriptFault> {
        if matches!(self.open.last(), Some(Open { kind: Kind::Mapping(None), .. })) {
            return Err(fault(span, "a key is text"));
        }
        if self.open.len() >= DEPTH_LIMIT {
            return Err(fault(span, "the values are nested too deeply"));
        }
        let pointer = self.value(span);
        self.json.push(if matches!(kind, Kind::Sequence) { '[' } else { '{' });
        self.open.push(Open { pointer, items: 0, kind });
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: Span) -> Result<(), ScriptFault> {
        if let Some(Open { kind: Kind::Mapping(key @ None), .. }) = self.open.last_mut() {
            *key = Some((text.to_owned(), span));
            return Ok(());
        }
        self.value(span);
        let is_json = style == ScalarStyle::Plain && !text.starts_with(['"', '[', '{']);
        match text {
            "" | "~" if is_json => self.json.push_str("null"),
            _ if is_json && Document::parse(text).is_ok() => self.json.push_str(text),
            _ => self.string(text),
        }
        Ok(())
    }

    /// Writes what stands before a value, and notes where it is. Gives its pointer.
    fn value(&mut self, span: Span) -> String {
        let Some(open) = self.open.last_mut() else {
            self.places.insert(String::new(), place(span));
            return String::new();
        };
        if open.items > 0 {
            self.json.push(',');
        }
        open.items += 1;
        let (pointer, span, key) = match &mut open.kind {
            Kind::Sequence => (format!("{}/{}", open.pointer, open.items - 1), span, None),
            Kind::Mapping(key) => {
                let (key, at) = key.take().unwrap_or((String::new(), span));
                let name = key.replace('~', "~0").replace('/', "~1");
                (format!("{}/{name}", open.pointer), at, Some(key))
            }
        };
        if let Some(key) = key {
            self.string(&key);
            self.json.push(':');
        }
        self.places.insert(pointer.clone(), place(span));
        pointer
    }

    fn string(&mut self, text: &str) {
        self.json.push_str(&serde_json::Value::from(text).to_string());
    }
}

fn place(span: Span) -> (usize, usize) {
    (span.start.line(), span.start.col() + 1)
}

fn fault(span: Span, what: &str) -> ScriptFault {
    ScriptFault { place: Some(place(span)), ..ScriptFault::new("", what) }
}

const DEPTH_LIMIT: usize = 64;
