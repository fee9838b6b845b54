//! Generations that are replayed as they were, or not at all.
//!
//! Some providers want back what a model thought, in the order in which it thought, spoke and called. A turn
//! keeps thoughts, texts and calls as records of their own, so that the order is lost. A [`Recorder`] writes it
//! down while the answer is read: what only the provider understands as it came, and of texts and calls no more
//! than is needed to recognise them. [`pieces`] puts the generation together again, from the texts and calls that
//! went through the funnel, if they are still what they were and the same model is asked.

#[cfg(test)]
mod tests;

use haft_core::call::CallId;
use haft_core::json::Document;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::prompt::{Content, Own, OwnCall, OwnThought};

/// What stands between two texts of a generation that were not next to each other.
const GAP: &str = "\n\n";

/// Most bytes of opaque parts that are kept for a replay.
const MAX_OPAQUE: usize = 4 * 1024 * 1024;

/// The order of a generation.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Layout {
    /// The model that was asked.
    model: String,
    /// The hash of all text.
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Part {
    /// As it came.
    Opaque { value: Value },
    /// The next bytes of the text, whether there is a gap before them, and what the provider knows them by.
    Text { bytes: usize, gap: bool, by: Value },
    /// The next call: its hash, and what the provider knows it by beside its id.
    Call { key: String, by: Value },
}

/// A part of a generation that is replayed.
#[derive(Debug, PartialEq)]
pub(super) enum Piece<'o> {
    Opaque(Value),
    Text { text: &'o str, by: Value },
    Call { call: Called<'o>, by: Value },
}

/// A call, compared by its id on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Called<'o>(pub(super) &'o OwnCall);

impl PartialEq for Called<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.wire_id == other.0.wire_id
    }
}

/// Why a generation is not replayed.
pub(super) type Why = &'static str;

/// The parts of a generation in their order; nothing if it has none that only the provider understands.
pub(super) fn pieces<'o>(own: &'o Own, model: &str) -> Result<Option<Vec<Piece<'o>>>, Why> {
    let mut layouts = own.thoughts.iter().filter_map(|it| match it {
        OwnThought::Opaque(payload) => Some(payload),
        OwnThought::Text(_) => None,
    });
    let Some(payload) = layouts.next() else { return Ok(None) };
    if layouts.next().is_some() {
        return Err("it has several records of its order");
    }
    let layout = Layout::deserialize(&**payload).map_err(|_| "its record cannot be read")?;
    if layout.model != model {
        return Err("another model is asked now");
    }
    let text = match own.content.as_slice() {
        [] => "",
        [Content::Text(text)] => text.as_str(),
        _ => return Err("its text has changed"),
    };
    if hex(Sha256::digest(text.as_bytes()).as_slice()) != layout.text {
        return Err("its text has changed");
    }
    arrange(layout.parts, text, &own.calls).map(Some)
}

fn arrange<'o>(
    parts: Vec<Part>,
    text: &'o str,
    calls: &'o [OwnCall],
) -> Result<Vec<Piece<'o>>, Why> {
    let (mut rest, mut calls) = (text, calls.iter());
    let mut pieces = Vec::new();
    for part in parts {
        match part {
            Part::Opaque { value } => pieces.push(Piece::Opaque(value)),
            Part::Text { bytes, gap, by } => {
                if gap {
                    rest = rest.strip_prefix(GAP).ok_or("its text has changed")?;
                }
                let (text, more) = rest.split_at_checked(bytes).ok_or("its text has changed")?;
                rest = more;
                pieces.push(Piece::Text { text, by });
            }
            Part::Call { key, by } => {
                let call = calls.next().ok_or("its calls have changed")?;
                if call_key(&call.wire_name, &call.args.to_json()) != key {
                    return Err("its calls have changed");
                }
                pieces.push(Piece::Call { call: Called(call), by });
            }
        }
    }
    if !rest.is_empty() {
        return Err("its text has changed");
    }
    if calls.next().is_some() {
        return Err("its calls have changed");
    }
    Ok(pieces)
}

/// How a text follows another one that stands directly before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seam {
    /// As if they were one.
    Close,
    /// After a gap.
    Apart,
}

/// Writes down the order of a generation.
#[derive(Debug)]
pub(super) struct Recorder {
    model: String,
    parts: Vec<Part>,
    hash: Sha256,
    said: bool,
    next: Option<(Seam, Value)>,
    opaque: usize,
    whole: bool,
}

impl Recorder {
    /// For a request to this model.
    pub(super) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            parts: Vec::new(),
            hash: Sha256::new(),
            said: false,
            next: Some((Seam::Close, Value::Null)),
            opaque: 0,
            whole: true,
        }
    }

    /// A text begins: what is said next is a part of its own, which the provider knows by this.
    pub(super) fn begin_text(&mut self, seam: Seam, by: Value) {
        self.next = Some((seam, by));
    }

    /// More of a text. Returns what has to be said before it.
    pub(super) fn text(&mut self, delta: &str) -> &'static str {
        if delta.is_empty() {
            return "";
        }
        let mut before = "";
        if let Some((seam, by)) = self.next.take() {
            let behind_text = matches!(self.parts.last(), Some(Part::Text { .. }));
            let gap = self.said && (seam == Seam::Apart || !behind_text);
            before = if gap { GAP } else { "" };
            self.parts.push(Part::Text { bytes: 0, gap, by });
        }
        match self.parts.last_mut() {
            Some(Part::Text { bytes, .. }) => *bytes = bytes.saturating_add(delta.len()),
            // Something else came in between; such a stream has no order to keep.
            _ => self.whole = false,
        }
        self.hash.update(before);
        self.hash.update(delta);
        self.said = true;
        before
    }

    /// A part that only the provider understands.
    pub(super) fn opaque(&mut self, value: Value) {
        self.opaque = self.opaque.saturating_add(value.to_string().len());
        self.whole &= self.opaque <= MAX_OPAQUE;
        if self.whole {
            self.parts.push(Part::Opaque { value });
        }
    }

    /// A whole call.
    pub(super) fn call(&mut self, name: &str, arguments: &str, by: Value) {
        self.parts.push(Part::Call { key: call_key(name, arguments), by });
    }

    /// Completes the parts that only the provider understands; one that is refused cannot be replayed.
    pub(super) fn complete(&mut self, mut part: impl FnMut(&mut Value) -> bool) {
        for it in &mut self.parts {
            if let Part::Opaque { value } = it {
                self.whole &= part(value);
            }
        }
    }

    /// There was something that cannot be replayed.
    pub(super) fn spoil(&mut self) {
        self.whole = false;
    }

    /// The record; nothing if nothing needs one, or if it would not be true.
    pub(super) fn finish(&mut self) -> Option<Value> {
        let needed = self.parts.iter().any(|it| matches!(it, Part::Opaque { .. }));
        if !needed || !self.whole {
            return None;
        }
        let layout = Layout {
            model: std::mem::take(&mut self.model),
            text: hex(self.hash.clone().finalize().as_slice()),
            parts: std::mem::take(&mut self.parts),
        };
        serde_json::to_value(layout).ok()
    }
}

/// What a call is. Arguments that are not JSON count as text.
fn call_key(name: &str, arguments: &str) -> String {
    match Document::parse(arguments) {
        Ok(args) => CallId::of(name, args.root()).to_string(),
        Err(_) => CallId::of_text(name, arguments).to_string(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}
