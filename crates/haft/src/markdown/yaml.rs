//! Front matter: YAML as JSON, bounded in depth and size.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};
use serde_json::{Map, Number, Value};

use super::FrontMatterError;

/// Reads one YAML document. `first_line` is the line of the document where the text begins.
pub(super) fn parse(text: &str, first_line: usize) -> Result<Value, FrontMatterError> {
    let mut reader = Reader { first_line, ..Reader::default() };
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| FrontMatterError::Invalid {
            line: first_line + error.marker().line().saturating_sub(1),
            column: error.marker().col(),
            reason: error.info().into(),
        })?;
        if matches!(event, Event::StreamEnd | Event::DocumentEnd) {
            break;
        }
        reader.event(event, span)?;
    }
    Ok(reader.root.unwrap_or(Value::Null))
}

#[derive(Debug, Default)]
struct Reader {
    first_line: usize,
    root: Option<Value>,
    open: Vec<Open>,
    /// Values by anchor, with their size.
    anchors: HashMap<usize, (Value, usize)>,
    /// Values and bytes made so far, the copies made for aliases included.
    size: usize,
}

/// A collection whose end has not come yet.
#[derive(Debug)]
struct Open {
    anchor: usize,
    size_before: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Sequence(Vec<Value>),
    Mapping { map: Map<String, Value>, key: Option<String> },
}

impl Reader {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), FrontMatterError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.grow(1 + text.len(), span)?;
                let size = 1 + text.len();
                let value = scalar(&text, style, tag.as_deref());
                self.add(value, (anchor, size), span)
            }
            Event::Alias(anchor) => {
                let Some((_, size)) = self.anchors.get(&anchor) else {
                    return Err(self.invalid(span, "an alias stands inside the value it names"));
                };
                let size = *size;
                self.grow(size, span)?;
                let value = self.anchors.get(&anchor).map(|(value, _)| value.clone());
                self.add(value.unwrap_or_default(), (0, size), span)
            }
            Event::SequenceStart(anchor, _) => self.open(anchor, Kind::Sequence(Vec::new()), span),
            Event::MappingStart(anchor, _) => {
                self.open(anchor, Kind::Mapping { map: Map::new(), key: None }, span)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else {
                    return Ok(());
                };
                let value = match open.kind {
                    Kind::Sequence(items) => Value::Array(items),
                    Kind::Mapping { map, .. } => Value::Object(map),
                };
                self.add(value, (open.anchor, self.size - open.size_before), span)
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self, anchor: usize, kind: Kind, span: Span) -> Result<(), FrontMatterError> {
        if self.open.len() >= DEPTH_LIMIT {
            return Err(self.invalid(span, "the values are nested too deeply"));
        }
        let size_before = self.size;
        self.grow(1, span)?;
        self.open.push(Open { anchor, size_before, kind });
        Ok(())
    }

    fn add(
        &mut self,
        value: Value,
        (anchor, size): (usize, usize),
        span: Span,
    ) -> Result<(), FrontMatterError> {
        if anchor > 0 {
            self.grow(size, span)?;
            self.anchors.insert(anchor, (value.clone(), size));
        }
        let duplicate = match self.open.last_mut().map(|it| &mut it.kind) {
            None => {
                self.root = Some(value);
                None
            }
            Some(Kind::Sequence(items)) => {
                items.push(value);
                None
            }
            Some(Kind::Mapping { map, key }) => match key.take() {
                None => {
                    *key = Some(key_text(value));
                    None
                }
                Some(name) if map.contains_key(&name) => Some(name),
                Some(name) => {
                    map.insert(name, value);
                    None
                }
            },
        };
        duplicate.map_or(Ok(()), |name| {
            Err(self.invalid(span, &format!("the key `{name}` stands twice in one mapping")))
        })
    }

    fn grow(&mut self, size: usize, span: Span) -> Result<(), FrontMatterError> {
        self.size = self.size.saturating_add(size);
        if self.size > SIZE_LIMIT {
            return Err(self.invalid(span, "the values are too large once aliases are followed"));
        }
        Ok(())
    }

    fn invalid(&self, span: Span, reason: &str) -> FrontMatterError {
        FrontMatterError::Invalid {
            line: self.first_line + span.start.line().saturating_sub(1),
            column: span.start.col(),
            reason: reason.into(),
        }
    }
}

fn key_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// A scalar by the rules of the YAML 1.2 core schema. What JSON has no word for stays text.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = style != ScalarStyle::Plain
        || tag.is_some_and(|it| it.is_yaml_core_schema() && it.suffix == "str");
    if is_text {
        return text.into();
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => number(text).map_or_else(|| text.into(), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0x") {
        let is_plain = digits.bytes().all(|it| it.is_ascii_hexdigit());
        return is_plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten().map(Into::into);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        let is_plain = digits.bytes().all(|it| it.is_ascii_digit());
        return is_plain.then(|| u64::from_str_radix(digits, 8).ok()).flatten().map(Into::into);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number =
        unsigned.bytes().all(|it| matches!(it, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
            && unsigned.bytes().any(|it| it.is_ascii_digit())
            && unsigned.starts_with(|it: char| it.is_ascii_digit() || it == '.');
    if !is_number {
        return None;
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    if let Ok(number) = text.parse::<u64>() {
        return Some(number.into());
    }
    // Whole numbers that do not fit would lose digits.
    if unsigned.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}

/// Collections inside collections.
const DEPTH_LIMIT: usize = 64;
/// Values and bytes of text, counted together.
const SIZE_LIMIT: usize = 1024 * 1024;
