//! Takes the body of a request apart: tools, system prompt, messages, results, each with its author.

mod envelope;

use std::collections::HashMap;

use serde_json::Value;

use self::envelope::split_envelopes;
use crate::stored::shorten;
use crate::wire::{PartChange, PartKind, PromptPart, Segment, SourceTier};

/// A part of a request, with the JSON that it was made from.
#[derive(Clone, Debug)]
pub(crate) struct BodyPart {
    kind: PartKind,
    title: String,
    text: String,
    /// The JSON of the part, by which two requests are compared.
    source: String,
    /// The tier of a result, as its record says.
    label: Option<SourceTier>,
}

/// Finds the trust of a result by the id that the provider gave its call.
pub(crate) type ResultTiers<'a> = &'a dyn Fn(&str) -> Option<SourceTier>;

/// Takes a body apart, in the order in which providers read it: tools, system prompt, messages.
pub(crate) fn body_parts(body: &Value, tiers: ResultTiers<'_>) -> Vec<BodyPart> {
    let mut parts = PartReader { parts: Vec::new(), tools: HashMap::new(), steps: 0, tiers };
    if let Some(tools) =
        body.get("tools").filter(|it| it.as_array().is_some_and(|all| !all.is_empty()))
    {
        parts.read_tools(tools);
    }
    for key in ["system", "instructions"] {
        if let Some(system) = body.get(key) {
            parts.push(PartKind::System, "System", content_text(system), system);
        }
    }
    let entries = body.get("messages").or_else(|| body.get("input")).and_then(Value::as_array);
    for entry in entries.into_iter().flatten() {
        parts.read_entry(entry);
    }
    parts.parts
}

struct PartReader<'a> {
    parts: Vec<BodyPart>,
    /// The tools of calls, by the ids of the provider.
    tools: HashMap<String, String>,
    /// How many times the model spoke.
    steps: usize,
    tiers: ResultTiers<'a>,
}

impl PartReader<'_> {
    fn push(&mut self, kind: PartKind, title: impl Into<String>, text: String, source: &Value) {
        let source = source.to_string();
        self.parts.push(BodyPart { kind, title: title.into(), text, source, label: None });
    }

    fn read_tools(&mut self, tools: &Value) {
        let all = tools.as_array().map_or(&[][..], Vec::as_slice);
        let lines = all.iter().map(|tool| {
            let definition = tool.get("function").unwrap_or(tool);
            let field = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or_default();
            let schema = ["parameters", "input_schema"].iter().find_map(|key| definition.get(key));
            let schema = schema.map(|it| format!("\n{it}")).unwrap_or_default();
            format!("{}: {}{schema}", field("name"), field("description"))
        });
        let text: Vec<String> = lines.collect();
        self.push(PartKind::Tools, format!("Tools: {}", all.len()), text.join("\n\n"), tools);
    }

    /// Reads one entry of the list of messages.
    fn read_entry(&mut self, entry: &Value) {
        let field = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        match (field("role"), field("type")) {
            ("system" | "developer", _) => {
                self.push(PartKind::System, "System", entry_text(entry), entry);
            }
            ("tool", _) => {
                let id = field("tool_call_id").to_owned();
                let name = field("tool_name").to_owned();
                self.push_result(&id, &name, entry_text(entry), entry);
            }
            (_, "function_call_output") => {
                let text = entry.get("output").map(content_text).unwrap_or_default();
                self.push_result(field("call_id"), "", text, entry);
            }
            ("assistant", _) | (_, "function_call" | "reasoning") => self.read_assistant(entry),
            ("user", _) => self.read_user(entry),
            _ => self.push(PartKind::Other, "Other", entry.to_string(), entry),
        }
    }

    /// A message of the user, or the results of calls that some providers put into one.
    fn read_user(&mut self, entry: &Value) {
        let blocks = entry.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is_result =
            |block: &Value| block.get("type").and_then(Value::as_str) == Some("tool_result");
        if !blocks.iter().any(is_result) {
            self.push(PartKind::User, "User", entry_text(entry), entry);
            return;
        }
        for block in blocks {
            if is_result(block) {
                let id = block.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
                let text = block.get("content").map(content_text).unwrap_or_default();
                self.push_result(id, "", text, block);
            } else {
                self.push(PartKind::User, "User", content_text(block), block);
            }
        }
    }

    fn read_assistant(&mut self, entry: &Value) {
        let calls = proposed_calls(entry);
        for (id, tool, _) in &calls {
            self.tools.insert(id.clone(), tool.clone());
        }
        let mut text = entry_text(entry);
        for (_, tool, arguments) in calls {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!("→ {tool} {arguments}"));
        }
        // Providers that list calls one by one make several entries of one step.
        let is_first = self.parts.last().is_none_or(|last| last.kind != PartKind::Assistant);
        self.steps += usize::from(is_first);
        let title = format!("Assistant, step {}", self.steps);
        self.push(PartKind::Assistant, title, text, entry);
    }

    fn push_result(&mut self, id: &str, name: &str, text: String, source: &Value) {
        let tool = self.tools.get(id).map_or(name, String::as_str);
        let title = if tool.is_empty() { "Result".to_owned() } else { format!("Result of {tool}") };
        let label = (self.tiers)(id);
        let source = source.to_string();
        self.parts.push(BodyPart { kind: PartKind::Result, title, text, source, label });
    }
}

/// The calls that an entry of the assistant proposes: id, tool and arguments.
fn proposed_calls(entry: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let raw = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    if text(entry, "type") == "function_call" {
        return vec![(text(entry, "call_id"), text(entry, "name"), raw(entry.get("arguments")))];
    }
    let listed =
        entry.get("tool_calls").and_then(Value::as_array).into_iter().flatten().map(|call| {
            let function = call.get("function").unwrap_or(call);
            (text(call, "id"), text(function, "name"), raw(function.get("arguments")))
        });
    let blocks = entry.get("content").and_then(Value::as_array).into_iter().flatten();
    let used = blocks.filter(|block| text(block, "type") == "tool_use");
    let used = used.map(|block| (text(block, "id"), text(block, "name"), raw(block.get("input"))));
    listed.chain(used).collect()
}

/// The text of an entry: its reasoning and its content.
fn entry_text(entry: &Value) -> String {
    let reasoning = ["reasoning", "reasoning_content", "thinking"].iter();
    let reasoning = reasoning.filter_map(|key| entry.get(key)).map(content_text);
    let content = entry.get("content").or_else(|| entry.get("summary")).map(content_text);
    let texts: Vec<String> = reasoning.chain(content).filter(|it| !it.is_empty()).collect();
    texts.join("\n")
}

/// The text of a content: a string, or a list of blocks.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<String> =
                blocks.iter().map(content_text).filter(|it| !it.is_empty()).collect();
            texts.join("\n")
        }
        Value::Object(block) => {
            let text =
                ["text", "thinking", "content", "output"].iter().find_map(|key| block.get(*key));
            match (text, block.get("type").and_then(Value::as_str)) {
                (Some(text), _) => content_text(text),
                (None, Some("tool_use")) => String::new(),
                (None, Some(kind)) => format!("[{kind}]"),
                (None, None) => Value::Object(block.clone()).to_string(),
            }
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// What a prompt cache can reuse of the request before, in whole parts.
#[derive(Debug, Default)]
pub(crate) struct CacheReuse {
    pub(crate) kept: u64,
    pub(crate) lost: u64,
    pub(crate) lost_because: Option<String>,
}

/// How much of a part that was replaced is shown, in bytes.
const MAX_BEFORE: usize = 64 << 10;

/// Compares the parts of a request with those of the request before.
pub(crate) fn compare_parts(
    parts: &[BodyPart],
    before: Option<&[BodyPart]>,
) -> (Vec<PromptPart>, CacheReuse) {
    let previous = before.unwrap_or_default();
    let same =
        parts.iter().zip(previous).take_while(|(now, before)| now.source == before.source).count();
    let sizes = || previous.iter().map(|it| it.source.len() as u64);
    let mut reuse = CacheReuse {
        kept: sizes().take(same).sum(),
        lost: sizes().skip(same).sum(),
        lost_because: None,
    };
    if reuse.lost > 0 {
        reuse.lost_because = parts.get(same).map(|part| part.explain_change(previous.get(same)));
    }
    let shown = parts.iter().enumerate().map(|(at, part)| {
        let change = match previous {
            _ if previous.iter().any(|it| it.source == part.source) => PartChange::Same,
            _ if at < previous.len() => PartChange::Changed,
            _ => PartChange::New,
        };
        let replaced = previous.get(at).filter(|it| it.kind == part.kind);
        let replaced = replaced.filter(|_| change == PartChange::Changed);
        let before = replaced.map(|it| shorten(&it.text, MAX_BEFORE).0);
        PromptPart { before, ..part.to_wire(change) }
    });
    (shown.collect(), reuse)
}

impl BodyPart {
    fn to_wire(&self, change: PartChange) -> PromptPart {
        let base = match self.kind {
            PartKind::User => SourceTier::User,
            PartKind::Assistant => SourceTier::Model,
            PartKind::Result => self.label.unwrap_or(SourceTier::ThirdPartyPublic),
            _ => SourceTier::FirstParty,
        };
        let segments = split_envelopes(&self.text, base, self.label);
        let tier = match self.kind {
            // What a result says outside of envelopes is the frame of the renderer.
            PartKind::Result => least_trusted(
                segments.iter().filter(|it| it.kind != crate::wire::SegmentKind::Text),
            ),
            _ => least_trusted(&segments),
        };
        PromptPart {
            kind: self.kind,
            title: self.title.clone(),
            tier: tier.unwrap_or(base),
            bytes: self.source.len() as u64,
            change,
            segments,
            before: None,
        }
    }

    /// Why the cache of a provider cannot reuse what follows.
    fn explain_change(&self, before: Option<&Self>) -> String {
        match (self.kind, before) {
            (PartKind::Tools, Some(before)) => {
                format!(
                    "The tools are different: they were {} bytes and are {}. Tools stand before all messages, so that everything behind them is read again.",
                    before.source.len(),
                    self.source.len()
                )
            }
            (_, Some(before)) => format!(
                "`{}` stands where `{}` stood or has other content, so that everything from there on is read again.",
                self.title, before.title
            ),
            (_, None) => "The request is shorter than the one before.".to_owned(),
        }
    }
}

fn least_trusted<'s>(segments: impl IntoIterator<Item = &'s Segment>) -> Option<SourceTier> {
    let rank = |tier: &SourceTier| match tier {
        SourceTier::ThirdPartyPublic => 0,
        SourceTier::ThirdPartyPrivate => 1,
        SourceTier::Handle => 2,
        SourceTier::Model => 3,
        SourceTier::User => 4,
        SourceTier::FirstParty => 5,
    };
    segments.into_iter().map(|it| it.tier).min_by_key(rank)
}

#[cfg(test)]
mod tests;
