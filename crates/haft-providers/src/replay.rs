//! Generations that are sent back to the provider in their original order, or not at all.
//!
//! Some providers want the reasoning of a model back, in the order in which it reasoned, wrote text and made calls. A turn
//! stores thoughts, texts and calls as separate records, so that the order is lost. A [`ReplayRecorder`] records the order
//! while the response is decoded: opaque parts unchanged, and of texts and calls only what is needed to recognise them.
//! [`replay_parts`] restores the generation from the texts and calls that went through the trust funnel, if they are
//! unchanged and the request goes to the same model.

#[cfg(test)]
mod tests;

use haft_core::call::CallId;
use haft_core::json::Document;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::prompt::{AssistantCall, AssistantEntry, AssistantThought, ContentPart};

/// The text between two texts of a generation that were not adjacent.
const GAP: &str = "\n\n";

/// The maximum number of bytes of opaque parts, and of the ids by which the provider knows other parts, that are stored for a
/// replay.
const MAX_OPAQUE: usize = 4 * 1024 * 1024;

/// The maximum number of parts of a generation that is replayed.
const MAX_PARTS: usize = 16 * 1024;

/// The order of a generation.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ReplayLayout {
    /// The model that was asked.
    model: String,
    /// The hash of all text.
    text: String,
    parts: Vec<LayoutPart>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum LayoutPart {
    /// An item that is sent back unchanged.
    Opaque { value: Value },
    /// The next bytes of the text, whether there is a gap before them, and how the provider identifies them.
    Text { bytes: usize, gap: bool, by: Value },
    /// The next call: its hash, and how the provider identifies it in addition to its id.
    Call { key: String, by: Value },
}

/// A part of a generation that is replayed.
#[derive(Debug, PartialEq)]
pub(crate) enum ReplayPart<'o> {
    Opaque(Value),
    Text { text: &'o str, by: Value },
    Call { call: ReplayedCall<'o>, by: Value },
}

/// A call, compared by its id on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplayedCall<'o>(pub(crate) &'o AssistantCall);

impl PartialEq for ReplayedCall<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.wire_id == other.0.wire_id
    }
}

/// Why a generation is not replayed.
pub(crate) type NotReplayed = &'static str;

/// The parts of a generation in their original order; `None` if it has no opaque part.
pub(crate) fn replay_parts<'o>(
    entry: &'o AssistantEntry,
    model: &str,
) -> Result<Option<Vec<ReplayPart<'o>>>, NotReplayed> {
    let mut layouts = entry.thoughts.iter().filter_map(|it| match it {
        AssistantThought::Opaque(payload) => Some(payload),
        AssistantThought::Text(_) => None,
    });
    let Some(payload) = layouts.next() else { return Ok(None) };
    if layouts.next().is_some() {
        return Err("it has several records of its order");
    }
    let layout = ReplayLayout::deserialize(&**payload).map_err(|_| "its record cannot be read")?;
    if layout.model != model {
        return Err("another model is asked now");
    }
    let text = match entry.content.as_slice() {
        [] => "",
        [ContentPart::Text(text)] => text.as_str(),
        _ => return Err("its text has changed"),
    };
    if hex(Sha256::digest(text.as_bytes()).as_slice()) != layout.text {
        return Err("its text has changed");
    }
    arrange_parts(layout.parts, text, &entry.calls).map(Some)
}

fn arrange_parts<'o>(
    parts: Vec<LayoutPart>,
    text: &'o str,
    calls: &'o [AssistantCall],
) -> Result<Vec<ReplayPart<'o>>, NotReplayed> {
    let mut rest = text;
    let mut calls = calls.iter();
    let mut arranged = Vec::new();
    for part in parts {
        match part {
            LayoutPart::Opaque { value } => arranged.push(ReplayPart::Opaque(value)),
            LayoutPart::Text { bytes, gap, by } => {
                if gap {
                    rest = rest.strip_prefix(GAP).ok_or("its text has changed")?;
                }
                let (text, more) = rest.split_at_checked(bytes).ok_or("its text has changed")?;
                rest = more;
                arranged.push(ReplayPart::Text { text, by });
            }
            LayoutPart::Call { key, by } => {
                let call = calls.next().ok_or("its calls have changed")?;
                if call_key(&call.wire_name, &call.args.to_json()) != key {
                    return Err("its calls have changed");
                }
                arranged.push(ReplayPart::Call { call: ReplayedCall(call), by });
            }
        }
    }
    if !rest.is_empty() {
        return Err("its text has changed");
    }
    if calls.next().is_some() {
        return Err("its calls have changed");
    }
    Ok(arranged)
}

/// How a text is joined to an adjacent one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextSeam {
    /// As if they were one.
    Close,
    /// After a gap.
    Apart,
}

/// Records the order of a generation.
#[derive(Debug)]
pub(crate) struct ReplayRecorder {
    model: String,
    parts: Vec<LayoutPart>,
    hash: Sha256,
    has_text: bool,
    /// Whether the last part is a text.
    behind_text: bool,
    next: Option<(TextSeam, Value)>,
    opaque: usize,
    replayable: bool,
}

impl ReplayRecorder {
    /// For a request to this model.
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            parts: Vec::new(),
            hash: Sha256::new(),
            has_text: false,
            behind_text: false,
            next: Some((TextSeam::Close, Value::Null)),
            opaque: 0,
            replayable: true,
        }
    }

    /// Begins a text: the next text is a new part, with the fields by which the provider identifies it.
    pub(crate) fn begin_text(&mut self, seam: TextSeam, by: Value) {
        self.next = Some((seam, by));
    }

    /// Adds text. Returns the separator that has to be reported before it.
    pub(crate) fn push_text(&mut self, delta: &str) -> &'static str {
        if delta.is_empty() {
            return "";
        }
        let mut before = "";
        if let Some((seam, by)) = self.next.take() {
            let gap = self.has_text && (seam == TextSeam::Apart || !self.behind_text);
            before = if gap { GAP } else { "" };
            let named = json_bytes(&by);
            self.push_part(LayoutPart::Text { bytes: 0, gap, by }, named);
        }
        match self.parts.last_mut() {
            Some(LayoutPart::Text { bytes, .. }) => *bytes = bytes.saturating_add(delta.len()),
            // Something else came in between; such a stream has no order to keep.
            _ => self.discard(),
        }
        self.hash.update(before);
        self.hash.update(delta);
        self.has_text = true;
        before
    }

    /// Adds an opaque part.
    pub(crate) fn push_opaque(&mut self, value: Value) {
        let bytes = json_bytes(&value);
        self.push_part(LayoutPart::Opaque { value }, bytes);
    }

    /// Adds a part, with the bytes that it holds. A generation with too many of them is not replayed.
    fn push_part(&mut self, part: LayoutPart, bytes: usize) {
        self.behind_text = matches!(part, LayoutPart::Text { .. });
        self.opaque = self.opaque.saturating_add(bytes);
        if self.opaque > MAX_OPAQUE || self.parts.len() >= MAX_PARTS {
            self.discard();
        }
        if self.replayable {
            self.parts.push(part);
        }
    }

    /// Adds a complete call.
    pub(crate) fn push_call(&mut self, name: &str, arguments: &str, by: Value) {
        let bytes = json_bytes(&by);
        self.push_part(LayoutPart::Call { key: call_key(name, arguments), by }, bytes);
    }

    /// Completes the opaque parts. If `part` returns false for one, the generation cannot be replayed.
    pub(crate) fn complete_opaque(&mut self, mut part: impl FnMut(&mut Value) -> bool) {
        let mut complete = true;
        for it in &mut self.parts {
            if let LayoutPart::Opaque { value } = it {
                complete &= part(value);
            }
        }
        if !complete {
            self.discard();
        }
    }

    /// Marks the generation as one that cannot be replayed, of which nothing need be stored.
    pub(crate) fn discard(&mut self) {
        self.replayable = false;
        self.parts = Vec::new();
    }

    /// Returns the record; `None` if there is no opaque part, or if the generation cannot be replayed.
    pub(crate) fn finish(&mut self) -> Option<Value> {
        let needed = self.parts.iter().any(|it| matches!(it, LayoutPart::Opaque { .. }));
        if !needed || !self.replayable {
            return None;
        }
        let layout = ReplayLayout {
            model: std::mem::take(&mut self.model),
            text: hex(self.hash.clone().finalize().as_slice()),
            parts: std::mem::take(&mut self.parts),
        };
        serde_json::to_value(layout).ok()
    }
}

fn json_bytes(value: &Value) -> usize {
    value.to_string().len()
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
