//! Parses text into a document, with the positions of its parts.

use std::collections::HashMap;

use haft_core::json::{Document, ParseError};
use serde_json::Value;

use super::{InvalidScript, ScriptFault};

/// A script as a document.
#[derive(Debug)]
pub(super) struct ScriptSource {
    pub(super) document: Document,
    pub(super) places: ValueLocations,
}

/// Where the values of a text begin, by JSON pointer: line and column, from one.
#[derive(Debug, Default)]
pub(super) struct ValueLocations(pub(super) HashMap<String, (usize, usize)>);

impl ValueLocations {
    /// Says where a fault is: at its value, or at the nearest value around it.
    pub(super) fn locate(&self, mut fault: ScriptFault) -> ScriptFault {
        fault.place = self.find(&fault.pointer);
        fault
    }

    /// The location of a value, or of the nearest value around it.
    pub(super) fn find(&self, mut pointer: &str) -> Option<(usize, usize)> {
        loop {
            match (self.0.get(pointer), pointer.rsplit_once('/')) {
                (Some(place), _) => return Some(*place),
                (None, Some((above, _))) => pointer = above,
                (None, None) => return None,
            }
        }
    }
}

/// Reads JSON or YAML. Text that begins with a brace is JSON.
pub(super) fn read(text: &str) -> Result<ScriptSource, InvalidScript> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with('{') {
        let document = Document::parse(text).map_err(|error| invalid_json(&error))?;
        return Ok(ScriptSource { places: locate_values(text), document });
    }
    read_yaml(text)
}

pub(super) fn of_value(value: &Value) -> Result<Document, InvalidScript> {
    Document::from_value(value).map_err(|error| invalid_json(&error))
}

fn invalid_json(error: &ParseError) -> InvalidScript {
    let place = error.line().zip(error.column());
    let place = place.map(|(line, column)| (line as usize, column as usize));
    ScriptFault { place, ..ScriptFault::new("", format!("not JSON: {}", error.kind)) }.into()
}

/// JSON is also YAML, and the YAML reader knows the positions.
#[cfg(feature = "formats")]
fn locate_values(text: &str) -> ValueLocations {
    super::yaml::read(text).map_or_else(|_| ValueLocations::default(), |source| source.places)
}

#[cfg(not(feature = "formats"))]
fn locate_values(_: &str) -> ValueLocations {
    ValueLocations::default()
}

#[cfg(feature = "formats")]
fn read_yaml(text: &str) -> Result<ScriptSource, InvalidScript> {
    super::yaml::read(text).map_err(Into::into)
}

#[cfg(not(feature = "formats"))]
fn read_yaml(_: &str) -> Result<ScriptSource, InvalidScript> {
    let what = "not JSON; a script in YAML needs the feature `formats`";
    Err(ScriptFault::new("", what).into())
}
